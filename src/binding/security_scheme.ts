/** Security schemes, as OpenAPI 3.1 has them: the ways in which clients prove who they are. */

/**
 * What a client needs to be let in: security schemes by names that hold for the whole application, all of them together. None at
 * all says that nothing is needed.
 *
 * @example A bearer token, which the documentation page then asks for
 * ```ts
 * import { App, dependency, HTTPError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const currentUser = dependency(
 *   { headers: { authorization: v.optional(v.string()) }, security: { bearer: { type: "http", scheme: "bearer" } } },
 *   async (_request, { headers }) => {
 *     if (headers.authorization === "Bearer secret") return "Ada";
 *     throw new HTTPError(401, undefined, { headers: { "www-authenticate": "Bearer" } });
 *   },
 * );
 *
 * const app = new App();
 * app.get("/me", { deps: { user: currentUser } }, async (_request, { user }) => ({ user }));
 * const { paths, components } = app.openapi();
 * assertEquals(paths["/me"]?.get?.security, [{ bearer: [] }]);
 * assertEquals(components.securitySchemes, { bearer: { type: "http", scheme: "bearer" } });
 * ```
 *
 * @example Scopes that a token has to have, of one dependency over another
 * ```ts
 * import { App, dependency, type OAuth2SecurityScheme } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const oauth: OAuth2SecurityScheme = {
 *   type: "oauth2",
 *   flows: { clientCredentials: { tokenUrl: "/token", scopes: { read: "Read books", write: "Change books" } } },
 * };
 * const reader = dependency({ security: { oauth: { ...oauth, scopes: ["read"] } } }, async () => "Ada");
 * const writer = dependency(
 *   { deps: { reader }, security: { oauth: { ...oauth, scopes: ["write"] } } },
 *   async (_request, { reader }) => reader,
 * );
 *
 * const app = new App();
 * app.get("/books", { deps: { writer } }, async () => []);
 * assertEquals(app.openapi().paths["/books"]?.get?.security, [{ oauth: ["read", "write"] }]);
 * ```
 */
export type SecurityRequirement = Readonly<Record<string, RequiredScheme>>;

/** A security scheme, and the scopes that are required of it where it has some. */
export type RequiredScheme =
  | ApiKeySecurityScheme
  | HttpSecurityScheme
  | MutualTlsSecurityScheme
  | OAuth2SecurityScheme & RequiredScopes
  | OpenIdConnectSecurityScheme & RequiredScopes;

/** The scopes that are required of a scheme. */
export interface RequiredScopes {
  /**
   * Those that the dependency asks for. Those of all dependencies of a route add up.
   *
   * @default {[]}
   */
  scopes?: readonly string[];
}

/** A way to prove who sends a request. */
export type SecurityScheme =
  | ApiKeySecurityScheme
  | HttpSecurityScheme
  | MutualTlsSecurityScheme
  | OAuth2SecurityScheme
  | OpenIdConnectSecurityScheme;

/** A key, in a place and under a name of its own. */
export interface ApiKeySecurityScheme {
  /** The kind of the scheme. */
  type: "apiKey";
  /** Where the key stands. */
  in: "query" | "header" | "cookie";
  /** The name of the parameter, header or cookie. */
  name: string;
  /** What the key is, and how to come by one. */
  description?: string;
}

/** Credentials in the `Authorization` header (RFC 9110, section 11). */
export interface HttpSecurityScheme {
  /** The kind of the scheme. */
  type: "http";
  /** The name of the scheme in the header, such as `bearer` or `basic`. */
  scheme: string;
  /** What a bearer token looks like, such as `JWT`; for people only. */
  bearerFormat?: string;
  /** What the credentials are, and how to come by them. */
  description?: string;
}

/** A certificate of the client. */
export interface MutualTlsSecurityScheme {
  /** The kind of the scheme. */
  type: "mutualTLS";
  /** What certificate it is, and how to come by one. */
  description?: string;
}

/** A token of OAuth 2.0. */
export interface OAuth2SecurityScheme {
  /** The kind of the scheme. */
  type: "oauth2";
  /** The ways to come by a token. */
  flows: OAuth2Flows;
  /** What the token is for. */
  description?: string;
}

/** The ways to come by a token of OAuth 2.0 (RFC 6749). */
export interface OAuth2Flows {
  /** By a code that the user's agreement gives. */
  authorizationCode?: OAuth2Flow & AuthorizationUrl & TokenUrl;
  /** By the credentials of the client itself. */
  clientCredentials?: OAuth2Flow & TokenUrl;
  /** By the user's agreement at once, which RFC 9700 advises against. */
  implicit?: OAuth2Flow & AuthorizationUrl;
  /** By the user's password, which RFC 9700 forbids. */
  password?: OAuth2Flow & TokenUrl;
}

/** What all ways to come by a token have in common. */
export interface OAuth2Flow {
  /** What there is to ask for, with what each is in words. */
  scopes: Record<string, string>;
  /** Where to renew a token. */
  refreshUrl?: string;
}

/** A place where users agree. */
export interface AuthorizationUrl {
  /** The URL. */
  authorizationUrl: string;
}

/** A place that gives tokens. */
export interface TokenUrl {
  /** The URL. */
  tokenUrl: string;
}

/** A token of a provider that OpenID Connect discovers. */
export interface OpenIdConnectSecurityScheme {
  /** The kind of the scheme. */
  type: "openIdConnect";
  /** Where the provider describes itself. */
  openIdConnectUrl: string;
  /** What the token is for. */
  description?: string;
}
