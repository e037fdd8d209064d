/** The options of a guard of JSON Web Tokens, their checks, and the keys. */
import { type OptionNames, quote } from "../../base/options.ts";
import { type GivenSchema, isSchema, schemaFault } from "../../schema/schema.ts";
import {
  checkGuardOptions,
  checkString,
  type GuardOptions,
  type PasswordFlow,
  readPasswordFlow,
} from "../credentials.ts";
import { RemoteKeys } from "./remote_keys.ts";
import {
  algorithmsOf,
  ASYMMETRIC,
  checkAlgorithms,
  InvalidToken,
  isSymmetric,
  type JwtAlgorithm,
  type JwtCryptoKey,
  type JwtHeader,
  leastSecret,
} from "./token.ts";

/**
 * The claims of a token: those of RFC 7519, and others of the issuer.
 *
 * @category Dependencies
 */
export interface JwtClaims {
  /** The issuer. */
  readonly iss: string;
  /** The expiration time, in seconds since 1970. */
  readonly exp: number;
  /** The subject. To require it, use the option `claims`. */
  readonly sub?: unknown;
  /** The audience of the token. */
  readonly aud?: unknown;
  /** Other claims, not checked. */
  readonly [claim: string]: unknown;
}

/** The endpoints of OAuth 2.0 that issue a token for an authorization code. */
export interface JwtOAuth2 {
  /** The URL at which users grant access. */
  authorizationUrl: string;
  /** The URL from which clients get tokens. */
  tokenUrl: string;
  /** The available scopes with their descriptions. */
  scopes: Record<string, string>;
}

/** @ignore A public `CryptoKey`, or a secret. */
export type JwtKey = JwtCryptoKey | Uint8Array;

/**
 * Finds the key of a token; null or undefined refuses the token. `createLocalJWKSet` of npm's
 * `jose` makes such a function for a JSON Web Key Set of the application.
 *
 * @ignore
 */
export type JwtKeyFunction = (header: JwtHeader) => Promise<JwtKey | null | undefined>;

/** @ignore The option `keys`. */
export type JwtKeys = string | URL | JwtKey | JwtKeyFunction;

/**
 * The options of a guard of JSON Web Tokens.
 *
 * @category Dependencies
 */
export interface JwtOptions<Claims> extends GuardOptions {
  /** The issuer: the claim `iss` must be this string. */
  issuer: string;
  /**
   * The claim `aud` must contain this string, or one of these. With null it is not checked, so
   * tokens for other applications of the issuer are accepted.
   */
  audience: string | readonly string[] | null;
  /**
   * The keys that verify signatures: the URL of a JSON Web Key Set, a public `CryptoKey`, the bytes
   * of a secret, or an async function that finds a key by the header of a token. By default the set
   * of the issuer's OpenID Connect Discovery.
   *
   * A URL uses HTTPS or a loopback host. Keys are fetched on first use, then every 10 minutes, and
   * for an unknown `kid` at most every 30 seconds.
   */
  keys?: JwtKeys;
  /**
   * The accepted algorithms; required for a secret. By default RS, PS and ES with 256, 384 and 512,
   * and Ed25519.
   */
  algorithms?: readonly JwtAlgorithm[];
  /** The schema of the claims. Its result is the value; other claims refuse the token. */
  claims?: GivenSchema<unknown, Claims>;
  /** Returns the scopes of a token. By default those of the claims `scope` and `scp`. */
  scopes?: (claims: NoInfer<Claims>) => readonly string[];
  /** Documents OAuth 2.0, so that the documentation page can get a token. */
  oauth2?: JwtOAuth2;
  /**
   * Documents the password flow of OAuth 2.0, also besides `oauth2`, so that the documentation page
   * signs in by name and password. Only for clients of your own: OAuth 2.1 has no password flow.
   */
  passwordFlow?: PasswordFlow;
  /** Documents OpenID Connect: the URL of the issuer's configuration. */
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
  passwordFlow: true,
  openIdConnectUrl: true,
};

