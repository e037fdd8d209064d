/**
 * A store of records: values by key, each with a version. Processes that share it change a record
 * only if it has the version that they have read (compare and set).
 */
import type { Duration } from "../base/options.ts";

/** The part of a store that knows which processes have ended. */
export interface ProcessStore {
  /** The name by which others ask whether this process has ended. Undefined if they cannot. */
  processName?(): Promise<string | undefined>;

  /**
   * Whether a process has ended; undefined if that is unknown. An ended process holds no lease. A
   * process that lives may have a blocked thread, and let its lease expire.
   */
  hasEnded?(processName: string): Promise<boolean | undefined>;
}

/** The key of a record: strings, of which the first ones name the kind of record. */
export type RecordKey = readonly string[];

/**
 * A record: a value, and the version that a write gave it.
 *
 * A {@linkcode RecordStore} has the value as JSON.
 *
 * @category Records
 */
export interface StoredRecord<Value = unknown> {
  /** What was set. */
  readonly value: Value;
  /**
   * Identifies one write: no later one of the key has it, even if the record was deleted or the
   * store lost. As `expect`, it makes a write fail if another one came first.
   */
  readonly version: string;
}

/**
 * A record of a list.
 *
 * @category Records
 */
export interface ListedRecord<Value = unknown> extends StoredRecord<Value> {
  /** Its key. */
  readonly key: readonly string[];
}

/**
 * How a record is set. A {@linkcode RecordStore} gets `expiresIn` in milliseconds.
 *
 * @category Records
 */
export interface SetRecordOptions<Expiry = Duration> {
  /** Null: the record must be absent. By default it is not checked. */
  expect?: string | null;
  /** When the record expires, by the clock of the store: in ten years at most, by default never. */
  expiresIn?: Expiry;
}

/**
 * How a record is deleted.
 *
 * @category Records
 */
export interface DeleteRecordOptions {
  /** The version that the record must have. By default it is deleted in any case. */
  expect?: string;
}

/**
 * A store of records. `tests/contract/record_store.ts` tests what every store must do.
 *
 * A key has 1 to 17 parts, none of them empty, with at most 1,024 bytes in UTF-8 together. A value
 * has at most 61,440 bytes.
 *
 * A store retries after temporary failures such as a lost connection. A method that rejects has
 * stopped retrying, and its write may have been carried out or not. A write that is carried out
 * late must not undo a later one.
 */
export interface RecordStore {
  /** Null if it is absent. It sees every write that has resolved before. */
  get(key: RecordKey): Promise<StoredRecord<string> | null>;

  /**
   * Writes a record.
   *
   * @returns Its new version; null if it was not as expected. A write whose reply was lost may have
   * been carried out, and refused when it was repeated.
   */
  set(key: RecordKey, value: string, options: SetRecordOptions<number>): Promise<string | null>;

  /** Deletes a record. Resolves to whether it is absent now; false if it was not as expected. */
  delete(key: RecordKey, options: DeleteRecordOptions): Promise<boolean>;

  /** Lists records in any order. One that is written or deleted meanwhile may be missing. */
  list(prefix: RecordKey): AsyncIterable<ListedRecord<string>>;

  /**
   * Calls back when a record with this key, or below it, may have changed. The call is a hint: it
   * may be missing, late or without a reason. Watched records are read each second anyway.
   *
   * @returns Ends the calls.
   */
  watch?(key: RecordKey, onChange: () => void): () => void;
}
