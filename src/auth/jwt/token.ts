/** What is known of a JSON Web Token before it is verified, and the key that verifies it. */

/**
 * The header of a token that is not verified yet. A client can send any header.
 *
 * @category Dependencies
 */
// Not an interface, which would lack the index signature that functions of jose ask for.
export type JwtHeader = {
  /** The algorithm, one of those that the guard takes. */
  readonly alg: string;
  /** The id of the key, if the token names one. It is checked to be a text. */
  readonly kid?: string;
};

/** The token is not valid, a mistake of the client. The message is the reason, for the log. */
export class InvalidToken extends Error {}

/**
 * A `CryptoKey` of the platform. Its type is not named here, because Deno and the types of Node.js
 * declare different ones.
 *
 * @category Dependencies
 */
export interface JwtCryptoKey {
  /** The kind of the key: `public` or `secret`. */
  readonly type: string;
  /** Whether its bytes can be read. */
  readonly extractable: boolean;
  /** The algorithm that it is for. */
  readonly algorithm: { readonly name: string };
  /** What it may be used for; it must contain `verify`. */
  readonly usages: readonly string[];
}