export function checkJwtOptions(options: JwtOptions<unknown>, action: string): void {
  checkGuardOptions(options, OPTIONS, action);
  const { issuer, audience, algorithms, claims, scopes, oauth2, passwordFlow, openIdConnectUrl } = options;
  if (typeof issuer !== "string" || issuer === "") {
    throw new TypeError(`Cannot ${action}: "issuer" must be the string of the claim iss, got ${quote(issuer)}`);
  }
  const isName = (value: unknown) => typeof value === "string" && value !== "";
  const areNames = Array.isArray(audience) && audience.length > 0 && audience.every(isName);
  if (audience !== null && !isName(audience) && !areNames) {
    throw new TypeError(
      `Cannot ${action}: "audience" must be the string of the claim aud, or an array of such strings, got ${
        quote(audience)
      }; write null to accept tokens for any audience`,
    );
  }
  if (algorithms !== undefined) checkAlgorithms(algorithms, action);
  if (claims !== undefined && !isSchema(claims)) {
    throw new TypeError(`Cannot ${action}: "claims" ${schemaFault(claims)}`);
  }
  if (scopes !== undefined && typeof scopes !== "function") {
    throw new TypeError(`Cannot ${action}: "scopes" must be a function of the claims, got ${quote(scopes)}`);
  }
  checkString(openIdConnectUrl, "openIdConnectUrl", action);
  const flow = oauth2 !== undefined ? "oauth2" : passwordFlow !== undefined ? "passwordFlow" : undefined;
  if (flow !== undefined && openIdConnectUrl !== undefined) {
    throw new TypeError(`Cannot ${action}: a scheme has one type, leave out "${flow}" or "openIdConnectUrl"`);
  }
  if (passwordFlow !== undefined) readPasswordFlow(passwordFlow, action);
}

/** Keys, and the algorithms that a token may use with them. */
export interface KeySource {
  readonly algorithms: readonly JwtAlgorithm[];
  /** Whether the keys must be fetched. */
  readonly isRemote: boolean;
  /** @throws {InvalidToken | HTTPError} If there is no key, or with 503 without any keys. */
  readonly find: (header: JwtHeader) => Promise<JwtKey>;
}

/**
 * @param keys Undefined for the keys that the issuer publishes.
 * @param algorithms Checked already.
 * @throws {TypeError} If the keys are invalid, or do not fit the algorithms.
 */
export function readKeys(
  keys: unknown,
  issuer: string,
  algorithms: readonly JwtAlgorithm[] | undefined,
  action: string,
): KeySource {
  if (typeof keys === "string" && !/^https?:/i.test(keys)) {
    // Do not print the value: it may be a secret.
    throw new TypeError(
      `Cannot ${action}: a string as "keys" is the https: URL of a JWKS, and this one is no such URL, ` +
        `give a secret as bytes, new TextEncoder().encode(secret)`,
    );
  }
  if (keys === undefined || typeof keys === "string" || keys instanceof URL) {
    checkAsymmetric(algorithms, "keys of a URL are public", action);
    const remote = new RemoteKeys(issuer, keys === undefined ? undefined : String(keys), action);
    return { algorithms: algorithms ?? ASYMMETRIC, isRemote: true, find: (header) => remote.find(header) };
  }
  if (typeof keys === "function") return functionSource(keys as JwtKeyFunction, algorithms ?? ASYMMETRIC);
  if (!isKey(keys)) {
    throw new TypeError(
      `Cannot ${action}: "keys" must be the URL of a JWKS, a CryptoKey, a Uint8Array or a function, got ${quote(keys)}`,
    );
  }
  if (isSecret(keys)) checkSecret(keys, algorithms, action);
  else {
    checkAsymmetric(algorithms, "the key is public", action);
    checkPublic(keys as JwtCryptoKey, action);
  }
  if (!(keys instanceof Uint8Array)) checkFit(keys, algorithms ?? ASYMMETRIC, action);
  return { algorithms: algorithms ?? ASYMMETRIC, isRemote: false, find: () => Promise.resolve(keys) };
}

