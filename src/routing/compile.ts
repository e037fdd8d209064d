/** Compiles a declared route with its full chain of scopes: once, when its application serves. */
import { type Binder, compileBinder, type GuardStep } from "../binding/binder.ts";
import type { PreparedDependency } from "../binding/dependency.ts";
import type { Indices } from "../binding/levels.ts";
import type { HandlerInputs } from "../binding/inputs.ts";
import type { Values } from "../binding/resolver.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RateLimiter, RateLimiters } from "../rate_limit/limiter.ts";
import type { Level } from "./scope.ts";

/**
 * Lets a request through to a route, or rejects with the refusal: the guards and rate limits of its
 * scopes and its own. It gives the values of the guards.
 */
export type Authorize = (request: HttpRequest) => Promise<Values>;

/** The limits of a level at work. */
export interface LevelLimits {
  /** The limits that count the request before the guards of the level run. */
  readonly before: readonly RateLimiter[];
  /** The limits that count the values of dependencies, after the guards. */
  readonly after: readonly ValueLimit[];
}

/** A limit that counts the value of a dependency. */
export interface ValueLimit {
  readonly limiter: RateLimiter;
  readonly dependency: PreparedDependency;
}

/** A route that can serve requests. */
export interface CompiledRoute {
  readonly binder: Binder;
  /** The limits of each level, the outermost first. */
  readonly limits: readonly LevelLimits[];
  /** Undefined if there is nothing to check. */
  readonly authorize: Authorize | undefined;
}

/** What a route is compiled from. */
interface CompileParts {
  readonly inputs: HandlerInputs;
  /** The names in its full path. */
  readonly pathNames: readonly string[];
  /** Its name in messages. */
  readonly name: string;
  /** Its scopes, the outermost first, and the route itself. */
  readonly levels: readonly Level[];
  /** The limits of the application at work. */
  readonly limiters: RateLimiters;
}

/**
 * Compiles a route.
 *
 * @throws {TypeError} If the `store` of a limit makes no limiter.
 * @throws {RouteError} If a replacement binds a name twice, or one that the path lacks.
 */
export function compileRoute(parts: CompileParts): CompiledRoute {
  const binder = compileBinder(parts);
  const limits = limitsOf(parts);
  return { binder, limits, authorize: authorizeBy(limits, binder) };
}

/**
 * Numbers the limits in the order of their declarations: so all processes of a program give a limit
 * the same name.
 */
function limitsOf({ name, levels, limiters }: CompileParts): readonly LevelLimits[] {
  let number = 0;
  return levels.map(({ rateLimits }) => {
    const before: RateLimiter[] = [];
    const after: ValueLimit[] = [];
    for (const limit of rateLimits) {
      const limiter = limiters.limiterOf(limit, `${name}#${++number}`);
      if (limit.after) after.push({ limiter, dependency: limit.after.dependency });
      else before.push(limiter);
    }
    return { before, after };
  });
}

/** In each level, the limits before the guards, the guards, and the limits of values. */
function authorizeBy(limits: readonly LevelLimits[], { guards, indices, isSingle }: Binder): Authorize | undefined {
  const steps = limits.flatMap(({ before, after }, level) => [
    ...before.map((limiter): GuardStep => ({ index: undefined, run: (request) => limiter.check(request) })),
    ...guards[level]!,
    ...after.map(({ limiter, dependency }): GuardStep => {
      const index = indices.get(dependency)!;
      return { index: undefined, run: (request, values) => limiter.checkValue(request, values[index]) };
    }),
  ]);
  return runInOrder(steps, isSingle);
}

/**
 * Counts a request once more by all limits of its route, in their order. The guards do not run
 * again.
 *
 * @throws {HTTPError} With 429.
 */
export async function countAgain(
  request: HttpRequest,
  values: Values,
  { limits, binder: { indices, isSingle } }: {
    readonly limits: readonly LevelLimits[];
    readonly binder: { readonly indices: Indices; readonly isSingle: boolean };
  },
): Promise<void> {
  for (const { before, after } of limits) {
    for (const limiter of before) await limiter.check(request);
    for (const { limiter, dependency } of after) {
      const value = isSingle ? values : (values as readonly unknown[])[indices.get(dependency)!];
      await limiter.checkValue(request, value);
    }
  }
}

/**
 * Makes the function that runs steps one after another.
 *
 * @param isSingle Whether the route has one dependency.
 * @returns Undefined if there is no step.
 */
export function runInOrder(steps: readonly GuardStep[], isSingle: boolean): Authorize | undefined {
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
