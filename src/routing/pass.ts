/** What a request has to pass before the input of its route is validated. */
import type { Binder } from "../binding/binder.ts";
import { compilePass, type GuardStep, type Pass } from "../binding/guards.ts";
import type { Scope } from "./scope.ts";

/** A route, as far as its steps need it. */
interface GuardedRoute {
  /** The scopes around it, the outermost first. */
  readonly scopes: readonly Scope[];
  readonly binder: Binder;
}

/** Compiles the steps of a route into one function; undefined if there are none. */
export function passOf(route: GuardedRoute): Pass | undefined {
  return compilePass(stepsOf(route), route.binder.isSingle);
}

/** The steps from the outermost scope inwards; the route itself comes last. */
function stepsOf({ scopes, binder }: GuardedRoute): GuardStep[] {
  const steps: GuardStep[] = [];
  for (let place = 0; place <= scopes.length; place++) {
    const guards = binder.guards.find((guards) => guards.place === place);
    if (guards) steps.push(guards.step);
  }
  return steps;
}
