/** Follows one record: reads it when its store says that it has changed, and each second. */
import type { RecordKey, RecordStore, StoredRecord } from "./record_store.ts";

/** How often the record is read, in milliseconds. */
const INTERVAL = 1_000;

/** The open watches of an application, which it closes when it stops. */
export interface OpenWatches {
  /** Whether a new watch is closed from the start. */
  readonly isEnding: () => boolean;
  readonly open: Set<{ close(): void }>;
}

interface RecordWatchOptions<Entry> {
  readonly open: () => Promise<RecordStore>;
  readonly watches: OpenWatches;
  readonly signal: AbortSignal | undefined;
  readonly convert: (record: StoredRecord) => Entry;
}

/** Yields a record now and after each change. */
export class RecordWatch<Entry> implements AsyncIterableIterator<Entry | null, void, void> {
  readonly #key: RecordKey;
  readonly #options: RecordWatchOptions<Entry>;
  readonly #close = (): void => this.close();
  /** The version that was yielded last; undefined before the first one. */
  #version: string | null | undefined;
  #unwatch: (() => void) | undefined;
  #isChanged = true;
  #isClosed = false;
  #wake: (() => void) | undefined;
  /** The reads that were asked for so far: each begins after the one before. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(key: RecordKey, options: RecordWatchOptions<Entry>) {
    this.#key = key;
    this.#options = options;
    const { signal, watches } = options;
    this.#isClosed = watches.isEnding() || signal?.aborted === true;
    if (this.#isClosed) return;
    watches.open.add(this);
    signal?.addEventListener("abort", this.#close);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Entry | null, void>> {
    const next = this.#reading.then(() => this.#next());
    this.#reading = next.catch(() => {});
    return next;
  }

  async return(): Promise<IteratorResult<Entry | null, void>> {
    this.close();
    return { done: true, value: undefined };
  }

  close(): void {
    this.#isClosed = true;
    const { signal, watches } = this.#options;
    watches.open.delete(this);
    signal?.removeEventListener("abort", this.#close);
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#wake?.();
  }

  async #next(): Promise<IteratorResult<Entry | null, void>> {
    try {
      while (!this.#isClosed) {
        const store = await this.#options.open();
        // It is watched before it is read, so that no change is missed.
        this.#unwatch ??= this.#isClosed ? undefined : store.watch?.(this.#key, () => this.#noteChange());
        this.#isChanged = false;
        const record = await store.get(this.#key);
        const version = record?.version ?? null;
        if (version !== this.#version && !this.#isClosed) {
          this.#version = version;
          return { done: false, value: record && this.#options.convert(record) };
        }
        await this.#wait();
      }
    } catch (error) {
      if (!this.#isClosed) {
        this.close();
        throw error;
      }
    }
    return { done: true, value: undefined };
  }

  #noteChange(): void {
    this.#isChanged = true;
    this.#wake?.();
  }

  /** Waits until the record is to be read again. */
  async #wait(): Promise<void> {
    if (this.#isChanged || this.#isClosed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, INTERVAL);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
