/** Records as applications use them. */
import { checkOptions, type Duration, type OptionNames, quote, toMilliseconds } from "../base/options.ts";
import { countBytes, encodeData } from "../base/json_data.ts";
import type {
  DeleteRecordOptions,
  ListedRecord,
  ProcessStore,
  RecordKey,
  RecordStore,
  SetRecordOptions,
  StoredRecord,
} from "./record_store.ts";
import { type OpenWatches, PrefixReader, type RecordChange, RecordWatch } from "./record_watch.ts";

/** @ignore How records are watched. */
export interface WatchRecordOptions {
  /** Ends the watch when it is aborted. */
  signal?: AbortSignal;
}

const SET_OPTIONS: OptionNames<SetRecordOptions> = { expect: true, expiresIn: true };
const DELETE_OPTIONS: OptionNames<DeleteRecordOptions> = { expect: true };
const WATCH_OPTIONS: OptionNames<WatchRecordOptions> = { signal: true };

/** With what a store adds, it fits the 64 KiB of Deno KV. */
const MAX_VALUE_BYTES = 60 * 1024;
const MAX_PARTS = 16;
/** Stores limit keys, and some write them longer. */
const MAX_KEY_BYTES = 960;
const MAX_EXPIRY = 10 * 365 * 24 * 60 * 60 * 1000;

export interface RecordsContext {
  /** After a stop of the application it is another store. */
  readonly open: () => Promise<RecordStore>;
  readonly watches: OpenWatches;
  /** What is done before the store closes. */
  readonly closing?: Set<() => Promise<void>>;
  readonly processes?: () => ProcessStore;
  /** In milliseconds since 1970, by the clock of the store; by default this machine's. */
  readonly now?: () => number;
}

let partsOf: (records: Records) => { readonly context: RecordsContext; readonly space: string };

/**
 * Values by key, which all processes of the application share: for state that is no history. Get it
 * by `app.records` or `request.app.records`.
 *
 * A key is an array of 1 to 16 strings, none of them empty, with at most 960 bytes in UTF-8
 * together. A value is up to 60 KiB of JSON.
 *
 * Records are stored with the durable topics, if the application has any, or where the option
 * `topics`, `WEBFW_TOPICS` or Deno Deploy says. Otherwise they are in the memory of the process,
 * which its workers share: 128 MiB at most, beyond which records with `expiresIn` are dropped,
 * first those that expire first.
 *
 * To change a part of a value, read it, and set it with `expect`. If that returns null, another
 * process was quicker: read and set again. While the connection to a database is bad, null can also
 * follow your own write.
 *
 * @example A counter that several nodes share
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.post("/visits", async (request) => {
 *   const { records } = request.app;
 *   for (;;) {
 *     const entry = await records.get<number>(["visits"]);
 *     const visits = (entry?.value ?? 0) + 1;
 *     if (await records.set(["visits"], visits, { expect: entry?.version ?? null })) return { visits };
 *   }
 * });
 *
 * const visit = () => app.fetch(new Request("http://localhost/visits", { method: "POST" }));
 * const replies = await Promise.all([visit(), visit(), visit()]);
 * const bodies = await Promise.all(replies.map((reply) => reply.json()));
 * assertEquals(bodies.map(({ visits }) => visits).sort(), [1, 2, 3]);
 * await app.stop();
 * ```
 *
 * @category Records
 */
export class Records {
  readonly #context: RecordsContext;
  /** The first part of all keys. Records of the framework are in other spaces. */
  readonly #space: string;
  /** Of watched prefixes. */
  readonly #readers = new Map<string, PrefixReader>();

