/** The options of a guard of JSON Web Tokens. */
import { type OptionNames, quote } from "../../base/options.ts";
import { type GivenSchema, isSchema, schemaFault } from "../../schema/schema.ts";
import { checkGuardOptions, checkText, type GuardOptions } from "../options.ts";
import { checkAlgorithms, type JwtAlgorithm } from "./algorithms.ts";
import type { JwtKeys } from "./keys.ts";

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
  /**
   * The schema of the claims. Its result is the value. A token whose claims do not fit is refused.
   */
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

/**
 * Checks the options, but for the keys.
 *
 * @throws {TypeError} If an option is missing or wrong.
 */
export function checkJwtOptions(options: JwtOptions<unknown>, action: string): void {
  checkGuardOptions(options, OPTIONS, action);
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
