/** Records in Deno KV, beside the logs of topics. */
import type { ListedRecord, RecordKey, RecordStore, StoredRecord } from "../record_store.ts";
import { Watchers } from "../topic_store.ts";
import type { KvEntry, KvKey, KvWrite } from "./engine.ts";
import { checkOf, type Incarnation, type Incarnations, logIncarnationOf } from "./incarnation.ts";
import { decodeValue, encodeValue, keyOfRecord, recordKey } from "./keys.ts";

/** After so many refusals, check that the incarnation still has its fencing token. */
const REFUSALS_BEFORE_CHECK = 4;
/** How many entries are read first, to learn how large they are, and later at most. */
const FIRST_PAGE = 10;
const MAX_PAGE = 200;
const PAGE_BYTES = 1024 * 1024;

/**
 * The incarnation, since a database that is created again repeats versions; the version of the
 * entry; and when the record expires: the database may still have an expired one.
 */
const VERSION = /^([0-9a-f]{8})-([0-9a-f]{20})(?:-(\d{1,15}))?$/;

interface WrittenVersion {
  readonly incarnation: string;
  readonly version: string;
}

interface ExpectedVersion extends WrittenVersion {
  /** In milliseconds since 1970. */
  readonly expires: number;
}

/**
 * Stores records in a database.
 *
 * The database may carry out an abandoned write at any later time. So each write checks the version
 * that it replaces, even if its caller expects none.
 */
export class KvRecords implements RecordStore {
  readonly #incarnations: Incarnations;
  readonly #now: () => number;
  readonly #watchers = new Watchers();
  #refusals = 0;

  constructor(incarnations: Incarnations, now: () => number) {
    this.#incarnations = incarnations;
    this.#now = now;
  }

  readonly get: RecordStore["get"] = async (key) => {
    const { incarnation, entries: [entry] } = await this.#incarnations.get([recordKey(key)]);
    return entry ? this.#toRecord(entry, incarnation) : null;
  };

  readonly set: RecordStore["set"] = async (key, value, { expect, expiresIn }) => {
    const kvKey = recordKey(key);
    const expires = expiresIn === undefined ? Infinity : Math.ceil(this.#now() + expiresIn);
    const set = {
      key: kvKey,
      value: encodeValue(value, expires),
      ...(expiresIn !== undefined && { expireIn: expiresIn }),
    };
    const version = await this.#change(kvKey, { sets: [set] }, expect);
    if (version === undefined) return null;
    this.#watchers.callUpTo(key);
    return toVersion({ ...version, expires });
  };

  readonly delete: RecordStore["delete"] = async (key, { expect }) => {
    const kvKey = recordKey(key);
    const version = await this.#change(kvKey, { deletes: [kvKey] }, expect);
    if (version !== undefined) this.#watchers.callUpTo(key);
    return version !== undefined;
  };

  async *list(prefix: RecordKey): AsyncGenerator<ListedRecord<string>> {
    // If another incarnation has begun meanwhile, writes with these versions are refused.
    const incarnation = await this.#incarnations.current();
    let from = recordKey(prefix);
    const end = [...from.slice(0, -1), `${from.at(-1)}\0`];
    for (let limit = FIRST_PAGE;;) {
      const entries = await this.#incarnations.connection.use((engine) => engine.list(from, end, limit));
      for (const entry of entries) {
        const record = this.#toRecord(entry, incarnation);
        if (record) yield { key: keyOfRecord(entry.key), ...record };
      }
      if (entries.length < limit) return;
      // No part of a key is empty, so this comes before all keys that begin with the key.
      from = [...entries.at(-1)!.key, ""];
      const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
      limit = Math.max(1, Math.min(MAX_PAGE, Math.floor(PAGE_BYTES * entries.length / bytes)));
    }
  }

  /** Calls back after the writes of this process. */
  watch(key: RecordKey, onChange: () => void): () => void {
    return this.#watchers.add(JSON.stringify(key), onChange);
  }

  #toRecord(entry: KvEntry, incarnation: Incarnation): StoredRecord<string> | null {
    const { value, expires } = decodeValue(entry.value);
    if (expires <= this.#now()) return null;
    return { value, version: toVersion({ incarnation: tagOf(incarnation), version: entry.version, expires }) };
  }

  /** Returns the version of the write; undefined if the entry is not as expected. */
  async #change(key: KvKey, write: KvWrite, expect: string | null | undefined): Promise<WrittenVersion | undefined> {
    if (typeof expect === "string") {
      const expected = parseVersion(expect);
      const incarnation = await this.#incarnations.current();
      const isPossible = expected?.incarnation === tagOf(incarnation) && expected.expires > this.#now();
      return isPossible ? await this.#write(key, write, expected.version, incarnation) : undefined;
    }
    if (expect === null) {
      // Mostly it is absent. Otherwise this attempt is refused.
      const written = await this.#write(key, write, null, await this.#incarnations.current());
      if (written) return written;
    }
    for (;;) {
      const { incarnation, entries: [entry] } = await this.#incarnations.get([key]);
      if (expect === null && entry && this.#toRecord(entry, incarnation)) return undefined;
      const written = await this.#write(key, write, entry?.version ?? null, incarnation);
      if (written) return written;
    }
  }

  async #write(
    key: KvKey,
    write: KvWrite,
    expected: string | null,
    incarnation: Incarnation,
  ): Promise<WrittenVersion | undefined> {
    const { newestVersion, newestRecord } = incarnation;
    const checks = [checkOf(incarnation), { key, version: expected }];
    const version = await this.#incarnations.connection.use(
      (engine) => engine.write({ ...write, checks }),
      undefined,
      "write",
    );
    if (version === undefined) {
      if (++this.#refusals % REFUSALS_BEFORE_CHECK === 0) await this.#incarnations.confirm(incarnation, undefined);
      return undefined;
    }
    this.#refusals = 0;
    if (version > incarnation.newestRecord) incarnation.newestRecord = version;
    // The database was restored from a backup: it would repeat versions.
    if (version < newestVersion || version < newestRecord) await this.#incarnations.renew(incarnation);
    return { incarnation: tagOf(incarnation), version };
  }
}

function tagOf(incarnation: Incarnation): string {
  return logIncarnationOf("", incarnation);
}

function toVersion({ incarnation, version, expires }: ExpectedVersion): string {
  return expires === Infinity ? `${incarnation}-${version}` : `${incarnation}-${version}-${expires}`;
}

function parseVersion(text: string): ExpectedVersion | undefined {
  const [, incarnation, version, expires] = VERSION.exec(text) ?? [];
  if (incarnation === undefined || version === undefined) return undefined;
  return { incarnation, version, expires: expires === undefined ? Infinity : Number(expires) };
}
