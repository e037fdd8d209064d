/** Verifies JSON Web Tokens by npm's `jose`. */
import type { FlattenedJWSInput, JWTHeaderParameters, JWTVerifyGetKey } from "jose";
import { load } from "../../base/async_context.ts";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import { TimedSignIn } from "../../http/sign_in.ts";
import { log } from "../../log/log.ts";
import { quote } from "../../base/options.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { withStandardChecks } from "../../schema/map_schema.ts";
import { nodeOf } from "../../schema/schema.ts";
import { type BearerChallenges, bearerToken } from "../bearer.ts";
import type { JwtKey, JwtOptions, KeySource } from "./options.ts";
import { InvalidToken, issuerOf, type JwtHeader } from "./token.ts";

/** Between the clocks of the issuer and the application. */
const TOLERANCE_S = 30;
/** Reasons can contain strings of clients, so their number is limited. */
const MAX_REASONS = 20;
/** In characters, in the log. */
const MAX_ISSUER = 200;

export class JwtVerifier<Claims> {
  readonly #options: JwtOptions<Claims>;
  readonly #source: KeySource;
  readonly #challenges: BearerChallenges;
  readonly #rules: Readonly<Record<string, unknown>>;
  readonly #validate: Validator["validate"] | undefined;
  /** Whether a guard requires scopes. */
  #keepsScopes = false;
  readonly #logged = new Set<string>();

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

  /** For {@linkcode JwtVerifier.scopesOf}. */
  keepScopes(): void {
    this.#keepsScopes = true;
  }

  /** In a test that replaces the guard, claims have no token. */
  scopesOf(request: HttpRequest, claims: Claims): readonly string[] {
    const kept = contextOf(request).cache.get(this) as readonly string[] | undefined;
    return kept ?? this.#readScopes(claims as Readonly<Record<string, unknown>>, claims);
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
    contextOf(request).addSignIn(new TimedSignIn((Number(payload.exp) + TOLERANCE_S) * 1000));
    if (this.#keepsScopes) contextOf(request).cache.set(this, this.#readScopes(payload, claims as Claims));
    return claims as Claims;
  }

  async #verifySignature(token: string): Promise<Readonly<Record<string, unknown>>> {
    const { jwtVerify } = await load(() => import("jose/jwt/verify"));
    let failure: { readonly thrown: unknown } | undefined;
    const findKey = async (header: JWTHeaderParameters, { payload }: FlattenedJWSInput): Promise<JwtKey> => {
      try {
        // Tokens of strangers must not cause fetches.
        const issuer = issuerOf(String(payload));
        if (issuer !== this.#options.issuer) throw new InvalidToken(this.#wrongIssuer(issuer));
        return await this.#source.find(readHeader(header));
      } catch (thrown) {
        failure = { thrown };
        throw thrown;
      }
    };
    try {
      const { payload } = await jwtVerify(token, findKey as JWTVerifyGetKey, this.#rules);
      // JSON.parse reads 1e999 as Infinity, which would never expire.
      if (!Number.isFinite(payload.exp)) throw new InvalidToken("the claim exp is not finite");
      return payload;
    } catch (error) {
      // All other errors are faults of the token, such as a key that does not fit the algorithm.
      if (failure && !(failure.thrown instanceof InvalidToken)) throw failure.thrown;
      const { code, claim } = error as Refusal;
      if (code === "ERR_JWT_EXPIRED") throw this.#challenges.invalid("The token has expired");
      if (error instanceof InvalidToken) this.#logOnce(error.message || "no key fits");
      else this.#logOnce(claim ? `${code} of ${claim}` : code ?? "no key fits");
      throw this.#challenges.invalid("The token is not valid");
    }
  }

  /** Usually the mistake is a trailing slash. */
  #wrongIssuer(issuer: unknown): string {
    const sent = typeof issuer === "string" ? issuer.slice(0, MAX_ISSUER) : issuer;
    const claim = sent === undefined ? "the claim iss is missing" : `the claim iss is ${quote(sent)}`;
    return `${claim}, and the option issuer is ${quote(this.#options.issuer)}`;
  }

  /**
   * Once for each reason: a wrong `audience` refuses all tokens, and the reply hides the reason.
   */
  #logOnce(reason: string): void {
    if (this.#logged.has(reason) || this.#logged.size >= MAX_REASONS) return;
    this.#logged.add(reason);
    log("warn", "A token was refused; each reason is logged once", { reason });
  }

  #readScopes(payload: Readonly<Record<string, unknown>>, claims: Claims): readonly string[] {
    const { scopes } = this.#options;
    if (!scopes) return [...wordsOf(payload.scope), ...wordsOf(payload.scp)];
    const found = scopes(claims);
    if (Array.isArray(found)) return found;
    throw new TypeError(`Cannot read the scopes of a token: "scopes" must return an array, got ${quote(found)}`);
  }
}

/** An error of `jose`. Its message can contain parts of the token. */
interface Refusal {
  readonly code?: string;
  /** The missing or wrong claim, one of those that the guard checks. */
  readonly claim?: string;
}

/** @throws {InvalidToken} If the id of the key is no string. */
function readHeader({ alg, kid }: JWTHeaderParameters): JwtHeader {
  if (kid === undefined) return { alg };
  if (typeof kid !== "string") throw new InvalidToken();
  return { alg, kid };
}

function wordsOf(claim: unknown): readonly string[] {
  if (typeof claim === "string") return claim.split(" ");
  return Array.isArray(claim) ? claim.filter((scope) => typeof scope === "string") : [];
}
