// A store of topics that has only what every store must have.

import {
  type AppendResult,
  type Cursor,
  LOG_START,
  type LogBounds,
  type LogPage,
  type LogRef,
  type NewMessage,
  type ReadLimits,
  type StoredMessage,
  type TopicStore,
} from "@webfw/core/store";

/** All that a store must have. Its logs keep everything. */
export class SmallStore implements TopicStore {
  readonly capabilities = {
    durability: "memory",
    maxMessageBytes: 1_000,
    maxBatchMessages: 10,
    maxBatchBytes: 10_000,
    ids: { longest: Infinity, count: Infinity, outlivesMessage: true },
  } as const;
  readonly appended: NewMessage[] = [];
  readonly #logs = new Map<string, StoredMessage[]>();
  readonly #cursors = new Map<string, Cursor>();
  readonly #watchers = new Set<() => void>();

  async bounds({ name }: LogRef): Promise<LogBounds> {
    const highWatermark = this.#logs.get(name)?.at(-1)?.cursor ?? LOG_START;
    return { incarnation: "00000001", lowWatermark: LOG_START, highWatermark };
  }

  async append({ name }: LogRef, messages: readonly NewMessage[]): Promise<AppendResult> {
    const log = this.#logs.get(name) ?? [];
    this.#logs.set(name, log);
    const outcomes = messages.map(({ id, type, data, bytes }) => {
      const first = this.#cursors.get(`${name} ${id}`);
      if (first !== undefined) return { cursor: first, duplicate: true };
      const cursor = (log.length + 1).toString(16).padStart(LOG_START.length, "0");
      log.push({ cursor, type, data, bytes, time: Date.now() });
      this.#cursors.set(`${name} ${id}`, cursor);
      return { cursor, duplicate: false };
    });
    this.appended.push(...messages);
    for (const onChange of this.#watchers) onChange();
    return { incarnation: "00000001", outcomes };
  }

  async read(log: LogRef, after: Cursor, { maxMessages }: ReadLimits): Promise<LogPage> {
    const messages = (this.#logs.get(log.name) ?? []).filter(({ cursor }) => cursor > after).slice(0, maxMessages);
    return { ...await this.bounds(log), messages };
  }

  async seek({ name }: LogRef, time: Date) {
    const before = (this.#logs.get(name) ?? []).filter((message) => message.time < time.getTime());
    return { incarnation: "00000001", cursor: before.at(-1)?.cursor ?? LOG_START };
  }

  watch(_log: LogRef, onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => void this.#watchers.delete(onChange);
  }

  async close(): Promise<void> {}
}
