import {
  type AppendOptions,
  type AppendResult,
  type Cursor,
  LOG_START,
  type LogBounds,
  type LogPage,
  type LogPolicy,
  type LogPosition,
  type LogRef,
  type NewMessage,
  type ReadLimits,
  type StoreCapabilities,
  type StoredMessage,
  toGeneratedId,
  type TopicStore,
} from "./store.ts";

/** The log of one topic in memory. */

/** The most ids that are remembered, so that many messages in a short time do not fill the memory. */
const MAX_IDS = 100_000;
/** What a log takes besides its messages, and a message or an id besides its text: rounded up from what V8 needs. */
const LOG_OVERHEAD = 1024;
const ENTRY_OVERHEAD = 256;

/** The message of an id. */
interface Remembered {
  readonly cursor: Cursor;
  readonly time: number;
}

/**
 * Messages in the order of their numbers, which begin at 1 and have no holes. Reading and appending first let go of what has become
 * too old.
 */
export class MemoryLog {
  /** Whether messages have to be removed when nothing else happens. */
  readonly hasAge: boolean;
  readonly #policy: LogPolicy;
  readonly #incarnation = crypto.randomUUID().slice(0, 8);
  readonly #now: () => number;
  #messages: (StoredMessage | undefined)[] = [];
  /** How many at the beginning of the list have been removed. They are cut off in one go, since each cut moves the rest. */
  #removed = 0;
  /** The number of the newest message that was removed. */
  #lowWatermark = 0;
  #dataBytes = 0;
  #idBytes = 0;
  #newestTime = 0;
  readonly #ids = new Map<string, Remembered>();

  /** Makes an empty log. */
  constructor(policy: LogPolicy, now: () => number) {
    this.#policy = policy;
    this.hasAge = policy.age !== Infinity;
    this.#now = now;
  }

  /** About how much memory it takes. */
  get size(): number {
    return LOG_OVERHEAD + this.#dataBytes + this.#idBytes + this.#count * ENTRY_OVERHEAD;
  }

