/** Encrypts the secrets of webhooks: readers of their topic do not see them. */
import { nodeCrypto } from "../base/runtime.ts";
import type { Records } from "../store/records.ts";

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY = ["key"];

/** The key is in the records, which all nodes share, and which keep it over restarts. */
export async function openSeal(records: Records): Promise<Seal> {
  for (;;) {
    const record = await records.get<string>(KEY);
    if (record) return new Seal(Uint8Array.fromBase64(record.value));
    await records.set(KEY, crypto.getRandomValues(new Uint8Array(KEY_BYTES)).toBase64(), { expect: null });
  }
}

/** By the crypto of Node.js, because a message in a transaction of SQLite is made synchronously. */
export class Seal {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** @param context What it belongs to: it cannot be opened elsewhere. */
  close(text: string, context: string): string {
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const cipher = nodeCrypto().createCipheriv(ALGORITHM, this.#key, iv);
    cipher.setAAD(new TextEncoder().encode(context));
    const parts = [iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
    return Uint8Array.from(parts.flatMap((part) => [...part])).toBase64();
  }

  /** @throws {Error} If it was closed with another key or context. */
  open(closed: string, context: string): string {
    const bytes = Uint8Array.fromBase64(closed);
    const decipher = nodeCrypto().createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES));
    decipher.setAAD(new TextEncoder().encode(context));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, "utf8");
    return text + decipher.final("utf8");
  }
}
