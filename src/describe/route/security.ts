/** What the guards of a route ask for, for agents and for the metadata of its authorization. */
import type { PreparedDependency } from "../../binding/dependency.ts";
import { guardsAmong } from "../../binding/guard_order.ts";
import { dependenciesOf, guardsOf } from "../../binding/scope_guards.ts";
import type { OAuth2SecurityScheme, OpenIdConnectSecurityScheme } from "../../binding/security.ts";
import type { RouteRecord } from "../../routing/route.ts";

/** A scheme whose tokens an authorization server issues. */
export type TokenScheme = OAuth2SecurityScheme | OpenIdConnectSecurityScheme;

/** A route, as far as its guards are asked for. */
type GuardedRoute = Pick<RouteRecord, "options" | "scopes" | "counted">;

/**
 * The dependencies of a route and of its scopes that declare `security`, also those that only
 * others need.
 */
export function securityOf({ options, scopes, counted }: GuardedRoute): readonly PreparedDependency[] {
  return dependenciesOf(scopes, options.deps, counted).filter(declaresSecurity);
}

/**
 * The guards of a route: those of its scopes, the outermost first, and then its own. What a guard
 * needs is among them only if it is a guard itself.
 */
export function guardLevelsOf({ options, scopes, counted }: GuardedRoute): readonly (readonly PreparedDependency[])[] {
  const levels = scopes.map(guardsOf);
  const own = guardsAmong(dependenciesOf([], options.deps, counted), [...levels.flat(), ...counted]);
  return [...levels, [...own]];
}

function declaresSecurity({ security }: PreparedDependency): boolean {
  return security.length > 0;
}

/** Whether a scheme is of the types `oauth2` or `openIdConnect`. */
export function isTokenScheme(scheme: { readonly type: string }): scheme is TokenScheme {
  return scheme.type === "oauth2" || scheme.type === "openIdConnect";
}
