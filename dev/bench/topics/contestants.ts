// The contestants: a topic of webfw, and a loop by hand over its readers.

import { App, type TopicEntry } from "../../../mod.ts";

/** A published message: about 100 bytes of JSON. */
export interface Message {
  /** The number of the message. */
  number: number;
  item: string;
  price: number;
  note: string;
}

/** A reader. It takes all messages that are there. */
export interface Reader {
  nextBatch(): Promise<readonly TopicEntry<Message>[] | undefined>;
  close(): void;
}

/** Where messages are published. */
export interface Board {
  publish(message: Message): Promise<unknown>;
  subscribe(): Reader;
  close(): Promise<void>;
}

/** Makes a board for one measurement. */
export interface Contestant {
  name: string;
  open(): Board;
}

/** The reference: an array of readers, each with its own queue. */
class HandWrittenBoard implements Board {
  readonly #readers = new Set<HandWrittenReader>();

  async publish(message: Message): Promise<void> {
    const entry = { id: String(message.number), type: undefined, data: message, time: new Date() };
    for (const reader of this.#readers) reader.push(entry);
  }

  subscribe(): Reader {
    const reader = new HandWrittenReader(() => this.#readers.delete(reader));
    this.#readers.add(reader);
    return reader;
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.close();
  }
}

class HandWrittenReader implements Reader {
  readonly #leave: () => void;
  #queue: TopicEntry<Message>[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  push(entry: TopicEntry<Message>): void {
    this.#queue.push(entry);
    this.#wake?.();
  }

  async nextBatch(): Promise<readonly TopicEntry<Message>[] | undefined> {
    if (this.#queue.length === 0 && !this.#isClosed) await new Promise<void>((resolve) => this.#wake = resolve);
    if (this.#queue.length === 0) return undefined;
    const batch = this.#queue;
    this.#queue = [];
    return batch;
  }

  close(): void {
    this.#isClosed = true;
    this.#leave();
    this.#wake?.();
  }
}

/** A topic in memory. */
function openTopic(): Board {
  const app = new App();
  const topic = app.topic<Message>("board");
  return {
    publish: (message) => topic.publish(message),
    subscribe: () => topic.subscribe(),
    close: () => app.stop(),
  };
}

/** The name of the reference. */
export const BASELINE = "loop";

/** All contestants, the reference first. */
export const CONTESTANTS: readonly Contestant[] = [
  { name: BASELINE, open: () => new HandWrittenBoard() },
  { name: "topic", open: openTopic },
];
