/** Copies of routes in which other dependencies are in the place of some. */
import type { Replacements } from "../binding/replacements.ts";
import type { DeclaredLimit } from "../rate_limit/rate_limit.ts";
import type { AnyRoute } from "./registry.ts";
import type { Scope } from "./scope.ts";

/**
 * Copies routes. Their requests are counted apart from those of the originals.
 *
 * @param routes All routes of an application, with the names of their operations.
 * @param replacements What replaces which dependency.
 * @throws {TypeError | RouteError} If a replacement does not fit a route.
 */
export function replacedRoutes(routes: readonly AnyRoute[], replacements: Replacements): AnyRoute[] {
  // Routes share their scopes and limits, and so do the copies.
  const scopes = new Map<Scope, Scope>();
  const limits = new Map<DeclaredLimit, DeclaredLimit>();
  const limitsOf = (given: readonly DeclaredLimit[]) => given.map((limit) => copyOf(limits, limit, replacing));
  const replacing = ({ after, ...limit }: DeclaredLimit): DeclaredLimit => ({
    ...limit,
    after: after && { ...after, dependency: replacements.of(after.dependency) },
  });
  const scopeOf = (given: Scope) =>
    copyOf(scopes, given, ({ deps, rateLimits }) => given.with(replacements.ofAll(deps), limitsOf(rateLimits)));
  return routes.map((route) => route.replacing(replacements, route.scopes.map(scopeOf), limitsOf(route.rateLimits)));
}

function copyOf<Value>(copies: Map<Value, Value>, value: Value, make: (value: Value) => Value): Value {
  let copy = copies.get(value);
  if (copy === undefined) copies.set(value, copy = make(value));
  return copy;
}
