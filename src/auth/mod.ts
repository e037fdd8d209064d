/**
 * Guards for tokens, passwords and keys, and sessions: dependencies with typed values. Each
 * declares its security scheme, so documents have `security` and the reply 401.
 *
 * @example A route that requires a token
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
export { equal, type GuardOptions } from "./credentials.ts";
export { jwt, type JwtGuard } from "./jwt.ts";
export type { JwtClaims, JwtOptions } from "./jwt/options.ts";
export { optional } from "./optional.ts";
export { type RequiredSession, session, type SessionDependency, type SessionOptions } from "./session.ts";
export type { SessionCookieOptions } from "./sessions/cookie.ts";
export type { Session } from "./sessions/definition.ts";
export { memorySessions, type MemorySessionsOptions, recordSessions, type SessionStore } from "./sessions/stores.ts";
export { sign, type SignatureScheme, type SignOptions } from "./signatures.ts";
export { signed, type SignedMessage, type SignedOptions } from "./signed.ts";
