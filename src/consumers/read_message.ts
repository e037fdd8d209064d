/** A message as a consumer reads it from the log. */
import { decodeMessage, type TopicMessage } from "../topics/message.ts";
import type { Cursor, StoredMessage } from "../topics/store.ts";
import { hashKey } from "./key_hash.ts";

/** The option `key` of a consumer. */
export type KeyOf = (message: TopicMessage) => unknown;

/** A message that was read. It is decoded when it is needed. */
export class ReadMessage {
  /** All up to here was removed when it was read, and so was not read; undefined if nothing was. */
  readonly gap: Cursor | undefined;
  readonly #stored: StoredMessage;
  readonly #incarnation: string;
  readonly #keyOf: KeyOf | undefined;
  #message: TopicMessage | undefined;
  #key: { readonly hash?: string; readonly fault?: unknown } | undefined;

  constructor(stored: StoredMessage, incarnation: string, keyOf: KeyOf | undefined, gap?: Cursor) {
    this.gap = gap;
    this.#stored = stored;
    this.#incarnation = incarnation;
    this.#keyOf = keyOf;
  }

  get cursor(): Cursor {
    return this.#stored.cursor;
  }

  /** The bytes of its data. */
  get bytes(): number {
    return this.#stored.bytes;
  }

  /** The trace of its publisher. */
  get trace(): string | undefined {
    return this.#stored.trace;
  }

  get message(): TopicMessage {
    return this.#message ??= decodeMessage(this.#stored, this.#incarnation);
  }

  /**
   * What stands for its key; undefined if the consumer has no keys, or this message has a fault.
   */
  get key(): string | undefined {
    return this.#findKey().hash;
  }

  /** What the function `key` threw, or why its result cannot be used; undefined if all is well. */
  get fault(): unknown {
    return this.#findKey().fault;
  }

  #findKey(): { readonly hash?: string; readonly fault?: unknown } {
    return this.#key ??= this.#keyOf === undefined ? {} : this.#callKey(this.#keyOf);
  }

  #callKey(keyOf: KeyOf): { readonly hash?: string; readonly fault?: unknown } {
    try {
      const key = keyOf(this.message);
      if (typeof key === "string") return { hash: hashKey(key) };
      // A rejection that nobody handles would end the process, and then the next one.
      if (key instanceof Promise) key.catch(() => {});
      return { fault: new TypeError(`Cannot order the message: its key must be a text, got ${typeof key}`) };
    } catch (fault) {
      // `undefined` can be thrown, too.
      return { fault: fault ?? new TypeError("Cannot order the message: the function key threw nothing") };
    }
  }
}
