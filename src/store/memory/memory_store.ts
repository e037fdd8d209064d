/** Topics in the memory of the process. */
import { Lazy, load, outsideRequests } from "../../base/async_context.ts";
import { OrderedMap } from "../../base/ordered_map.ts";
import type { RecordStore } from "../record_store.ts";
import {
  type AppendOptions,
  type AppendResult,
  type Cursor,
  cursorToNumber,
  type LogBounds,
  type LogPage,
  type LogPolicy,
  type LogPosition,
  type LogRef,
  type NewMessage,
  numberToCursor,
  type ReadLimits,
  type StoreCapabilities,
  type StoredMessage,
  type TopicStore,
  Watchers,
} from "../topic_store.ts";

const MIB = 1024 * 1024;
const MAX_BYTES = 256 * MIB;
/** How often expired messages are removed, in milliseconds. They must be gone within 30 s. */
const SWEEP_INTERVAL = 10_000;
/** The most ids of a log: many messages in a short time must not fill the memory. */
const MAX_IDS = 100_000;
/** The memory of a log besides its messages, and of an entry besides its strings, rounded up. */
const LOG_OVERHEAD = 1024;
const ENTRY_OVERHEAD = 256;

export const MEMORY_CAPABILITIES: StoreCapabilities = {
  durability: "memory",
  maxMessageBytes: MIB,
  maxBatchMessages: 1000,
  maxBatchBytes: 8 * MIB,
  ids: { longest: Infinity, count: MAX_IDS, outlivesMessage: true },
};

export interface MemoryStoreOptions {
  /**
   * The limit of all logs together in bytes. Beyond that, whole logs are dropped, the least
   * recently appended first.
   *
   * @default {268435456} 256 MiB
   */
  maxBytes?: number;
  now?: () => number;
}

export class MemoryStore implements TopicStore {
  readonly capabilities: StoreCapabilities = MEMORY_CAPABILITIES;
  readonly #maxBytes: number;
  readonly #now: () => number;
  /** Sorted by the last append. */
  readonly #logs = new OrderedMap<string, MemoryLog>();
  readonly #watchers = new Watchers();
  #bytes = 0;
  #isSweeping = false;
  #sweepTimer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  /** Loaded on first use: most applications have no records. */
  readonly #records = new Lazy(async () => {
    const { MemoryRecords } = await load(() => import("./memory_records.ts"));
    return new MemoryRecords({ now: this.#now });
  });

