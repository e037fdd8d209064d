/** Where the keys come from that verify JSON Web Tokens: the application, or an address. */
import { quote } from "../../base/options.ts";
import { algorithmsOf, ASYMMETRIC, isSymmetric, type JwtAlgorithm, leastSecret } from "./algorithms.ts";
import { RemoteKeys } from "./remote_keys.ts";
import { InvalidToken, type JwtCryptoKey, type JwtHeader } from "./token.ts";

/**
 * A key that verifies signatures: a public `CryptoKey`, or a secret.
 *
 * @category Dependencies
 */
export type JwtKey = JwtCryptoKey | Uint8Array;

/**
 * Finds the key of a token. Without a key (null or undefined), the token is refused. For keys that
 * the application has, `createLocalJWKSet` of npm's `jose` makes such a function.
 *
 * @category Dependencies
 */
export type JwtKeyFunction = (header: JwtHeader) => Promise<JwtKey | null | undefined>;

/**
 * The values of the option `keys` of `jwt`.
 *
 * @category Dependencies
 */
export type JwtKeys = string | URL | JwtKey | JwtKeyFunction;

/** A source of keys, and the algorithms that a token may use with them. */
export interface KeySource {
  readonly algorithms: readonly JwtAlgorithm[];
  /** Whether a request can fail because keys cannot be fetched. */
  readonly isRemote: boolean;
  /**
   * Finds the key of a token. Its algorithm is among those of the source.
   *
   * @throws {InvalidToken} If there is none.
   * @throws {HTTPError} With 503 if the keys cannot be fetched.
   */
  readonly find: (header: JwtHeader) => Promise<JwtKey>;
}

/**
 * Reads the option `keys`.
 *
 * @param keys The option; undefined for the keys that the issuer publishes.
 * @param algorithms The option `algorithms`, checked.
 * @throws {TypeError} If the keys are wrong, or do not fit the algorithms.
 */
export function readKeys(
  keys: unknown,
  issuer: string,
  algorithms: readonly JwtAlgorithm[] | undefined,
  action: string,
): KeySource {
  if (typeof keys === "string" && !/^https?:/i.test(keys)) {
    // The text is not told: it may be a secret.
    throw new TypeError(
      `Cannot ${action}: a text as "keys" is the https: URL of a JWKS, and this one is no such URL, ` +
        `give a secret as bytes, new TextEncoder().encode(secret)`,
    );
  }
  if (keys === undefined || typeof keys === "string" || keys instanceof URL) {
    checkAsymmetric(algorithms, "keys of an address are public", action);
    const remote = new RemoteKeys(issuer, keys === undefined ? undefined : String(keys), action);
    return { algorithms: algorithms ?? ASYMMETRIC, isRemote: true, find: (header) => remote.find(header) };
  }
  if (typeof keys === "function") return functionSource(keys as JwtKeyFunction, algorithms ?? ASYMMETRIC);
  if (!isKey(keys)) {
    throw new TypeError(
      `Cannot ${action}: "keys" must be the address of a JWKS, a CryptoKey, a Uint8Array or a function, got ${
        quote(keys)
      }`,
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
      // A public key is no secret: whoever has it could sign with it as one.
      if (isSecret(key) !== isSymmetric(header.alg)) throw new InvalidToken();
      return key;
    },
  };
}

async function findOrRefuse(find: JwtKeyFunction, header: JwtHeader): Promise<JwtKey | null | undefined> {
  try {
    return await find(header);
  } catch (error) {
    // Functions of jose throw where no key fits, or several do.
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
