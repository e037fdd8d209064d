/** JSON Web Tokens (RFC 7519) that an issuer signs. */
import type { FlattenedJWSInput, JWTHeaderParameters, JWTVerifyGetKey } from "jose";
import type { Dependency } from "../binding/dependency.ts";
import { makeGuard } from "../binding/guard.ts";
import {
  type OAuth2SecurityScheme,
  type OpenIdConnectSecurityScheme,
  readSecurity,
  type SecurityScheme,
  type SecurityWay,
} from "../binding/security.ts";
import type { HttpRequest } from "../http/request.ts";
import { type OptionNames, quote } from "../options.ts";
import { toValidator, type Validator } from "../schema/check.ts";
import { withStandardChecks } from "../schema/map_schema.ts";
import { type GivenSchema, isSchema, nodeOf, schemaFault } from "../schema/schema.ts";
import { hasAuthorization } from "./authorization.ts";
import { BearerChallenges, bearerToken } from "./bearer.ts";
import { checkAlgorithms, type JwtAlgorithm } from "./jwt_algorithms.ts";
import { type JwtKey, type JwtKeys, type KeySource, readKeys } from "./jwt_keys.ts";
import { InvalidToken, type JwtHeader } from "./jwt_token.ts";
import { checkGuardOptions, checkText, type GuardOptions } from "./options.ts";
import { FORBIDDEN, UNAUTHORIZED, UNAVAILABLE } from "./refusal.ts";

/**
 * The claims of a token: those of RFC 7519, and whatever else the issuer says.
 *
 * @category Dependencies
 */
export interface JwtClaims {
  /** The issuer. */
  readonly iss: string;
  /** When the token ends, in seconds since 1970. */
  readonly exp: number;
  /** Whom the token is about. Not checked: use `claims` to demand it. */
  readonly sub?: unknown;
  /** Whom the token is for. */
  readonly aud?: unknown;
  /** All other claims. Not checked. */
  readonly [claim: string]: unknown;
}

/**
 * Where users get a token by OAuth 2.0, with an authorization code.
 *
 * @category Dependencies
 */
export interface JwtOAuth2 {
  /** Where users grant access. */
  authorizationUrl: string;
  /** Where clients get tokens. */
  tokenUrl: string;
  /** The scopes that clients can ask for, with their descriptions. */
  scopes: Record<string, string>;
}

/**
 * The options of a guard of JSON Web Tokens.
 *
 * @category Dependencies
 */
export interface JwtOptions<Claims> extends GuardOptions {
  /** The issuer: the claim `iss` must be this text. */
  issuer: string;
  /**
   * Whom the tokens are for: the claim `aud` must have this text, or one of these. With null the
   * claim is not looked at, and tokens for other applications of the issuer are taken.
   */
  audience: string | readonly string[] | null;
  /**
   * The keys that verify signatures: the address of a JSON Web Key Set, a public `CryptoKey`, the
   * bytes of a secret, or an async function that finds the key of a token by its header. By default
   * the set that the issuer publishes by OpenID Connect Discovery.
   *
   * An address is of HTTPS or of a loopback host. Its keys are fetched on first use and then every
   * 10 minutes, and for a token with an unknown `kid` at most every 30 seconds.
   */
  keys?: JwtKeys;
  /**
   * The algorithms that are taken. By default those of pairs of keys: RS, PS and ES with 256, 384
   * and 512, and Ed25519. A secret needs this option.
   */
  algorithms?: readonly JwtAlgorithm[];
  /** The schema of the claims. Its result is the value. A token whose claims do not fit is refused. */
  claims?: GivenSchema<unknown, Claims>;
  /**
   * The scopes of a token, for `withScopes`. By default those in the claims `scope` and `scp`, each
   * a text with spaces or a list.
   */
  scopes?: (claims: NoInfer<Claims>) => readonly string[];
  /** Documents the scheme as OAuth 2.0, so that the documentation page can get a token. */
  oauth2?: JwtOAuth2;
  /** Documents the scheme as OpenID Connect: the URL of the issuer's configuration. */
  openIdConnectUrl?: string;
}

/**
 * A guard of JSON Web Tokens, made by {@linkcode jwt}. Its value is the claims.
 *
 * @category Dependencies
 */
export interface JwtGuard<Claims> extends Dependency<Claims> {
  /**
   * A guard that also demands scopes. A token without all of them is refused with 403.
   *
   * @throws {TypeError} If a scope is not a word, or the flow of `oauth2` does not have it.
   */
  withScopes(...scopes: readonly [string, ...string[]]): Dependency<Claims>;
}

