/** What a request has to pass before the input of its route is validated. */
import type { Binder } from "../binding/binder.ts";
import type { GuardStep } from "../binding/scope_guards.ts";
import type { PreparedDependency } from "../binding/dependency.ts";
import type { Indices, Values } from "../binding/resolver.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RateLimiter } from "../rate_limit/limiter.ts";
import type { DeclaredLimit } from "../rate_limit/rate_limit.ts";
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
  readonly rateLimits: readonly DeclaredLimit[];
}

/** What a request passes in a scope, in this order; the level of the route itself comes last. */
export interface PassLevel {
  /** The limits that count the request by what is known of it. */
  readonly before: readonly RateLimiter[];
  readonly guards: readonly GuardStep[];
  /** The limits that count the values of dependencies. */
  readonly after: readonly ValueLimiter[];
}

/** A limit that counts the value of a dependency. */
export interface ValueLimiter {
  readonly limiter: RateLimiter;
  readonly dependency: PreparedDependency;
}

/** The levels of a route, from the outermost scope inwards. */
export function levelsOf({ name, scopes, binder, rateLimits }: GuardedRoute): readonly PassLevel[] {
  let number = 0;
  return [...scopes.map(({ rateLimits }) => rateLimits), rateLimits].map((limits, place) => {
    const before: RateLimiter[] = [];
    const after: ValueLimiter[] = [];
    for (const limit of limits) {
      const limiter = scopes[0]!.limiters.limiterOf(limit, `${name}#${++number}`);
      if (limit.after) after.push({ limiter, dependency: limit.after.dependency });
      else before.push(limiter);
    }
    const guards = binder.guards.find((guards) => guards.place === place)?.steps ?? [];
    return { before, guards, after };
  });
}

/**
 * Compiles levels into one function; undefined if there is nothing to pass.
 *
 * @param levels The levels, from the outermost scope inwards.
 * @param indices The places of the dependencies among the values.
 * @param isSingle Whether the route has one dependency.
 */
export function passOf(levels: readonly PassLevel[], indices: Indices, isSingle: boolean): Pass | undefined {
  const steps = levels.flatMap(({ before, guards, after }) => [
    ...before.map((limiter): GuardStep => ({ index: undefined, run: (request) => limiter.check(request) })),
    ...guards,
    ...after.map(({ limiter, dependency }): GuardStep => {
      const index = indices.get(dependency)!;
      return { index: undefined, run: (request, values) => limiter.checkValue(request, values[index]) };
    }),
  ]);
  return compilePass(steps, isSingle);
}

/**
 * Counts a request once more by all limits of its route, in their order. The guards do not run
 * again.
 *
 * @param values The values of the guards.
 * @throws {HTTPError} With 429.
 */
export async function countAgain(
  request: HttpRequest,
  values: Values,
  { levels, binder: { indices, isSingle } }: { readonly levels: readonly PassLevel[]; readonly binder: Binder },
): Promise<void> {
  for (const { before, after } of levels) {
    for (const limiter of before) await limiter.check(request);
    for (const { limiter, dependency } of after) {
      const value = isSingle ? values : (values as readonly unknown[])[indices.get(dependency)!];
      await limiter.checkValue(request, value);
    }
  }
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