  /** Whether there are no messages. */
  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Where it begins and ends. */
  bounds(): LogBounds {
    this.trim();
    const head = this.#lowWatermark + this.#count;
    return {
      incarnation: this.#incarnation,
      lowWatermark: toCursor(this.#lowWatermark),
      highWatermark: toCursor(head),
    };
  }

  /** Appends messages, but for those whose id is remembered. */
  append(messages: readonly NewMessage[], { session, sequence, signal }: AppendOptions): AppendResult {
    // The clock may be set back; the order of the times is that of the messages all the same.
    const time = this.#newestTime = Math.max(this.#newestTime, this.#now());
    this.#forgetIds(time);
    const outcomes = messages.map((message, index) => {
      // Nobody can append a message without an id again who was told what became of it.
      const id = message.id ?? (signal && toGeneratedId(session, sequence + index));
      const known = id === undefined ? undefined : this.#ids.get(id);
      if (known) return { cursor: known.cursor, duplicate: true };
      const cursor = this.#add(message, time);
      if (id !== undefined) this.#remember(id, { cursor, time });
      return { cursor, duplicate: false };
    });
    this.trim();
    return { incarnation: this.#incarnation, outcomes };
  }

  /** Reads what comes after a place. */
  read(after: Cursor, { maxMessages, maxBytes }: ReadLimits): LogPage {
    const bounds = this.bounds();
    const first = this.#removed + Math.max(0, toNumber(after) - this.#lowWatermark);
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

  /** The place before the first message of a time. */
  seek(time: number): LogPosition {
    const { incarnation } = this.bounds();
    let low = this.#removed;
    let high = this.#messages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#messages[middle]!.time < time) low = middle + 1;
      else high = middle;
    }
    return { incarnation, cursor: toCursor(this.#lowWatermark + low - this.#removed) };
  }

  /**
   * Removes what the policy does not keep, and what is beyond a size.
   *
   * @param maxSize The most memory it may take. The newest message is kept, whatever its size.
   */
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

  #add({ type, data, bytes }: NewMessage, time: number): Cursor {
    const cursor = toCursor(this.#lowWatermark + this.#count + 1);
    this.#messages.push({ cursor, type, data, bytes, time });
    this.#dataBytes += bytes;
    return cursor;
  }

  #remember(id: string, remembered: Remembered): void {
    this.#ids.set(id, remembered);
    this.#idBytes += id.length + ENTRY_OVERHEAD;
    if (this.#ids.size > MAX_IDS) this.#forgetIds(Infinity, 1);
  }

  /** Forgets ids from before the window that ends at a time, the oldest first. */
  #forgetIds(time: number, most = Infinity): void {
    const oldest = time - this.#policy.dedupe;
    for (const [id, remembered] of this.#ids) {
      if (remembered.time >= oldest || most-- === 0) return;
      this.#ids.delete(id);
      this.#idBytes -= id.length + ENTRY_OVERHEAD;
    }
  }
}

function toCursor(number: number): Cursor {
  return number.toString(16).padStart(LOG_START.length, "0");
}

/** Of a cursor that nobody was given, it may be larger than any number of a message. */
function toNumber(cursor: Cursor): number {
  return Number.parseInt(cursor, 16);
}

/** Topics in the memory of the process. */

const MIB = 1024 * 1024;

/** How much memory all logs take together, unless told otherwise. */
const MAX_BYTES = 256 * MIB;

/** How often logs are searched for messages that have become too old: they are gone within 30 s. */
const SWEEP_INTERVAL = 10_000;

/** What stores in memory can do. */
export const MEMORY_CAPABILITIES: StoreCapabilities = {
  durability: "memory",
  maxMessageBytes: MIB,
  maxBatchMessages: 1000,
  maxBatchIds: 1000,
  maxBatchBytes: 8 * MIB,
};

/** How a store in memory is made. */
export interface MemoryStoreOptions {
  /**
   * How many bytes all logs take together. Beyond that, whole logs are dropped, those first that were not appended to for longest.
   *
   * @default {268435456} 256 MiB
   */
  maxBytes?: number;
  /** The time in milliseconds since 1970. */
  now?: () => number;
}

/** Keeps logs for as long as the process lives, or until it is closed. */
export class MemoryStore implements TopicStore {
  /** What it can do. */
  readonly capabilities: StoreCapabilities = MEMORY_CAPABILITIES;
  readonly #maxBytes: number;
  readonly #now: () => number;
  /** By name, the one that was appended to last at the end. */
  readonly #logs = new Map<string, MemoryLog>();
  readonly #watchers = new Map<string, Set<() => void>>();
  #bytes = 0;
  #sweeping: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** Makes a store without logs. */
  constructor({ maxBytes = MAX_BYTES, now = Date.now }: MemoryStoreOptions = {}) {
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  /** Where a log begins and ends. */
  async bounds(ref: LogRef): Promise<LogBounds> {
    return this.#use(ref, (log) => log.bounds());
  }

  /** Appends messages. It never fails half-way, and a signal comes too late for it. */
  async append(ref: LogRef, messages: readonly NewMessage[], options: AppendOptions): Promise<AppendResult> {
    const result = this.#use(ref, (log) => {
      // Goes to the end of the logs.
      this.#logs.delete(ref.name);
      this.#logs.set(ref.name, log);
      if (log.hasAge) this.#sweeping ??= this.#armSweep();
      return log.append(messages, options);
    });
    for (const wake of this.#watchers.get(ref.name) ?? []) wake();
    return result;
  }

  /** Reads what comes after a place. */
  async read(ref: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return this.#use(ref, (log) => log.read(after, limits));
  }

  /** The place before the first message of a time. */
  async seek(ref: LogRef, time: Date): Promise<LogPosition> {
    return this.#use(ref, (log) => log.seek(time.getTime()));
  }

  /** Calls back after each append. */
  watch({ name }: LogRef, wake: () => void): () => void {
    const watchers = this.#watchers.get(name) ?? new Set();
    this.#watchers.set(name, watchers);
    watchers.add(wake);
    return () => {
      watchers.delete(wake);
      if (watchers.size === 0 && this.#watchers.get(name) === watchers) this.#watchers.delete(name);
    };
  }

  /** Removes what the policy does not keep. */
  async trim(ref: LogRef): Promise<LogBounds> {
    return await this.bounds(ref);
  }

  /** Forgets everything. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#sweeping);
    this.#logs.clear();
    this.#watchers.clear();
  }

  /** Does something with a log, and keeps count of the memory that it takes. */
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

  /** Drops the other logs, and if that is not enough the oldest messages of this one. */
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

  #armSweep(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => this.#sweep(), SWEEP_INTERVAL);
    // It frees memory; it must not keep a program alive.
    Deno.unrefTimer(timer);
    return timer;
  }

  /** Whoever reads, reads nothing that is too old in any case. This is for topics that nobody uses. */
  #sweep(): void {
    let isNeeded = false;
    for (const log of this.#logs.values()) {
      if (!log.hasAge) continue;
      this.#bytes -= log.size;
      log.trim();
      this.#bytes += log.size;
      isNeeded ||= !log.isEmpty;
    }
    this.#sweeping = isNeeded ? this.#armSweep() : undefined;
  }
}