const OPTIONS: OptionNames<Omit<JwtOptions<unknown>, keyof GuardOptions>> = {
  issuer: true,
  audience: true,
  keys: true,
  algorithms: true,
  claims: true,
  scopes: true,
  oauth2: true,
  openIdConnectUrl: true,
};

/** The clocks of issuer and application can differ by this. */
const TOLERANCE_S = 30;

/**
 * A guard of JSON Web Tokens in the `Authorization` header, which an issuer such as an identity
 * provider signs.
 *
 * A token is refused with 401 unless its signature, its issuer, its audience and its times (`exp`,
 * which it must have, and `nbf`) are right. The clocks may differ by 30 seconds. Tokens without a
 * signature are never taken. While the keys of an address cannot be fetched, the reply is 503 with
 * `Retry-After`.
 *
 * A token that is valid stays valid until it ends, also if the user has signed out or is deleted.
 *
 * @returns A dependency. Its value is the claims; `withScopes` makes guards that demand more.
 * @throws {TypeError} If an option is missing or wrong.
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
  checkGuardOptions(options, OPTIONS, action);
  checkJwtOptions(options as JwtOptions<unknown>, action);
  const { scheme = "jwt", issuer, keys, algorithms } = options;
  const source = readKeys(keys, issuer, algorithms, action);
  const challenges = new BearerChallenges(scheme);
  const verifier = new Verifier<Claims>(options, source, challenges);
  const declared = schemeOf(options);
  const replies = source.isRemote ? [UNAUTHORIZED, UNAVAILABLE] : [UNAUTHORIZED];
  const guard = makeGuard<Claims, unknown>({
    name: scheme,
    security: readSecurity({ [scheme]: declared }, scheme),
    replies,
    isSent: hasAuthorization,
    issuers: [issuer],
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
        resolve: async (request, { claims }) => {
          const granted = verifier.scopesOf(request);
          if (!scopes.every((scope) => granted.includes(scope))) throw challenges.insufficient(scopes);
          return claims as Claims;
        },
      });
    },
  });
}

function checkJwtOptions(options: JwtOptions<unknown>, action: string): void {
  const { issuer, audience, algorithms, claims, scopes, oauth2, openIdConnectUrl } = options;
  if (typeof issuer !== "string" || issuer === "") {
    throw new TypeError(`Cannot ${action}: "issuer" must be the text of the claim iss, got ${quote(issuer)}`);
  }
  const isText = (value: unknown) => typeof value === "string" && value !== "";
  const isList = Array.isArray(audience) && audience.length > 0 && audience.every(isText);
  if (audience !== null && !isText(audience) && !isList) {
    throw new TypeError(
      `Cannot ${action}: "audience" must be the text of the claim aud, or a list of such texts, got ${
        quote(audience)
      }; write null to take tokens for any audience`,
    );
  }
  if (algorithms !== undefined) checkAlgorithms(algorithms, action);
  if (claims !== undefined && !isSchema(claims)) {
    throw new TypeError(`Cannot ${action}: "claims" ${schemaFault(claims)}`);
  }
  if (scopes !== undefined && typeof scopes !== "function") {
    throw new TypeError(`Cannot ${action}: "scopes" must be a function of the claims, got ${quote(scopes)}`);
  }
  checkText(openIdConnectUrl, "openIdConnectUrl", action);
  if (oauth2 !== undefined && openIdConnectUrl !== undefined) {
    throw new TypeError(`Cannot ${action}: a scheme has one type, leave out "oauth2" or "openIdConnectUrl"`);
  }
}

type SchemeOptions = Pick<JwtOptions<unknown>, "oauth2" | "openIdConnectUrl" | "description">;

type JwtScheme = Exclude<SecurityScheme, { type: "apiKey" | "mutualTLS" }>;

function schemeOf({ oauth2, openIdConnectUrl, description }: SchemeOptions): JwtScheme {
  const words = description === undefined ? {} : { description };
  if (oauth2) {
    return { type: "oauth2", flows: { authorizationCode: oauth2 }, ...words } satisfies OAuth2SecurityScheme;
  }
  if (openIdConnectUrl !== undefined) {
    return { type: "openIdConnect", openIdConnectUrl, ...words } satisfies OpenIdConnectSecurityScheme;
  }
  return { type: "http", scheme: "bearer", bearerFormat: "JWT", ...words };
}

/** The characters of a scope (RFC 6749, section 3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** The security of a guard that demands scopes. */
function requireScopes(scheme: JwtScheme, name: string, scopes: readonly string[]): SecurityWay {
  const wrong = scopes.find((scope) => typeof scope !== "string" || !SCOPE.test(scope));
  if (wrong !== undefined || scopes.length === 0) {
    const got = scopes.length === 0 ? "none" : quote(wrong);
    throw new TypeError(
      `Cannot demand scopes: each must be a word in ASCII, write withScopes("books:write"), got ${got}`,
    );
  }
  if (scheme.type === "http") return new Map([[name, { scheme, scopes }]]);
  return readSecurity({ [name]: { ...scheme, scopes } }, `${name}.withScopes`)[0]!;
}

