// What is compared: a topic of webfw, and a loop written by hand over its readers.

import { App, type TopicEntry } from "../../mod.ts";

/** What a publisher sends: about 100 bytes of JSON. */
export interface Message {
  /** The number of the message. */
  number: number;
  item: string;
  price: number;
  note: string;
}

/** Who reads, as much as there is at a time. */
export interface Reader {
  nextBatch(): Promise<readonly TopicEntry<Message>[] | undefined>;
  close(): void;
}

/** What is published to. */
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

/** The baseline: an array of readers, each with a queue of its own. */
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

/** The name of what others are compared with. */
export const BASELINE = "loop";

/** All that are compared, the baseline first. */
export const CONTESTANTS: readonly Contestant[] = [
  { name: BASELINE, open: () => new HandWrittenBoard() },
  { name: "topic", open: openTopic },
];
