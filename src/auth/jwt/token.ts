/** The parts of JSON Web Tokens: their header, algorithm, key and subject (RFC 7519). */
import type { HttpRequest } from "../../http/request.ts";
import { nearest, quote } from "../../base/options.ts";
import { credentialsOf } from "../credentials.ts";

/** @ignore The header of an unverified token, which a client chooses. */
// Not an interface, which would lack the index signature that functions of jose require.
export type JwtHeader = {
  /** The algorithm, one of those that the guard accepts. */
  readonly alg: string;
  /** The id of the key, if the token names one. */
  readonly kid?: string;
};

/** @ignore A `CryptoKey`, which Deno and the types of Node.js declare differently. */
export interface JwtCryptoKey {
  /** The kind of the key: `public` or `secret`. */
  readonly type: string;
  /** Whether its bytes can be read. */
  readonly extractable: boolean;
  /** Its algorithm. */
  readonly algorithm: { readonly name: string };
  /** Its permitted uses, which must include `verify`. */
  readonly usages: readonly string[];
}

/** The message is the reason, for the log. */
export class InvalidToken extends Error {}

/** @ignore RFC 7518, RFC 8037, RFC 9864. Those with `HS` use one secret, others a pair of keys. */
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

export const ASYMMETRIC: readonly JwtAlgorithm[] = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 Ed25519 EdDSA"
  .split(" ") as JwtAlgorithm[];

/** RFC 7518, section 3.2. */
const SECRET_BYTES = new Map<string, number>([["HS256", 32], ["HS384", 48], ["HS512", 64]]);

const ALGORITHMS: readonly string[] = [...ASYMMETRIC, ...SECRET_BYTES.keys()];

export function isSymmetric(algorithm: string): boolean {
  return SECRET_BYTES.has(algorithm);
}

/** For all of the algorithms. */
export function leastSecret(algorithms: readonly string[]): number {
  return Math.max(...algorithms.map((algorithm) => SECRET_BYTES.get(algorithm) ?? 0));
}

const FAMILIES = new Map([["RSASSA-PKCS1-v1_5", "RS"], ["RSA-PSS", "PS"], ["HMAC", "HS"]]);

const CURVES = new Map<string | undefined, string>([["P-256", "ES256"], ["P-384", "ES384"], ["P-521", "ES512"]]);

/** Two names of one algorithm, or none. */
export function algorithmsOf(key: { readonly name: string }): readonly JwtAlgorithm[] {
  const { name, hash, namedCurve } = key as {
    readonly name: string;
    readonly hash?: { readonly name: string };
    readonly namedCurve?: string;
  };
  if (name === "Ed25519") return ["Ed25519", "EdDSA"];
  const found = name === "ECDSA" ? CURVES.get(namedCurve) : `${FAMILIES.get(name)}${hash?.name.slice("SHA-".length)}`;
  return ALGORITHMS.includes(found!) ? [found as JwtAlgorithm] : [];
}

/** @throws {TypeError} If the option is no array of known algorithms. */
export function checkAlgorithms(algorithms: unknown, action: string): asserts algorithms is readonly JwtAlgorithm[] {
  if (!Array.isArray(algorithms) || algorithms.length === 0) {
    throw new TypeError(`Cannot ${action}: "algorithms" must be an array of names, write algorithms: ["ES256"]`);
  }
  for (const algorithm of algorithms) {
    if (algorithm === "none") {
      throw new TypeError(`Cannot ${action}: "none" would accept tokens without a signature, leave it out`);
    }
    if (ALGORITHMS.includes(algorithm)) continue;
    throw new TypeError(
      `Cannot ${action}: the algorithm ${quote(algorithm)} is unknown, the nearest is "${
        nearest(String(algorithm), ALGORITHMS)
      }"; there are ${ALGORITHMS.join(", ")}`,
    );
  }
}

/**
 * Identifies the owner of a verified token: by subject and issuer, or by the token if it has no
 * subject. The schema of the claims does not matter.
 */
export function subjectOf(request: HttpRequest): string | undefined {
  const token = credentialsOf(request, "bearer") ?? undefined;
  const payload = token?.split(".")[1];
  // A test that replaces the guard has no token.
  if (payload === undefined) return token;
  const { iss, sub } = decodePayload(payload) as Readonly<Record<string, unknown>>;
  return typeof sub === "string" ? JSON.stringify([iss, sub]) : token;
}

/** Not verified. */
export function issuerOf(payload: string): unknown {
  try {
    return (decodePayload(payload) as Readonly<Record<string, unknown>>).iss;
  } catch {
    return undefined;
  }
}

function decodePayload(payload: string): unknown {
  return JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })));
}
