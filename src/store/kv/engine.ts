/** A key-value database as the store needs it, and by Deno's own client. All values are bytes. */
import type { StoreConnection } from "../store_connection.ts";

export const KEYS_PER_READ = 10;

/** Entries are sorted by the parts of their keys. */
export type KvKey = readonly string[];

export interface KvEntry {
  readonly key: KvKey;
  readonly value: Uint8Array;
  /** 20 lower-case hexadecimal digits, which increase with each write of the database. */
  readonly version: string;
}

/** The entry has not changed since it was read. */
export interface KvCheck {
  readonly key: KvKey;
  /** Null: the entry must be absent. */
  readonly version: string | null;
}

export interface KvSet {
  readonly key: KvKey;
  readonly value: Uint8Array;
  /** The database removes the entry some time after so many milliseconds. */
  readonly expireIn?: number;
}

/** A write, which is carried out as a whole if all checks hold. */
export interface KvWrite {
  /** At most 10. */
  readonly checks?: readonly KvCheck[];
  readonly sets?: readonly KvSet[];
  readonly deletes?: readonly KvKey[];
  /** An entry whose key is the prefix and the version of this write. */
  readonly append?: { readonly prefix: KvKey; readonly value: Uint8Array };
}

/** One entry, or the first ones between two keys, of which `to` is excluded. */
export type KvRange = { readonly key: KvKey } | { readonly from: KvKey; readonly to: KvKey; readonly limit: number };

export interface KvEngine {
  /** In milliseconds since 1970. A file has this machine's time. */
  now?(): number;
  refreshClock?(): Promise<unknown> | undefined;
  /** Reads at most {@linkcode KEYS_PER_READ} entries at one moment, in the order of the keys. */
  get(keys: readonly KvKey[]): Promise<(KvEntry | undefined)[]>;
  /** At most 500 entries at one moment, in the order of their keys. `to` is excluded. */
  list(from: KvKey, to: KvKey, limit: number): Promise<KvEntry[]>;
  /** Reads at most {@linkcode KEYS_PER_READ} ranges at one moment. Engines of files lack it. */
  read?(ranges: readonly KvRange[]): Promise<KvEntry[][]>;
  /** Returns the version of the write; undefined if a check does not hold. */
  write(write: KvWrite): Promise<string | undefined>;
  /** Yields at most 10 entries now and after changes. It may skip values that are soon replaced. */
  watch(keys: readonly KvKey[]): AsyncIterable<(KvEntry | undefined)[]>;
  /** The database may carry out a pending write at any later time. */
  close(): void;
}

export type KvConnection = StoreConnection<KvEngine>;

export function toEngine(kv: Deno.Kv): KvEngine {
  return {
    get: async (keys) => (await kv.getMany<unknown[]>(keys)).map(toEntry),
    list: async (start, end, limit) => {
      const entries: KvEntry[] = [];
      for await (const entry of kv.list({ start, end }, { limit, batchSize: limit })) entries.push(toEntry(entry)!);
      return entries;
    },
    write: async ({ checks = [], sets = [], deletes = [], append }) => {
      const operation = kv.atomic();
      for (const { key, version } of checks) operation.check({ key, versionstamp: version });
      for (const { key, value, expireIn } of sets) {
        operation.set(key, value, expireIn === undefined ? {} : { expireIn });
      }
      for (const key of deletes) operation.delete(key);
      if (append) operation.set([...append.prefix, kv.commitVersionstamp()], append.value);
      const result = await operation.commit();
      return result.ok ? result.versionstamp : undefined;
    },
    watch: (keys) => watchEntries(kv.watch<unknown[]>(keys)),
    close: () => kv.close(),
  };
}

export async function* watchEntries(
  changes: ReadableStream<Deno.KvEntryMaybe<unknown>[]>,
): AsyncGenerator<(KvEntry | undefined)[]> {
  for await (const entries of changes) yield entries.map(toEntry);
}

function toEntry({ key, value, versionstamp }: Deno.KvEntryMaybe<unknown>): KvEntry | undefined {
  if (versionstamp === null) return undefined;
  if (!(value instanceof Uint8Array)) throw toForeignEntryError(key);
  return { key: key.map(String), value, version: versionstamp };
}

export function toForeignEntryError(key: Deno.KvKey): TypeError {
  return new TypeError(`Cannot read the store of topics: something else has written the key "${key.join(" ")}"`);
}

export function inParts<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, part) => items.slice(part * size, (part + 1) * size),
  );
}
