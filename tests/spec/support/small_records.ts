// Records in memory that a test can look at, in a store of topics.

import type {
  DeleteRecordOptions,
  ListedRecord,
  RecordKey,
  RecordStore,
  SetRecordOptions,
  StoredRecord,
} from "@webfw/core/store";
import { SmallStore } from "./small_store.ts";

interface Kept extends ListedRecord<string> {
  readonly expires: number;
}

/** All that a store of records must have. */
export class SmallRecords implements RecordStore {
  readonly #kept = new Map<string, Kept>();
  #writes = 0;

  /** The records that have not expired. */
  get all(): readonly ListedRecord<string>[] {
    return [...this.#kept.values()].filter(({ expires }) => expires > Date.now());
  }

  async get(key: RecordKey): Promise<StoredRecord<string> | null> {
    return this.#find(key) ?? null;
  }

  async set(key: RecordKey, value: string, { expect, expiresIn }: SetRecordOptions<number>): Promise<string | null> {
    if (expect !== undefined && expect !== (this.#find(key)?.version ?? null)) return null;
    const version = `${++this.#writes}`;
    this.#kept.set(JSON.stringify(key), { key, value, version, expires: Date.now() + (expiresIn ?? Infinity) });
    return version;
  }

  async delete(key: RecordKey, { expect }: DeleteRecordOptions): Promise<boolean> {
    const kept = this.#find(key);
    if (kept && expect !== undefined && expect !== kept.version) return false;
    this.#kept.delete(JSON.stringify(key));
    return true;
  }

  async *list(prefix: RecordKey): AsyncGenerator<ListedRecord<string>> {
    yield* this.all.filter(({ key }) => prefix.every((part, index) => part === key[index]));
  }

  #find(key: RecordKey): ListedRecord<string> | undefined {
    return this.all.find((record) => JSON.stringify(record.key) === JSON.stringify(key));
  }
}

/** A store of topics with such records. */
export class StoreWithRecords extends SmallStore {
  readonly records: SmallRecords = new SmallRecords();

  openRecords(): Promise<SmallRecords> {
    return Promise.resolve(this.records);
  }
}