  constructor({ maxBytes = MAX_BYTES, now = Date.now }: MemoryStoreOptions = {}) {
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  async bounds(ref: LogRef): Promise<LogBounds> {
    return this.#use(ref, (log) => log.bounds());
  }

  /** All are stored at once, and a signal has no effect. */
  async append(ref: LogRef, messages: readonly NewMessage[], options: AppendOptions = {}): Promise<AppendResult> {
    const result = this.#use(ref, (log) => {
      this.#logs.set(ref.name, log);
      if (log.hasAge) this.#beginSweeping();
      return log.append(messages, options);
    });
    this.#watchers.call(ref.name);
    return result;
  }

  async read(ref: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return this.#use(ref, (log) => log.read(after, limits));
  }

  async seek(ref: LogRef, time: Date): Promise<LogPosition> {
    return this.#use(ref, (log) => log.seek(time.getTime()));
  }

  watch({ name }: LogRef, onChange: () => void): () => void {
    return this.#watchers.add(name, onChange);
  }

  openRecords(): Promise<RecordStore> {
    return this.#records.use();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    (await this.#records.made?.catch(() => undefined))?.close();
    clearTimeout(this.#sweepTimer);
    this.#logs.clear();
    this.#watchers.clear();
  }

  #use<Result>(ref: LogRef, action: (log: MemoryLog) => Result): Result {
    if (this.#isClosed) throw new Error(`Cannot use the topic "${ref.name}": its store is closed`);
    let log = this.#logs.get(ref.name);
    this.#bytes -= log?.size ?? 0;
    if (!log) this.#logs.set(ref.name, log = new MemoryLog(ref.policy, this.#now));
    const result = action(log);
    this.#bytes += log.size;
    if (this.#bytes > this.#maxBytes) this.#makeRoom(log);
    return result;
  }

  /** Drops other logs, then the oldest messages of this one. */
  #makeRoom(used: MemoryLog): void {
    for (const [name, log] of this.#logs) {
      if (this.#bytes <= this.#maxBytes) return;
      if (log === used) continue;
      this.#logs.delete(name);
      this.#bytes -= log.size;
    }
    this.#bytes -= used.size;
    used.trim(this.#maxBytes);
    this.#bytes += used.size;
  }

  #beginSweeping(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    void outsideRequests(() => this.#scheduleSweep());
  }

  #scheduleSweep(): void {
    if (this.#isClosed) return;
    this.#sweepTimer = setTimeout(() => this.#sweep(), SWEEP_INTERVAL);
    // The timer must not keep the process alive.
    Deno.unrefTimer(this.#sweepTimer);
  }

  /** Removes expired messages of topics that no reader uses. */
  #sweep(): void {
    let hasMessages = false;
    for (const [, log] of this.#logs) {
      if (!log.hasAge) continue;
      this.#bytes -= log.size;
      log.trim();
      this.#bytes += log.size;
      hasMessages ||= !log.isEmpty;
    }
    this.#isSweeping = hasMessages;
    if (hasMessages) this.#scheduleSweep();
  }
}

interface RememberedId {
  readonly cursor: Cursor;
  readonly time: number;
}

/** Messages in the order of their numbers, which begin at 1 and have no holes. */
class MemoryLog {
  readonly hasAge: boolean;
  readonly #policy: LogPolicy;
  readonly #incarnation = crypto.randomUUID().slice(0, 8);
  readonly #now: () => number;
  #messages: (StoredMessage | undefined)[] = [];
  /** So many at the beginning were removed. A cut moves the rest, so cuts are rare. */
  #removed = 0;
  #lowWatermark = 0;
  #dataBytes = 0;
  #idBytes = 0;
  #newestTime = 0;
  readonly #ids = new OrderedMap<string, RememberedId>();

  constructor(policy: LogPolicy, now: () => number) {
    this.#policy = policy;
    this.hasAge = policy.age !== Infinity;
    this.#now = now;
  }

  /** An estimate in bytes. */
  get size(): number {
    return LOG_OVERHEAD + this.#dataBytes + this.#idBytes + this.#count * ENTRY_OVERHEAD;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  bounds(): LogBounds {
    this.trim();
    const highWatermark = this.#lowWatermark + this.#count;
    return {
      incarnation: this.#incarnation,
      lowWatermark: numberToCursor(this.#lowWatermark),
      highWatermark: numberToCursor(highWatermark),
    };
  }

  append(messages: readonly NewMessage[], { signal }: AppendOptions): AppendResult {
    // The clock may be set back, but the times of messages never go back.
    const time = this.#newestTime = Math.max(this.#newestTime, this.#now());
    this.#forgetIds(time);
    const outcomes = messages.map((message) => {
      // Without a signal, the publisher learns the outcome, so it never appends this id again.
      const id = message.isGenerated && !signal ? undefined : message.id;
      const first = id === undefined ? undefined : this.#ids.get(id);
      if (first) return { cursor: first.cursor, duplicate: true };
      const cursor = this.#add(message, time);
      if (id !== undefined) this.#rememberId(id, { cursor, time });
      return { cursor, duplicate: false };
    });
    this.trim();
    return { incarnation: this.#incarnation, outcomes };
  }

  read(after: Cursor, { maxMessages, maxBytes }: ReadLimits): LogPage {
    const bounds = this.bounds();
    const first = this.#removed + Math.max(0, cursorToNumber(after) - this.#lowWatermark);
    const messages: StoredMessage[] = [];
    let bytes = 0;
    for (let index = first; index < this.#messages.length && messages.length < maxMessages; index++) {
      const message = this.#messages[index]!;
      bytes += message.bytes;
      if (bytes > maxBytes && messages.length > 0) break;
      messages.push(message);
    }
    return { ...bounds, messages };
  }

  seek(time: number): LogPosition {
    const { incarnation } = this.bounds();
    let low = this.#removed;
    let high = this.#messages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#messages[middle]!.time < time) low = middle + 1;
      else high = middle;
    }
    return { incarnation, cursor: numberToCursor(this.#lowWatermark + low - this.#removed) };
  }

  /** Applies the retention and a size in bytes. The newest message may be larger. */
  trim(maxSize = Infinity): void {
    const { age, count, bytes } = this.#policy;
    const oldest = this.hasAge ? this.#now() - age : -Infinity;
    while (this.#count > 0) {
      const message = this.#messages[this.#removed]!;
      const isBeyond = this.#count > 1 && (this.#count > count || this.#dataBytes > bytes || this.size > maxSize);
      if (!isBeyond && message.time >= oldest) break;
      this.#messages[this.#removed++] = undefined;
      this.#lowWatermark++;
      this.#dataBytes -= message.bytes;
    }
    if (this.#removed * 2 <= this.#messages.length) return;
    this.#messages = this.#messages.slice(this.#removed);
    this.#removed = 0;
  }

  get #count(): number {
    return this.#messages.length - this.#removed;
  }

  #add({ type, data, bytes, trace }: NewMessage, time: number): Cursor {
    const cursor = numberToCursor(this.#lowWatermark + this.#count + 1);
    this.#messages.push({ cursor, type, data, bytes, time, ...(trace !== undefined && { trace }) });
    this.#dataBytes += bytes;
    return cursor;
  }

  #rememberId(id: string, remembered: RememberedId): void {
    this.#ids.set(id, remembered);
    this.#idBytes += id.length + ENTRY_OVERHEAD;
    if (this.#ids.size > MAX_IDS) this.#forgetIds(Infinity, 1);
  }

  #forgetIds(time: number, most = Infinity): void {
    const oldest = time - this.#policy.dedupe;
    for (const [id, remembered] of this.#ids) {
      if (remembered.time >= oldest || most-- === 0) return;
      this.#ids.delete(id);
      this.#idBytes -= id.length + ENTRY_OVERHEAD;
    }
  }
}
