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

export { apiKey, type ApiKeyOptions } from "./api_key.ts";
export { basic, type BasicOptions } from "./basic.ts";
export { bearer, type BearerOptions } from "./bearer.ts";
export { equal } from "./equal.ts";
export { jwt, type JwtGuard } from "./jwt.ts";
export type { JwtAlgorithm } from "./jwt/algorithms.ts";
export type { JwtKey, JwtKeyFunction, JwtKeys } from "./jwt/keys.ts";
export type { JwtClaims, JwtOAuth2, JwtOptions } from "./jwt/options.ts";
export type { JwtCryptoKey, JwtHeader } from "./jwt/token.ts";
export { optional } from "./optional.ts";
export type { GuardOptions } from "./options.ts";
export {
  type RequiredSession,
  type RequiredSessionOptions,
  type SealedSessionOptions,
  session,
  type SessionBaseOptions,
  type SessionDependency,
  type SessionOptions,
  type StoredSessionOptions,
} from "./session.ts";
export type { Session } from "./sessions/definition.ts";
export type { SessionCookieOptions } from "./sessions/cookie.ts";
export { memorySessions, type MemorySessionsOptions } from "./sessions/memory.ts";
export { type RecordSessions, recordSessions } from "./sessions/records.ts";
export type { Secrets } from "./sessions/secret.ts";
export type { SessionStore, SessionWrite } from "./sessions/store.ts";