  static {
    partsOf = (records) => ({ context: records.#context, space: records.#space });
  }

  /**
   * Use `app.records`.
   *
   * @ignore
   */
  constructor(context: RecordsContext, space: string) {
    this.#context = context;
    this.#space = space;
  }

  /**
   * Reads a record.
   *
   * @returns The record; null if it is absent or has expired. The type of the value is not checked.
   * @throws {TypeError} If the key is malformed.
   * @throws {RangeError} If the key is too long.
   * @throws {Error} If the store cannot be opened, or does not answer for about 30 seconds.
   */
  async get<Value = unknown>(key: readonly string[]): Promise<StoredRecord<Value> | null> {
    const full = this.#toKey(key, "get the record");
    const record = await (await this.#context.open()).get(full);
    return record && toEntry(record);
  }

  /**
   * Sets a record. When the promise resolves, the record is stored.
   *
   * @param options The version that it must have, and when it expires.
   * @returns The new version; null if the record did not have the version of `expect`. A store
   * writes again when the connection breaks before its answer: then null can also mean that its
   * first write was stored. `get` shows it, if the value names its writer.
   * @throws {TypeError} If the key is malformed, JSON would drop or change a part of the value, or
   * an option is invalid.
   * @throws {RangeError} If the key or the value is too large, `expiresIn` is out of range, or the
   * memory is full of records without `expiresIn`.
   * @throws {Error} As for {@linkcode Records.get}: the record may be stored or not.
   *
   * @example One process gets the job
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const { records } = new App();
   * const claim = (name: string) => records.set(["job", "7"], name, { expect: null, expiresIn: "5m" });
   * const [first, second] = [await claim("Ada"), await claim("Grace")];
   * assertEquals([first !== null, second], [true, null]);
   * ```
   */
  async set(key: readonly string[], value: unknown, options: SetRecordOptions = {}): Promise<string | null> {
    const action = "set the record";
    const full = this.#toKey(key, action);
    checkOptions(options, SET_OPTIONS, action);
    const { expect, expiresIn } = options;
    checkVersion(expect, action, "the version of a record, or null");
    const write: SetRecordOptions<number> = {
      ...(expect !== undefined && { expect }),
      ...(expiresIn !== undefined && { expiresIn: toExpiry(expiresIn) }),
    };
    const json = encodeData(value, action);
    const bytes = countBytes(json);
    if (bytes > MAX_VALUE_BYTES) {
      throw new RangeError(
        `Cannot ${action}: the value has ${bytes} bytes of JSON, and at most ${MAX_VALUE_BYTES} are kept, keep what is large elsewhere and its address here`,
      );
    }
    return await (await this.#context.open()).set(full, json, write);
  }

  /**
   * Deletes a record. It may be absent.
   *
   * @returns Whether the record is absent now; false if it did not have the version of `expect`.
   * @throws {TypeError} If the key is malformed, or an option is invalid.
   * @throws {RangeError} If the key is too long.
   * @throws {Error} As for {@linkcode Records.get}: the record may be deleted or not.
   */
  async delete(key: readonly string[], options: DeleteRecordOptions = {}): Promise<boolean> {
    const action = "delete the record";
    const full = this.#toKey(key, action);
    checkOptions(options, DELETE_OPTIONS, action);
    const { expect } = options;
    if (expect === null) throw new TypeError(`Cannot ${action}: expect must be the version of a record, got null`);
    checkVersion(expect, action, "the version of a record");
    return await (await this.#context.open()).delete(full, expect === undefined ? {} : { expect });
  }

  /**
   * Lists records, in any order. One that is set or deleted meanwhile may be listed or not. In
   * memory the cost grows with the number of all records, elsewhere with that of the listed ones.
   *
   * @param prefix The first parts of the keys; `[]` for all records.
   * @throws {TypeError} If the prefix is malformed.
   * @throws {RangeError} If it is too long.
   * @throws {Error} As for {@linkcode Records.get}.
   *
   * @example The items of a cart
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const { records } = new App();
   * await records.set(["cart", "7", "tea"], 2);
   * await records.set(["cart", "8", "coffee"], 1);
   * const items = await Array.fromAsync(records.list<number>(["cart", "7"]));
   * assertEquals(items.map(({ key, value }) => [key, value]), [[["cart", "7", "tea"], 2]]);
   * ```
   */
  list<Value = unknown>(prefix: readonly string[]): AsyncGenerator<ListedRecord<Value>, void, void> {
    return this.#list(this.#toKey(prefix, "list the records", 0));
  }

  /**
   * Watches the records below a prefix, and that of the prefix itself: yields the present ones, in
   * any order, and then each one that is set, deleted or expires. Changes of this process are seen
   * at once, others within about a second; the more records there are, the later. Setting an equal
   * value, such as to renew `expiresIn`, is no change.
   *
   * A slow reader gets each record as it is when it reads: replaced values, and records that came
   * and went, are skipped. Each process keeps the records below a watched prefix in memory, once
   * for all of its watches. A watch ends with the loop over it, by the signal, and when the
   * application stops.
   *
   * @param prefix The first parts of the keys; `[]` for all records.
   * @throws {TypeError} If the prefix is malformed, or an option is invalid.
   * @throws {RangeError} If it is too long.
   *
   * @example A setting that takes effect at once
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const { records } = new App();
   * await records.set(["setting", "theme"], "light");
   * const seen: unknown[] = [];
   * for await (const { key, record } of records.watch<string>(["setting"])) {
   *   seen.push([key[1], record?.value]);
   *   if (record === null) break;
   *   if (record.value === "light") await records.set(["setting", "theme"], "dark");
   *   else await records.delete(["setting", "theme"]);
   * }
   * assertEquals(seen, [["theme", "light"], ["theme", "dark"], ["theme", undefined]]);
   * ```
   */
  watch<Value = unknown>(
    prefix: readonly string[],
    options: WatchRecordOptions = {},
  ): AsyncIterableIterator<RecordChange<Value>, void, void> & AsyncDisposable {
    const full = this.#toKey(prefix, "watch the records", 0);
    checkOptions(options, WATCH_OPTIONS, "watch the records");
    return new RecordWatch<Value>(this.#readerOf(full), this.#context.watches, options.signal);
  }

  #readerOf(prefix: RecordKey): PrefixReader {
    const name = JSON.stringify(prefix);
    const reader = this.#readers.get(name) ?? new PrefixReader(prefix, this.#context.open, () => {
      if (this.#readers.get(name) === reader) this.#readers.delete(name);
    });
    this.#readers.set(name, reader);
    return reader;
  }

  async *#list<Value>(prefix: RecordKey): AsyncGenerator<ListedRecord<Value>, void, void> {
    for await (const { key, ...record } of (await this.#context.open()).list(prefix)) {
      yield { key: key.slice(1), ...toEntry<Value>(record) };
    }
  }

  #toKey(key: readonly string[], action: string, least = 1): RecordKey {
    const isList = Array.isArray(key) && key.every((part) => typeof part === "string");
    if (!isList || !key.every((part) => part !== "" && part.isWellFormed())) {
      throw new TypeError(
        `Cannot ${action}: the key must be an array of strings, none of them empty or malformed, such as ["user", "7"]`,
      );
    }
    const bytes = key.reduce((sum, part) => sum + countBytes(part), 0);
    if (key.length >= least && key.length <= MAX_PARTS && bytes <= MAX_KEY_BYTES) return [this.#space, ...key];
    throw new RangeError(
      `Cannot ${action}: the key must have ${least} to ${MAX_PARTS} parts of at most ${MAX_KEY_BYTES} bytes together, got ${key.length} of ${bytes}`,
    );
  }
}

/** The framework's own records, apart from those of the application. */
export function recordsOf(records: Records, space: string): Records {
  return new Records(partsOf(records).context, space);
}

/** The time by which records expire, in milliseconds since 1970. */
export function timeOf(records: Records): number {
  return partsOf(records).context.now?.() ?? Date.now();
}

/** Runs an action each time before the store closes, which waits for it. */
export function beforeClose(records: Records, action: () => Promise<void>): void {
  partsOf(records).context.closing?.add(action);
}

/** Calls back when a record may have changed, if the store can. Calls may be missing. */
export async function hintsOf(records: Records, key: readonly string[], onChange: () => void): Promise<() => void> {
  const { context, space } = partsOf(records);
  const store = await context.open();
  return store.watch?.([space, ...key], onChange) ?? (() => {});
}

/** The name of this process for `hasProcessEnded`; undefined if it has none. */
export async function processNameOf(records: Records): Promise<string | undefined> {
  try {
    return await partsOf(records).context.processes?.().processName?.();
  } catch {
    // Then a lease ends by time alone.
    return undefined;
  }
}

/** Undefined if it is unknown. */
export async function hasProcessEnded(records: Records, name: string): Promise<boolean | undefined> {
  try {
    return await partsOf(records).context.processes?.().hasEnded?.(name);
  } catch {
    return undefined;
  }
}

function toEntry<Value>({ value, version }: StoredRecord<string>): StoredRecord<Value> {
  return { value: JSON.parse(value), version };
}

function checkVersion(expect: unknown, action: string, what: string): void {
  if (expect === undefined || expect === null || typeof expect === "string") return;
  throw new TypeError(`Cannot ${action}: expect must be ${what}, got ${quote(expect)}`);
}

function toExpiry(expiresIn: Duration): number {
  const ms = toMilliseconds(expiresIn, "the expiresIn of the record");
  if (ms <= MAX_EXPIRY) return ms;
  throw new RangeError(
    `Cannot set the expiresIn of the record: it is ten years at most, got ${quote(expiresIn)}`,
  );
}
