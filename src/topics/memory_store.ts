/** Topics in the memory of the process. */
import { MemoryLog } from "./memory_log.ts";
import type {
  AppendOptions,
  AppendResult,
  Cursor,
  LogBounds,
  LogPage,
  LogPlace,
  LogRef,
  NewMessage,
  ReadLimits,
  StoreCapabilities,
  TopicStore,
} from "./store.ts";

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
  async seek(ref: LogRef, time: Date): Promise<LogPlace> {
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
