import type { RecordStore } from "../../src/store/record_store.ts";
import type {
  AppendOptions,
  AppendResult,
  Cursor,
  LogBounds,
  LogPage,
  LogPosition,
  LogRef,
  NewMessage,
  ReadLimits,
  StoreCapabilities,
  TopicStore,
} from "../../src/store/topic_store.ts";

/** Functions that a store calls at certain moments. Each may throw, or delay the store. */
export interface Faults {
  /** Before messages reach the store. */
  beforeAppend?: (messages: readonly NewMessage[], options: AppendOptions) => Promise<void> | void;
  /** After they were stored, before the reply. */
  afterAppend?: () => Promise<void> | void;
  /** Before a log is read. */
  beforeRead?: () => Promise<void> | void;
  /** After a log was read, before the reply. */
  afterRead?: () => Promise<void> | void;
  /** Before the bounds of a log are read. */
  beforeBounds?: () => Promise<void> | void;
  /** After the bounds were read, before the reply. */
  afterBounds?: () => Promise<void> | void;
}

/** A store in front of another one. It fails as a test says, and counts calls. */
export class FaultyStore implements TopicStore {
  /** The store that does the work; a test may replace it. */
  inner: TopicStore;
  /** The present faults. */
  faults: Faults = {};
  /** How often logs were read. */
  reads = 0;
  /** The sizes of the batches that were appended. */
  readonly batches: number[] = [];
  /** The present watches of logs. */
  readonly watchers = new Set<() => void>();

  constructor(inner: TopicStore) {
    this.inner = inner;
  }

  get capabilities(): StoreCapabilities {
    return this.inner.capabilities;
  }

  async bounds(log: LogRef): Promise<LogBounds> {
    await this.faults.beforeBounds?.();
    const bounds = await this.inner.bounds(log);
    await this.faults.afterBounds?.();
    return bounds;
  }

  async append(log: LogRef, messages: readonly NewMessage[], options: AppendOptions = {}): Promise<AppendResult> {
    this.batches.push(messages.length);
    await this.faults.beforeAppend?.(messages, options);
    const result = await this.inner.append(log, messages, options);
    await this.faults.afterAppend?.();
    return result;
  }

  async read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    this.reads++;
    await this.faults.beforeRead?.();
    const page = await this.inner.read(log, after, limits);
    await this.faults.afterRead?.();
    return page;
  }

  seek(log: LogRef, time: Date): Promise<LogPosition> {
    return this.inner.seek(log, time);
  }

  watch(log: LogRef, wake: () => void): () => void {
    this.watchers.add(wake);
    const unwatch = this.inner.watch(log, wake);
    return () => {
      this.watchers.delete(wake);
      unwatch();
    };
  }

  async openRecords(): Promise<RecordStore> {
    if (this.inner.openRecords) return await this.inner.openRecords();
    throw new TypeError("Cannot open the records: the store has none");
  }

  async trim(log: LogRef): Promise<LogBounds> {
    return await (this.inner.trim ? this.inner.trim(log) : this.inner.bounds(log));
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
