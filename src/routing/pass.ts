/** What a request has to pass before the input of its route is validated. */
import type { Binder } from "../binding/binder.ts";
import { compilePass, type GuardStep, type Pass } from "../binding/guards.ts";
import type { RateLimiter } from "../rate_limit/rate_limit.ts";
import type { Scope } from "./scope.ts";

/** A route, as far as its steps need it. */
interface GuardedRoute {
  /** Its name in messages. */
  readonly name: string;
  /** The scopes around it, the outermost first. */
  readonly scopes: readonly Scope[];
  readonly binder: Binder;
  /** Its own limits on how often clients may send requests. */
  readonly rateLimits: readonly RateLimiter[];
}

/** Compiles the steps of a route into one function; undefined if there are none. */
export function passOf(route: GuardedRoute): Pass | undefined {
  return compilePass(stepsOf(route), route.binder.isSingle);
}

/**
 * The steps from the outermost scope inwards; the route itself comes last. In each scope, requests
 * are counted by what is known of them, then the guards run, then their values are counted.
 */
function stepsOf({ name, scopes, binder, rateLimits }: GuardedRoute): GuardStep[] {
  const { guards, indices } = binder;
  const steps: GuardStep[] = [];
  let number = 0;
  for (let place = 0; place <= scopes.length; place++) {
    const after: GuardStep[] = [];
    for (const limiter of scopes[place]?.rateLimits ?? rateLimits) {
      const gate = scopes[0]!.gates.gateOf(limiter, `${name}#${++number}`);
      if (!limiter.after) {
        steps.push({ index: undefined, run: (request) => gate.check(request) });
        continue;
      }
      const index = indices.get(limiter.after.dependency)!;
      after.push({ index: undefined, run: (request, values) => gate.checkValue(request, values[index]) });
    }
    const own = guards.find((guards) => guards.place === place);
    if (own) steps.push(own.step);
    steps.push(...after);
  }
  return steps;
}
