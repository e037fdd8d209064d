/** Sessions in cookies, encrypted and authenticated by iron-webcrypto. */
import { defaults, type password, seal, type SealOptions, unseal } from "iron-webcrypto";
import { MAX_COOKIE_BYTES } from "../../http/cookies.ts";
import { TimedSignIn } from "../../http/sign_in.ts";
import { fromText, type KeptSession, renewedText, type SessionKeeper } from "./kept.ts";

/** A secret gives two keys, and an id of them. */
const KEY_BYTES = 32;
const ID_BYTES = 4;

export class SealedSessions implements SessionKeeper {
  readonly #first: password.Specific;
  readonly #keys: password.Hash;
  readonly #maxAge: number;
  readonly #options: SealOptions;

  private constructor(keys: readonly KeySet[], maxAge: number) {
    this.#first = keys[0]!;
    // No prototype: the client chooses the name.
    this.#keys = Object.assign(Object.create(null), Object.fromEntries(keys.map((key) => [key.id, key])));
    this.#maxAge = maxAge;
    // Strings of `toText` are JSON already.
    this.#options = { ...defaults, ttl: maxAge, timestampSkewSec: 0, encode: String, decode: String };
  }

  /** @param purpose Seals of one cookie cannot be opened for another. */
  static async make(secrets: readonly string[], purpose: string, maxAge: number): Promise<SealedSessions> {
    return new SealedSessions(await Promise.all(secrets.map((secret) => deriveKeys(secret, purpose))), maxAge);
  }

  async open(value: string): Promise<KeptSession | null> {
    // No browser sends more.
    if (value.length > MAX_COOKIE_BYTES) return null;
    try {
      return fromText(await unseal(value, this.#keys, this.#options) as string, this.#maxAge);
    } catch {
      // The client or time has broken the seal.
      return null;
    }
  }

  async keep(text: string): Promise<string> {
    return await seal(text, this.#first, this.#options);
  }

  async replace(_value: string, text: string): Promise<string> {
    return await this.keep(text);
  }

  async renew(_value: string, kept: KeptSession): Promise<string> {
    return await this.keep(renewedText(kept));
  }

  /** The server cannot end a seal before its time. */
  watch(_value: string, { setAt }: KeptSession, onEnd: () => void): () => void {
    return new TimedSignIn(setAt + this.#maxAge).watch(onEnd);
  }

  /** A seal cannot be revoked. */
  async drop(): Promise<boolean> {
    return true;
  }
}

type KeySet = password.Specific & { readonly id: string };

/** HKDF (RFC 5869), once for each secret. iron would derive keys for each seal. */
async function deriveKeys(secret: string, purpose: string): Promise<KeySet> {
  const encoder = new TextEncoder();
  const base = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveBits"]);
  const algorithm = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(purpose) };
  const bytes = new Uint8Array(await crypto.subtle.deriveBits(algorithm, base, 8 * (2 * KEY_BYTES + ID_BYTES)));
  return {
    encryption: bytes.subarray(0, KEY_BYTES),
    integrity: bytes.subarray(KEY_BYTES, 2 * KEY_BYTES),
    id: bytes.subarray(2 * KEY_BYTES).toHex(),
  };
}
