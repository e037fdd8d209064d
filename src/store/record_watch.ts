/** Watches of records: what changes below a prefix. */
import { detached } from "../log/log.ts";
import type { ListedRecord, RecordKey, RecordStore, StoredRecord } from "./record_store.ts";

/** How often a watched prefix is read, in milliseconds. */
const INTERVAL = 1_000;
/** The pause after a read, as a multiple of its duration. */
const REST = 4;

/**
 * A change of a watched record.
 *
 * @category Records
 */
export interface RecordChange<Value = unknown> {
  /** Its key. */
  readonly key: readonly string[];
  /** The record; null if it is absent: deleted or expired. */
  readonly record: StoredRecord<Value> | null;
}

/** The open watches of an application, which it closes when it stops. */
export interface OpenWatches {
  /** Then a new watch is closed from the start. */
  readonly isEnding: () => boolean;
  readonly open: Set<{ close(): void }>;
}

/** Yields each change once, as the record is then: nothing is queued for a slow reader. */
export class RecordWatch<Value> implements AsyncIterableIterator<RecordChange<Value>, void, void>, AsyncDisposable {
  readonly #reader: PrefixReader;
  readonly #watches: OpenWatches;
  readonly #signal: AbortSignal | undefined;
  readonly #close = (): void => this.close();
  /** The names of records to yield, those that changed first in front. */
  readonly #changed = new Set<string>();
  /** The names of records that the reader has, so that it gets their end. */
  readonly #yielded = new Set<string>();
  #isClosed: boolean;
  #failure: { readonly error: unknown } | undefined;
  /** The pending reads: each begins after the one before. */
  #reading: Promise<unknown> = Promise.resolve();
  /** Whether it has all records of a read that began after it. */
  isCurrent = false;

  constructor(reader: PrefixReader, watches: OpenWatches, signal: AbortSignal | undefined) {
    this.#reader = reader;
    this.#watches = watches;
    this.#signal = signal;
    this.#isClosed = watches.isEnding() || signal?.aborted === true;
    if (this.#isClosed) this.close();
    else {
      watches.open.add(this);
      signal?.addEventListener("abort", this.#close);
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<RecordChange<Value>, void>> {
    const next = this.#reading.then(() => this.#next());
    this.#reading = next.catch(() => {});
    return next;
  }

  async return(): Promise<IteratorResult<RecordChange<Value>, void>> {
    this.close();
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#watches.open.delete(this);
    this.#signal?.removeEventListener("abort", this.#close);
    this.#changed.clear();
    this.#yielded.clear();
    this.#reader.remove(this);
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.close();
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  add(names: Iterable<string>): void {
    for (const name of names) {
      if (this.#reader.records.has(name) || this.#yielded.has(name)) this.#changed.add(name);
      else this.#changed.delete(name);
    }
  }

  async #next(): Promise<IteratorResult<RecordChange<Value>, void>> {
    while (!this.#isClosed) {
      const [name] = this.#changed;
      if (name === undefined) {
        await this.#reader.wait(this);
        continue;
      }
      this.#changed.delete(name);
      const found = this.#reader.records.get(name);
      if (found) this.#yielded.add(name);
      else this.#yielded.delete(name);
      const record = found ? { value: JSON.parse(found.value), version: found.version } : null;
      return { done: false, value: { key: (JSON.parse(name) as RecordKey).slice(1), record } };
    }
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw failure.error;
    return { done: true, value: undefined };
  }
}

type AnyWatch = RecordWatch<unknown>;

/** Reads the records below a prefix for all watches of it, while one of them waits. */
export class PrefixReader {
  /** By key as JSON. */
  records: ReadonlyMap<string, ListedRecord<string>> = new Map();
  readonly #prefix: RecordKey;
  readonly #open: () => Promise<RecordStore>;
  readonly #onUnused: () => void;
  readonly #watches = new Set<AnyWatch>();
  readonly #waiting = new Map<AnyWatch, () => void>();
  #running: Promise<void> | undefined;
  #unwatch: (() => void) | undefined;
  #isChanged = true;
  /** When the next read may begin after a change, and without one, by `performance.now()`. */
  #soonest = 0;
  #latest = 0;
  #wake: (() => void) | undefined;

  constructor(prefix: RecordKey, open: () => Promise<RecordStore>, onUnused: () => void) {
    this.#prefix = prefix;
    this.#open = open;
    this.#onUnused = onUnused;
  }

  remove(watch: AnyWatch): void {
    this.#watches.delete(watch);
    this.#resolve(watch);
    if (this.#watches.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#wake?.();
    this.#onUnused();
  }

  /** Resolves when the watch has changes, or is closed. */
  async wait(watch: AnyWatch): Promise<void> {
    this.#watches.add(watch);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(watch, resolve);
    if (!watch.isCurrent) this.#onChange();
    // The read serves other watches, too.
    this.#running ??= detached(() => this.#run());
    await promise;
  }

  #onChange(): void {
    this.#isChanged = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        if (!this.#isChanged) await this.#restUntil(this.#latest);
        if (this.#isChanged) await this.#restUntil(this.#soonest);
        if (this.#waiting.size === 0) break;
        const begin = performance.now();
        this.#isChanged = false;
        await this.#read();
        const end = performance.now();
        this.#soonest = end + REST * (end - begin);
        this.#latest = Math.max(begin + INTERVAL, this.#soonest);
      }
    } catch (error) {
      for (const watch of [...this.#watches]) watch.fail(error);
    }
    this.#running = undefined;
  }

  async #read(): Promise<void> {
    const joined = new Set([...this.#watches].filter(({ isCurrent }) => !isCurrent));
    const store = await this.#open();
    // It is watched before it is read, so that no change is missed.
    if (this.#watches.size > 0) this.#unwatch ??= store.watch?.(this.#prefix, () => this.#onChange());
    const earlier = this.records;
    const records = new Map<string, ListedRecord<string>>();
    for await (const record of store.list(this.#prefix)) records.set(JSON.stringify(record.key), record);
    this.records = records;
    const changed = [...records.keys()].filter((name) => earlier.get(name)?.value !== records.get(name)!.value);
    const gone = [...earlier.keys()].filter((name) => !records.has(name));
    for (const watch of this.#watches) {
      if (joined.has(watch)) watch.isCurrent = true;
      if (watch.isCurrent) watch.add(joined.has(watch) ? records.keys() : [...changed, ...gone]);
      if (watch.hasChanges) this.#resolve(watch);
    }
  }

  #resolve(watch: AnyWatch): void {
    this.#waiting.get(watch)?.();
    this.#waiting.delete(watch);
  }

  async #restUntil(time: number): Promise<void> {
    const pause = time - performance.now();
    if (pause <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pause);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
