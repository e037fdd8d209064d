/** An application with replaced dependencies. Only tests load this module. */
import type { PreparedDependency } from "../binding/dependency.ts";
import { Replacements } from "../binding/replacements.ts";
import { hideKeys } from "../binding/guard.ts";
import type { ConnectionInfo } from "../http/connection.ts";
import type { DeclaredLimit } from "../rate_limit/rate_limit.ts";
import type { BuiltInRoute, Dispatcher } from "../routing/dispatch.ts";
import { type AnyRoute, neededBy } from "../routing/registry.ts";
import { type Level, toLevel } from "../routing/scope.ts";

export interface Overridable {
  readonly guardsOfPage: readonly PreparedDependency[];
  /** After its first use, nothing more can be declared. */
  readonly dispatcher: () => Dispatcher;
  readonly endpoints: (dispatcher: () => Dispatcher, replacements: Replacements) => readonly BuiltInRoute[];
  readonly start: (routes: readonly AnyRoute[], guardsOfPage: readonly PreparedDependency[]) => Promise<void>;
  readonly answer: (dispatcher: Dispatcher, request: Request, info?: ConnectionInfo) => Promise<Response>;
}

export interface Overridden {
  readonly start: () => Promise<void>;
  readonly fetch: (request: Request, info?: ConnectionInfo) => Promise<Response>;
}

/**
 * Replaces dependencies. The routes are copied on first use.
 *
 * @throws {TypeError} If `pairs` has anything but a dependency with its replacement.
 */
export function override(
  pairs: unknown,
  { guardsOfPage, dispatcher, endpoints, start, answer }: Overridable,
): Overridden {
  const replacements = new Replacements(pairs);
  let made: Dispatcher | undefined;
  const replaced = (): Dispatcher => made ??= make();
  const make = (): Dispatcher => {
    const original = dispatcher();
    replacements.checkNeeded([...neededBy(original.routes), ...guardsOfPage]);
    const routes = substitute(original.routes, replacements);
    hideKeys(neededBy(routes));
    return original.with(routes, endpoints(replaced, replacements));
  };
  return {
    start: async () => await start(replaced().routes, guardsOfPage.map((guard) => replacements.of(guard))),
    fetch: async (request, info) => await answer(replaced(), request, info),
  };
}

/**
 * Copies the routes with replacements, under the same operation names. Their limits count
 * separately.
 *
 * @throws {TypeError | RouteError} If a replacement does not fit a route.
 */
function substitute(routes: readonly AnyRoute[], replacements: Replacements): AnyRoute[] {
  const [first] = routes;
  if (!first) return [];
  const limiters = first.scopes[0]!.limiters.renew();
  const replacing = ({ after, ...limit }: DeclaredLimit): DeclaredLimit => ({
    ...limit,
    after: after && { ...after, dependency: replacements.of(after.dependency) },
  });
  // Routes share their levels and limits, also with the replacements.
  const limitOf = memoize(replacing);
  const levelOf = memoize((level: Level) => toLevel(replacements.ofAll(level.deps), level.rateLimits.map(limitOf)));
  return routes.map((route) => {
    const copy = route.with({ levels: route.levels.map(levelOf), limiters });
    copy.checkInputs();
    copy.operationId = route.operationId;
    return copy;
  });
}

function memoize<Value>(make: (value: Value) => Value): (value: Value) => Value {
  const made = new Map<Value, Value>();
  return (value) => {
    let result = made.get(value);
    if (result === undefined) made.set(value, result = make(value));
    return result;
  };
}
