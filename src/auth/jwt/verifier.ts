/** The verification of JSON Web Tokens, by npm's `jose`. */
import type { FlattenedJWSInput, JWTHeaderParameters, JWTVerifyGetKey } from "jose";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import { log } from "../../log.ts";
import { quote } from "../../options.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { withStandardChecks } from "../../schema/map_schema.ts";
import { nodeOf } from "../../schema/schema.ts";
import { type BearerChallenges, bearerToken } from "../bearer.ts";
import type { JwtKey, KeySource } from "./keys.ts";
import type { JwtOptions } from "./options.ts";
import { InvalidToken, type JwtHeader } from "./token.ts";

/** The clocks of issuer and application can differ by this. */
const TOLERANCE_S = 30;

/** Verifies the tokens of one guard. */
export class JwtVerifier<Claims> {
  readonly #options: JwtOptions<Claims>;
  readonly #source: KeySource;
  readonly #challenges: BearerChallenges;
  readonly #rules: Readonly<Record<string, unknown>>;
  readonly #validate: Validator["validate"] | undefined;
  /** Whether a guard demands scopes. */
  #keepsScopes = false;
  /** The reasons of refusals that the log has. */
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

  /** Begins to keep scopes for {@linkcode JwtVerifier.scopesOf}. */
  keepScopes(): void {
    this.#keepsScopes = true;
  }

  /** The scopes of a verified token. A test that replaces the guard has claims without a token. */
  scopesOf(request: HttpRequest, claims: Claims): readonly string[] {
    const kept = contextOf(request).kept.get(this) as readonly string[] | undefined;
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
    if (this.#keepsScopes) contextOf(request).kept.set(this, this.#readScopes(payload, claims as Claims));
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
      const { code, claim } = error as Refusal;
      if (code === "ERR_JWT_EXPIRED") throw this.#challenges.invalid("The token has expired");
      this.#logOnce(code ?? "no key fits", claim);
      throw this.#challenges.invalid("The token is not valid");
    }
  }

  /** Logs each reason once: a wrong `audience` refuses everybody, and the reply does not say so. */
  #logOnce(code: string, claim: string | undefined): void {
    const reason = claim ? `${code} of ${claim}` : code;
    if (this.#logged.has(reason)) return;
    this.#logged.add(reason);
    log("warn", "A token was refused; each reason is logged once", { reason });
  }

  #readScopes(payload: Readonly<Record<string, unknown>>, claims: Claims): readonly string[] {
    const { scopes } = this.#options;
    if (!scopes) return [...wordsOf(payload.scope), ...wordsOf(payload.scp)];
    const found = scopes(claims);
    if (Array.isArray(found)) return found;
    throw new TypeError(`Cannot read the scopes of a token: "scopes" must return a list, got ${quote(found)}`);
  }
}

/** What `jose` says of a token. The text of its message can hold parts of the token. */
interface Refusal {
  readonly code?: string;
  /** The claim that is missing or has another value; one of those that the guard asks for. */
  readonly claim?: string;
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
