/** The algorithms of signatures of JSON Web Tokens (RFC 7518, RFC 8037, RFC 9864). */
import { nearest, quote } from "../../base/options.ts";

/**
 * The name of an algorithm. `none` is not among them. Those that begin with `HS` use one secret to
 * sign and to verify; all others use a pair of keys.
 *
 * @category Dependencies
 */
export type JwtAlgorithm =
  | "RS256"
  | "RS384"
  | "RS512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "Ed25519"
  | "EdDSA"
  | "HS256"
  | "HS384"
  | "HS512";

/** The algorithms of pairs of keys: a public key verifies. */
export const ASYMMETRIC: readonly JwtAlgorithm[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "Ed25519",
  "EdDSA",
];

/** The least bytes of a secret for each symmetric algorithm (RFC 7518, section 3.2). */
const SECRET_BYTES = new Map<string, number>([["HS256", 32], ["HS384", 48], ["HS512", 64]]);

export function isSymmetric(algorithm: string): boolean {
  return SECRET_BYTES.has(algorithm);
}

/** The least bytes of a secret that verifies with all of the algorithms. */
export function leastSecret(algorithms: readonly string[]): number {
  return Math.max(...algorithms.map((algorithm) => SECRET_BYTES.get(algorithm) ?? 0));
}

const FAMILIES = new Map([["RSASSA-PKCS1-v1_5", "RS"], ["RSA-PSS", "PS"], ["HMAC", "HS"]]);

const CURVES = new Map<string | undefined, JwtAlgorithm>([["P-256", "ES256"], ["P-384", "ES384"], ["P-521", "ES512"]]);

/** The algorithms that fit a `CryptoKey`: two names of one, or none. */
export function algorithmsOf(key: { readonly name: string }): readonly JwtAlgorithm[] {
  const { name, hash, namedCurve } = key as {
    readonly name: string;
    readonly hash?: { readonly name: string };
    readonly namedCurve?: string;
  };
  if (name === "Ed25519") return ["Ed25519", "EdDSA"];
  const known: readonly string[] = [...ASYMMETRIC, ...SECRET_BYTES.keys()];
  const found = name === "ECDSA" ? CURVES.get(namedCurve) : `${FAMILIES.get(name)}${hash?.name.slice("SHA-".length)}`;
  return found !== undefined && known.includes(found) ? [found as JwtAlgorithm] : [];
}

/** @throws {TypeError} If the option is no list of known algorithms. */
export function checkAlgorithms(algorithms: unknown, action: string): asserts algorithms is readonly JwtAlgorithm[] {
  if (!Array.isArray(algorithms) || algorithms.length === 0) {
    throw new TypeError(`Cannot ${action}: "algorithms" must be a list of names, write algorithms: ["ES256"]`);
  }
  const known: string[] = [...ASYMMETRIC, ...SECRET_BYTES.keys()];
  for (const algorithm of algorithms) {
    if (algorithm === "none") {
      throw new TypeError(`Cannot ${action}: "none" would take tokens without a signature, leave it out`);
    }
    if (known.includes(algorithm)) continue;
    throw new TypeError(
      `Cannot ${action}: the algorithm ${quote(algorithm)} is unknown, the nearest is "${
        nearest(String(algorithm), known)
      }"; there are ${known.join(", ")}`,
    );
  }
}
