/**
 * Guards for tokens, passwords and keys, and sessions. Each is a dependency with a typed value. It
 * declares its security scheme, so a route that uses it is documented with `security` and the reply
 * 401.
 *
 * @example A route for those who send a token
 * ```ts
 * import { App } from "@webfw/core";
 * import { bearer, equal } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const operator = bearer(async (token) => equal(token, "0b72d3c1"));
 *
 * const app = new App();
 * app.delete("/cache", { deps: { operator } }, async () => "The cache is empty");
 * const response = await app.fetch(new Request("http://localhost/cache", { method: "DELETE" }));
 * assertEquals(response.status, 401);
 * assertEquals(app.openapi().paths["/cache"]?.delete?.security, [{ bearer: [] }]);
 * ```
 *
 * @module
 */

export { apiKey, type ApiKeyOptions } from "./src/auth/api_key.ts";
export { basic, type BasicOptions } from "./src/auth/basic.ts";
export { bearer, type BearerOptions } from "./src/auth/bearer.ts";
export { equal } from "./src/auth/equal.ts";
export { jwt, type JwtGuard } from "./src/auth/jwt.ts";
export type { JwtAlgorithm } from "./src/auth/jwt/algorithms.ts";
export type { JwtKey, JwtKeyFunction, JwtKeys } from "./src/auth/jwt/keys.ts";
export type { JwtClaims, JwtOAuth2, JwtOptions } from "./src/auth/jwt/options.ts";
export type { JwtCryptoKey, JwtHeader } from "./src/auth/jwt/token.ts";
export { optional } from "./src/auth/optional.ts";
export type { GuardOptions } from "./src/auth/options.ts";
export {
  type RequiredSession,
  type RequiredSessionOptions,
  type SealedSessionOptions,
  session,
  type SessionBaseOptions,
  type SessionDependency,
  type SessionOptions,
  type StoredSessionOptions,
} from "./src/auth/session.ts";
export type { Session } from "./src/auth/sessions/definition.ts";
export type { SessionCookieOptions } from "./src/auth/sessions/cookie.ts";
export { memorySessions, type MemorySessionsOptions } from "./src/auth/sessions/memory.ts";
export { type RecordSessions, recordSessions } from "./src/auth/sessions/records.ts";
export type { Secrets } from "./src/auth/sessions/secret.ts";
export type { SessionStore, SessionWrite } from "./src/auth/sessions/store.ts";
