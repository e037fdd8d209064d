/** Guards of JSON Web Tokens (RFC 7519). */
import type { Dependency } from "../binding/dependency.ts";
import { makeGuard } from "../binding/guard.ts";
import {
  isScope,
  type OAuth2SecurityScheme,
  type OpenIdConnectSecurityScheme,
  readSecurity,
  type SecurityAlternative,
  type SecurityScheme,
} from "../binding/security.ts";
import { quote } from "../base/options.ts";
import { BearerChallenges } from "./bearer.ts";
import { FORBIDDEN, hasAuthorization, UNAUTHORIZED, UNAVAILABLE } from "./credentials.ts";
import { checkJwtOptions, type JwtClaims, type JwtOptions, readKeys } from "./jwt/options.ts";
import { subjectOf } from "./jwt/token.ts";
import { JwtVerifier } from "./jwt/verifier.ts";

/**
 * A guard of JSON Web Tokens, made by {@linkcode jwt}. Its value is the claims.
 *
 * @category Dependencies
 */
export interface JwtGuard<Claims> extends Dependency<Claims> {
  /**
   * Makes a guard that also requires scopes. Without all of them, a token is refused with 403.
   *
   * @throws {TypeError} If a scope is no word in ASCII, or the option `oauth2` lacks it.
   */
  withScopes(...scopes: readonly [string, ...string[]]): Dependency<Claims>;
}

/**
 * A guard of JSON Web Tokens in the `Authorization` header, signed by an issuer such as an identity
 * provider.
 *
 * It refuses a token with 401 unless signature, issuer, audience and times (`nbf`, and `exp`, which
 * is required) are valid. Clocks may differ by 30 seconds. Fetched keys stay valid for a day while
 * their URL does not respond; without keys, the reply is 503 with `Retry-After`. A token stays
 * valid until it expires, also after a sign-out.
 *
 * @returns A dependency whose value is the claims.
 * @throws {TypeError} If an option is missing or invalid.
 *
 * @example Tokens of an identity provider
 * ```ts
 * import { App } from "@webfw/core";
 * import { jwt } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const member = jwt({
 *   issuer: "https://id.example",
 *   audience: "books",
 *   claims: v.object({ sub: v.string() }),
 * });
 * const writer = member.withScopes("books:write");
 *
 * const app = new App();
 * app.get("/me", { deps: { member } }, async (_request, { member }) => member.sub);
 * app.post("/books", { deps: { writer } }, async (_request, { writer }) => ({ author: writer.sub }));
 * const response = await app.fetch(new Request("http://localhost/me"));
 * assertEquals(response.status, 401);
 * assertEquals(app.openapi().paths["/books"]?.post?.security, [{ jwt: ["books:write"] }]);
 * ```
 *
 * @category Dependencies
 */
export function jwt<Claims = JwtClaims>(options: JwtOptions<Claims>): JwtGuard<Claims> {
  const action = "make a jwt guard";
  checkJwtOptions(options as JwtOptions<unknown>, action);
  const { scheme = "jwt", issuer, keys, algorithms } = options;
  const source = readKeys(keys, issuer, algorithms, action);
  const challenges = new BearerChallenges(scheme);
  const verifier = new JwtVerifier<Claims>(options, source, challenges);
  const declared = schemeOf(options);
  const replies = source.isRemote ? [UNAUTHORIZED, UNAVAILABLE] : [UNAUTHORIZED];
  const guard = makeGuard<Claims, unknown>({
    name: scheme,
    security: readSecurity({ [scheme]: declared }, scheme),
    replies,
    isSent: hasAuthorization,
    issuers: [issuer],
    callerOf: subjectOf,
    resolve: (request) => verifier.verify(request),
  });
  return Object.assign(guard, {
    withScopes(...scopes: readonly string[]): Dependency<Claims> {
      verifier.keepScopes();
      return makeGuard<Claims, unknown>({
        name: `${scheme} with scopes`,
        security: [requireScopes(declared, scheme, scopes)],
        replies: [UNAUTHORIZED, FORBIDDEN],
        deps: { claims: guard },
        isSent: hasAuthorization,
        callerOf: subjectOf,
        resolve: async (request, { claims }) => {
          const granted = verifier.scopesOf(request, claims as Claims);
          if (!scopes.every((scope) => granted.includes(scope))) throw challenges.insufficient(scopes);
          return claims as Claims;
        },
      });
    },
  });
}

type SchemeOptions = Pick<JwtOptions<unknown>, "oauth2" | "passwordFlow" | "openIdConnectUrl" | "description">;

type JwtScheme = Exclude<SecurityScheme, { type: "apiKey" | "mutualTLS" }>;

function schemeOf({ oauth2, passwordFlow, openIdConnectUrl, description }: SchemeOptions): JwtScheme {
  const words = description === undefined ? {} : { description };
  if (oauth2 || passwordFlow) {
    const flows = {
      ...(oauth2 && { authorizationCode: oauth2 }),
      ...(passwordFlow && { password: { scopes: {}, ...passwordFlow } }),
    };
    return { type: "oauth2", flows, ...words } satisfies OAuth2SecurityScheme;
  }
  if (openIdConnectUrl !== undefined) {
    return { type: "openIdConnect", openIdConnectUrl, ...words } satisfies OpenIdConnectSecurityScheme;
  }
  return { type: "http", scheme: "bearer", bearerFormat: "JWT", ...words };
}

function requireScopes(scheme: JwtScheme, name: string, scopes: readonly string[]): SecurityAlternative {
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong !== undefined || scopes.length === 0) {
    const got = scopes.length === 0 ? "none" : quote(wrong);
    throw new TypeError(
      `Cannot require scopes: each must be a word in ASCII, write withScopes("books:write"), got ${got}`,
    );
  }
  if (scheme.type === "http") return new Map([[name, { scheme, scopes }]]);
  return readSecurity({ [name]: { ...scheme, scopes } }, `${name}.withScopes`)[0]!;
}
