/**
 * What the store needs of a key-value database: Deno KV, by the client of Deno or that of `npm:@deno/kv`. All values are bytes, which
 * both keep as they are.
 */

/** How many entries a database gives at one moment by their keys. */
export const KEYS_PER_READ = 10;

/** A key: texts, in their order. */
export type KvKey = readonly string[];

/** An entry that is there. */
export interface KvEntry {
  /** Its key. */
  readonly key: KvKey;
  /** What it holds. */
  readonly value: Uint8Array;
  /** When it was written: 20 lower-case hexadecimal digits, which grow with each write of the whole database. */
  readonly version: string;
}

/** An entry that must still be as it was read. */
export interface KvCheck {
  /** Its key. */
  readonly key: KvKey;
  /** When it was written; null where there must be none. */
  readonly version: string | null;
}

/** An entry to write. */
export interface KvSet {
  /** Its key. */
  readonly key: KvKey;
  /** What it is to hold. */
  readonly value: Uint8Array;
  /** It is removed some time after so many milliseconds. */
  readonly expireIn?: number;
}

/** What is written at once, if all checks hold. */
export interface KvWrite {
  /** At most 10. */
  readonly checks?: readonly KvCheck[];
  /** Entries to write. */
  readonly sets?: readonly KvSet[];
  /** Entries to remove. */
  readonly deletes?: readonly KvKey[];
  /** An entry whose key ends with the version of this write. */
  readonly append?: { readonly prefix: KvKey; readonly value: Uint8Array };
}

/** A connection to a database. */
export interface KvEngine {
  /** The time in milliseconds since 1970 by its clock; without it, that is this machine's. */
  now?(): number;
  /** Asks for the time where it has become uncertain. Returns nothing where it is certain. */
  refreshClock?(): Promise<unknown> | undefined;
  /** Reads at most {@linkcode KEYS_PER_READ} entries at one moment, in the order of their keys. */
  get(keys: readonly KvKey[]): Promise<(KvEntry | undefined)[]>;
  /** Reads at most 500 entries at one moment, in order, from a key up to but without another one. */
  list(from: KvKey, to: KvKey, limit: number): Promise<KvEntry[]>;
  /** Writes, and gives the version; undefined where a check does not hold. */
  write(write: KvWrite): Promise<string | undefined>;
  /** Gives at most 10 entries now, and again when they change; it may leave out what they were in between. */
  watch(keys: readonly KvKey[]): AsyncIterable<(KvEntry | undefined)[]>;
  /** Ends it. What is still on its way may be written nevertheless, at any later time. */
  close(): void;
}

/** Uses a database by Deno's own client. */
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

/** The entries that a client reports on a watch. */
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

/** The error of an entry that the store has not written. */
export function toForeignEntryError(key: Deno.KvKey): TypeError {
  return new TypeError(`Cannot read the store of topics: something else has written the key "${key.join(" ")}"`);
}
