/** A message as a consumer reads it from the log. */
import { Discard } from "../../topics/consume_options.ts";
import { decodeMessage, type TopicMessage } from "../../topics/message.ts";
import type { Cursor, StoredMessage } from "../../store/topic_store.ts";
import type { CheckedData, StoredCheck } from "../../topics/stored_check.ts";
import { hashKey } from "./key_hash.ts";

/** The option `key` of a consumer. */
export type KeyOf = (message: TopicMessage) => unknown;

/** How messages are read. */
export interface MessageReading {
  /** The option `key` of the consumer. */
  readonly keyOf: KeyOf | undefined;
  /** Checks the data, if the schema of the topic may be newer. */
  readonly check?: StoredCheck | undefined;
}

/** A message that was read. It is decoded when it is needed. */
export class ReadMessage {
  /** All up to here was removed when it was read, and so was not read; undefined if nothing was. */
  readonly gap: Cursor | undefined;
  readonly #stored: StoredMessage;
  readonly #incarnation: string;
  readonly #reading: MessageReading;
  #checked: CheckedData | undefined;
  #message: TopicMessage | undefined;
  #key: { readonly hash?: string; readonly fault?: unknown } | undefined;

  /**
   * @param stored The message as it is stored.
   * @param incarnation The incarnation of its log.
   * @param reading How it is read.
   * @param checked The result of the check, if that is async.
   * @param gap All up to here was removed.
   */
  constructor(
    stored: StoredMessage,
    incarnation: string,
    reading: MessageReading,
    checked: CheckedData | undefined,
    gap?: Cursor,
  ) {
    this.gap = gap;
    this.#checked = checked;
    this.#stored = stored;
    this.#incarnation = incarnation;
    this.#reading = reading;
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
    return this.#message ??= this.#decode();
  }

  /**
   * What stands for its key; undefined if the consumer has no keys, or this message has a fault.
   */
  get key(): string | undefined {
    return this.#findKey().hash;
  }

  /**
   * Why the data does not fit the schema of the topic, or what is wrong with the key; undefined if
   * all is well.
   */
  get fault(): unknown {
    return this.#findKey().fault;
  }

  #decode(): TopicMessage {
    const checked = this.#check();
    return decodeMessage(this.#stored, this.#incarnation, checked?.fault === undefined ? checked?.data : undefined);
  }

  #check(): CheckedData | undefined {
    return this.#checked ??= this.#reading.check?.check(JSON.parse(this.#stored.data)) as CheckedData | undefined;
  }

  #findKey(): { readonly hash?: string; readonly fault?: unknown } {
    return this.#key ??= this.#checkAndCallKey();
  }

  #checkAndCallKey(): { readonly hash?: string; readonly fault?: unknown } {
    const misfit = this.#check()?.fault;
    // Another try would find the same.
    if (misfit !== undefined) {
      return { fault: new Discard(`The message does not fit the schema of its topic: ${misfit}`) };
    }
    return this.#reading.keyOf === undefined ? {} : this.#callKey(this.#reading.keyOf);
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