function functionSource(find: JwtKeyFunction, algorithms: readonly JwtAlgorithm[]): KeySource {
  return {
    algorithms,
    isRemote: false,
    find: async (header) => {
      const key = await findOrRefuse(find, header);
      if (key === null || key === undefined) throw new InvalidToken();
      if (!isKey(key)) {
        throw new TypeError(
          `Cannot verify a token: "keys" must return a CryptoKey, a Uint8Array, null or undefined, got ${quote(key)}`,
        );
      }
      if (isSecret(key)) checkSecret(key, algorithms.filter(isSymmetric), "verify a token");
      // As a secret, a public key could sign.
      if (isSecret(key) !== isSymmetric(header.alg)) throw new InvalidToken();
      return key;
    },
  };
}

async function findOrRefuse(find: JwtKeyFunction, header: JwtHeader): Promise<JwtKey | null | undefined> {
  try {
    return await find(header);
  } catch (error) {
    // Functions of jose throw if no key fits, or several do.
    const { code } = Object(error) as { readonly code?: unknown };
    const isUnknown = code === "ERR_JWKS_NO_MATCHING_KEY" || code === "ERR_JWKS_MULTIPLE_MATCHING_KEYS";
    throw isUnknown ? new InvalidToken() : error;
  }
}

function isKey(value: unknown): value is JwtKey {
  return value instanceof Uint8Array || value instanceof CryptoKey;
}

function isSecret(key: JwtKey): boolean {
  return key instanceof Uint8Array || key.type === "secret";
}

function checkAsymmetric(algorithms: readonly JwtAlgorithm[] | undefined, reason: string, action: string): void {
  const wrong = algorithms?.find(isSymmetric);
  if (wrong === undefined) return;
  throw new TypeError(`Cannot ${action}: ${reason}, and "${wrong}" needs a secret, leave it out of "algorithms"`);
}

function checkPublic({ type, usages, algorithm }: JwtCryptoKey, action: string): void {
  if (type !== "public" || !usages.includes("verify")) {
    throw new TypeError(`Cannot ${action}: the key must be a public one with the usage "verify"`);
  }
  const { modulusLength } = algorithm as { readonly modulusLength?: number };
  if (modulusLength === undefined || modulusLength >= 2048) return;
  throw new TypeError(`Cannot ${action}: a key of RSA must have 2048 bits or more, got ${modulusLength}`);
}

/** A key that fits no algorithm would refuse each token. */
function checkFit({ algorithm }: JwtCryptoKey, algorithms: readonly JwtAlgorithm[], action: string): void {
  const own = algorithmsOf(algorithm);
  if (algorithms.some((name) => own.includes(name))) return;
  const fault = own.length === 0
    ? `the key is of ${algorithm.name}, and no algorithm fits it`
    : `the key is for "${own[0]}", and "algorithms" does not have it`;
  throw new TypeError(`Cannot ${action}: ${fault}, give another key`);
}

function checkSecret(key: JwtKey, algorithms: readonly JwtAlgorithm[] | undefined, action: string): void {
  if (algorithms === undefined || algorithms.length === 0) {
    throw new TypeError(`Cannot ${action}: a secret needs "algorithms", write algorithms: ["HS256"]`);
  }
  const wrong = algorithms.find((algorithm) => !isSymmetric(algorithm));
  if (wrong !== undefined) {
    throw new TypeError(`Cannot ${action}: the key is a secret, and "${wrong}" needs a public key, leave it out`);
  }
  if (!(key instanceof Uint8Array)) {
    if (!key.usages.includes("verify")) {
      throw new TypeError(`Cannot ${action}: the key must have the usage "verify"`);
    }
  } else if (new TextDecoder().decode(key.subarray(0, 10)) === "-----BEGIN") {
    throw new TypeError(`Cannot ${action}: the bytes are a PEM file and no secret, import it as a CryptoKey`);
  }
  const [least, length] = key instanceof Uint8Array
    ? [leastSecret(algorithms), key.length]
    : [leastSecret(algorithmsOf(key.algorithm)), (key.algorithm as { readonly length?: number }).length! / 8];
  if (length >= least) return;
  throw new TypeError(`Cannot ${action}: the secret must have ${least} bytes or more, got ${length}`);
}