/** Verifies the tokens of one guard. */
class Verifier<Claims> {
  readonly #options: JwtOptions<Claims>;
  readonly #source: KeySource;
  readonly #challenges: BearerChallenges;
  readonly #rules: Readonly<Record<string, unknown>>;
  readonly #validate: Validator["validate"] | undefined;
  /** The scopes of each request's token; undefined if no guard demands scopes. */
  #scopes: WeakMap<HttpRequest, readonly string[]> | undefined;

  constructor(options: JwtOptions<Claims>, source: KeySource, challenges: BearerChallenges) {
    const { issuer, audience, claims } = options;
    this.#options = options;
    this.#source = source;
    this.#challenges = challenges;
    this.#rules = {
      algorithms: [...source.algorithms],
      issuer,
      ...(audience !== null && { audience: typeof audience === "string" ? audience : [...audience] }),
      clockTolerance: TOLERANCE_S,
      requiredClaims: ["exp"],
    };
    if (claims) this.#validate = toValidator(withStandardChecks(nodeOf(claims))).validate;
  }

  /** Begins to keep scopes for {@linkcode Verifier.scopesOf}. */
  keepScopes(): void {
    this.#scopes ??= new WeakMap();
  }

  /** The scopes of the token of a request that was verified. */
  scopesOf(request: HttpRequest): readonly string[] {
    return this.#scopes?.get(request) ?? [];
  }

  /** @throws {HTTPError} With 401 if the token is not valid, 503 if keys cannot be fetched. */
  async verify(request: HttpRequest): Promise<Claims> {
    const token = bearerToken(request, this.#challenges);
    const payload = await this.#verifySignature(token);
    let claims: unknown = payload;
    if (this.#validate) {
      const dataset = await this.#validate(payload);
      if (dataset.issues) throw this.#challenges.invalid("The claims of the token do not fit");
      claims = dataset.value;
    }
    this.#scopes?.set(request, this.#readScopes(payload, claims as Claims));
    return claims as Claims;
  }

  async #verifySignature(token: string): Promise<Readonly<Record<string, unknown>>> {
    const { jwtVerify } = await import("jose/jwt/verify");
    let failure: { readonly thrown: unknown } | undefined;
    const findKey = async (header: JWTHeaderParameters, { payload }: FlattenedJWSInput): Promise<JwtKey> => {
      try {
        return await this.#source.find({ header: readHeader(header), payload: String(payload) });
      } catch (thrown) {
        failure = { thrown };
        throw thrown;
      }
    };
    try {
      const { payload } = await jwtVerify(token, findKey as JWTVerifyGetKey, this.#rules);
      return payload;
    } catch (error) {
      // Any other fault is one of the token, also where a key does not fit the algorithm.
      if (failure && !(failure.thrown instanceof InvalidToken)) throw failure.thrown;
      const hasEnded = (error as { readonly code?: unknown }).code === "ERR_JWT_EXPIRED";
      throw this.#challenges.invalid(hasEnded ? "The token has expired" : "The token is not valid");
    }
  }

  #readScopes(payload: Readonly<Record<string, unknown>>, claims: Claims): readonly string[] {
    const { scopes } = this.#options;
    if (!scopes) return [...wordsOf(payload.scope), ...wordsOf(payload.scp)];
    const found = scopes(claims);
    if (Array.isArray(found)) return found;
    throw new TypeError(`Cannot read the scopes of a token: "scopes" must return a list, got ${quote(found)}`);
  }
}

/** @throws {InvalidToken} If the id of the key is no text. */
function readHeader({ alg, kid }: JWTHeaderParameters): JwtHeader {
  if (kid === undefined) return { alg };
  if (typeof kid !== "string") throw new InvalidToken();
  return { alg, kid };
}

function wordsOf(claim: unknown): readonly string[] {
  if (typeof claim === "string") return claim.split(" ");
  return Array.isArray(claim) ? claim.filter((scope) => typeof scope === "string") : [];
}
