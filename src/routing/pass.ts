/** What a request has to pass before the input of its route is validated. */
import type { Binder } from "../binding/binder.ts";
import type { GuardStep } from "../binding/scope_guards.ts";
import type { Values } from "../binding/resolver.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RateLimiter } from "../rate_limit/rate_limit.ts";
import type { Scope } from "./scope.ts";

/**
 * Lets a request through to a route, or rejects with the refusal: the guards and rate limits of its
 * scopes and its own. It gives the values of the guards.
 */
export type Pass = (request: HttpRequest) => Promise<Values>;

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
    steps.push(...own?.steps ?? [], ...after);
  }
  return steps;
}

/**
 * Makes the function that runs the steps of a route, one after another.
 *
 * @param steps The steps.
 * @param isSingle Whether the route has one dependency.
 * @returns Undefined if there is no step.
 */
export function compilePass(steps: readonly GuardStep[], isSingle: boolean): Pass | undefined {
  const [first] = steps;
  if (!first) return undefined;
  // Most routes with a guard have only that one, so it costs no further promise.
  if (steps.length === 1 && isSingle && first.index !== undefined) return (request) => first.run(request, [])!;
  return async (request) => {
    const values: unknown[] = [];
    for (let position = 0; position < steps.length; position++) {
      const { run, index } = steps[position]!;
      const pending = run(request, values);
      if (pending === undefined) continue;
      const value = await pending;
      if (index !== undefined) values[index] = value;
    }
    return isSingle ? values[0] : values;
  };
}
