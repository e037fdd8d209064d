/** What the guards of a route ask for, for agents and for the metadata of its authorization. */
import type { PreparedDependency } from "../../binding/dependency.ts";
import { dependenciesOf } from "../../binding/levels.ts";
import type { OAuth2SecurityScheme, OpenIdConnectSecurityScheme } from "../../binding/security.ts";
import type { RouteRecord } from "../../routing/route.ts";

/** A scheme whose tokens an authorization server issues. */
export type TokenScheme = OAuth2SecurityScheme | OpenIdConnectSecurityScheme;

/**
 * The dependencies of a route and of its scopes that declare `security`, also those that only
 * others need.
 */
export function securityOf({ levels }: Pick<RouteRecord, "levels">): readonly PreparedDependency[] {
  return dependenciesOf(levels).filter(declaresSecurity);
}

function declaresSecurity({ security }: PreparedDependency): boolean {
  return security.length > 0;
}

/** Whether a scheme is of the types `oauth2` or `openIdConnect`. */
export function isTokenScheme(scheme: { readonly type: string }): scheme is TokenScheme {
  return scheme.type === "oauth2" || scheme.type === "openIdConnect";
}
