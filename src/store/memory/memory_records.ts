/** Records in the memory of the process. */
import type {
  DeleteRecordOptions,
  ListedRecord,
  RecordKey,
  RecordStore,
  SetRecordOptions,
  StoredRecord,
} from "../record_store.ts";
import { Watchers } from "../topic_store.ts";

const MAX_BYTES = 128 * 1024 * 1024;
/** The memory of an entry besides its strings: measured with 100,000 short ones. */
const ENTRY_BYTES = 500;
/** How many entries each write examines, so that no timer is needed. */
const SWEPT = 2;
/** The part of the memory that is freed when it is full: finding the records takes long. */
const FREED_PART = 1 / 16;

interface Entry extends ListedRecord<string> {
  /** In milliseconds since 1970. */
  readonly expires: number;
}

export interface MemoryRecordsOptions {
  /**
   * The limit of all records together in bytes, estimated. Beyond that, records with an expiry are
   * dropped, first those that expire first.
   *
   * @default {134_217_728} 128 MiB
   */
  maxBytes?: number;
  now?: () => number;
}

export class MemoryRecords implements RecordStore {
  readonly #maxBytes: number;
  readonly #now: () => number;
  /** By key as JSON. */
  readonly #entries = new Map<string, Entry>();
  readonly #watchers = new Watchers();
  /** Versions of other stores do not begin with it. */
  readonly #prefix = crypto.randomUUID().slice(0, 8);
  #writes = 0;
  #bytes = 0;
  /** Iterates over the entries again and again. */
  #sweep: Iterator<[string, Entry]> = this.#entries.entries();
  #isClosed = false;

  constructor({ maxBytes = MAX_BYTES, now = Date.now }: MemoryRecordsOptions = {}) {
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  async get(key: RecordKey): Promise<StoredRecord<string> | null> {
    const entry = this.#find(toName(key));
    return entry ? { value: entry.value, version: entry.version } : null;
  }

  /** @throws {RangeError} If the memory is full of records without an expiry. */
  async set(
    key: RecordKey,
    value: string,
    { expect, expiresIn = Infinity }: SetRecordOptions<number>,
  ): Promise<string | null> {
    const name = toName(key);
    const earlier = this.#find(name);
    if (expect !== undefined && expect !== (earlier?.version ?? null)) return null;
    const version = `${this.#prefix}-${++this.#writes}`;
    const entry: Entry = { key: [...key], value, version, expires: this.#now() + expiresIn };
    this.#makeRoom(sizeOf(name, entry) - (earlier ? sizeOf(name, earlier) : 0), name);
    this.#remove(name);
    this.#entries.set(name, entry);
    this.#bytes += sizeOf(name, entry);
    this.#watchers.callUpTo(key);
    return version;
  }

  async delete(key: RecordKey, { expect }: DeleteRecordOptions): Promise<boolean> {
    const name = toName(key);
    if (expect !== undefined && this.#find(name)?.version !== expect) return false;
    this.#assertOpen();
    this.#remove(name);
    this.#watchers.callUpTo(key);
    return true;
  }

  async *list(prefix: RecordKey): AsyncGenerator<ListedRecord<string>> {
    this.#assertOpen();
    const now = this.#now();
    for (const { key, value, version, expires } of [...this.#entries.values()]) {
      if (expires > now && prefix.every((part, index) => key[index] === part)) yield { key, value, version };
    }
  }

  watch(key: RecordKey, onChange: () => void): () => void {
    return this.#watchers.add(toName(key), onChange);
  }

  close(): void {
    this.#isClosed = true;
    this.#entries.clear();
    this.#watchers.clear();
  }

  #find(name: string): Entry | undefined {
    this.#assertOpen();
    const entry = this.#entries.get(name);
    if (!entry || entry.expires > this.#now()) return entry;
    this.#remove(name);
    return undefined;
  }

  #remove(name: string): void {
    const entry = this.#entries.get(name);
    if (!entry) return;
    this.#entries.delete(name);
    this.#bytes -= sizeOf(name, entry);
  }

  #makeRoom(bytes: number, name: string): void {
    const now = this.#now();
    for (let step = 0; step < SWEPT; step++) {
      const { value, done } = this.#sweep.next();
      if (done) this.#sweep = this.#entries.entries();
      else if (value[1].expires <= now) this.#remove(value[0]);
    }
    if (this.#bytes + bytes <= this.#maxBytes) return;
    const expiring = [...this.#entries].filter(([other, { expires }]) => expires < Infinity && other !== name);
    expiring.sort(([, one], [, other]) => one.expires - other.expires);
    const target = this.#maxBytes * (1 - FREED_PART) - bytes;
    for (const [other, { expires }] of expiring) {
      if (this.#bytes <= target && expires > now) break;
      this.#remove(other);
    }
    if (this.#bytes + bytes <= this.#maxBytes) return;
    throw new RangeError(
      `Cannot set the record: the memory is full with ${this.#maxBytes} bytes of records, give records expiresIn, or keep them in a database by the option topics of the App`,
    );
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error("Cannot use the records: their store is closed");
  }
}

function toName(key: RecordKey): string {
  return JSON.stringify(key);
}

/** The engine stores a character in one byte or in two. The key is there twice. */
function sizeOf(name: string, { value }: Entry): number {
  return ENTRY_BYTES + 4 * name.length + 2 * value.length;
}
