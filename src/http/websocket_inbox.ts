/**
 * Messages that have come and wait to be read. Deno reads on whatever happens, and cannot be told to stop: all that can be done
 * about a client that sends faster than its messages are read is to keep no more than so much, and to close the connection.
 */

/** A message as it goes over the wire. */
export type MessageData = string | Uint8Array<ArrayBuffer>;

/** What a message takes in memory beside its content. */
const OVERHEAD_BYTES = 256;

/** A bounded queue of messages. */
export class Inbox {
  readonly #capacity: number;
  readonly #messages: MessageData[] = [];
  readonly #readers: ((message: MessageData | undefined) => void)[] = [];
  #size = 0;
  #hasEnded = false;

  /**
   * Makes an empty inbox.
   *
   * @param capacity How much can wait, in bytes. A single message may be larger.
   */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Adds a message; false where there is no room for it. */
  add(message: MessageData): boolean {
    if (this.#hasEnded) return true;
    const reader = this.#readers.shift();
    if (reader) {
      reader(message);
      return true;
    }
    const size = this.#size + sizeOf(message);
    if (this.#messages.length > 0 && size > this.#capacity) return false;
    this.#size = size;
    this.#messages.push(message);
    return true;
  }

  /** The next message, when it has come; undefined when there will be none. */
  take(): Promise<MessageData | undefined> {
    const message = this.#messages.shift();
    if (message !== undefined) {
      this.#size -= sizeOf(message);
      return Promise.resolve(message);
    }
    return this.#hasEnded ? Promise.resolve(undefined) : new Promise((resolve) => this.#readers.push(resolve));
  }

  /** No more will come. What waits can still be read. */
  end(): void {
    this.#hasEnded = true;
    for (const reader of this.#readers.splice(0)) reader(undefined);
  }

  /** No more will come, and what waits is dropped. */
  clear(): void {
    this.#messages.length = 0;
    this.end();
  }
}

/** A string may take two bytes for each of its units. */
function sizeOf(message: MessageData): number {
  return OVERHEAD_BYTES + (typeof message === "string" ? 2 * message.length : message.length);
}
