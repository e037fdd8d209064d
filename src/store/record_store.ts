/**
 * What records need of a store: values by key, each with a version. Several processes may share a
 * store, and change a record only if it is still as they have read it.
 */

/** What a store knows of the processes that share it. */
export interface ProcessStore {
  /**
   * A name of this process, of which other processes can ask whether it has ended. Undefined if
   * they cannot.
   */
  processName?(): Promise<string | undefined>;

  /**
   * Whether the process with a name has ended. If it certainly has, its lease need not be waited
   * for. If it certainly has not, it did not die where its lease has run out: its thread may be
   * blocked. Undefined if that is not known.
   */
  hasEnded?(processName: string): Promise<boolean | undefined>;
}

/** The key of a record: texts, of which the first ones say what kind of record it is. */
export type RecordKey = readonly string[];

/** A record as a store has it. */
export interface StoredRecord {
  /** The value as JSON. */
  readonly value: string;
  /**
   * Identifies what one write made. No later write of the key gets it again, also not after the
   * record was deleted, or the store was lost.
   */
  readonly version: string;
}

/** A record of a list. */
export interface ListedRecord extends StoredRecord {
  /** Its key. */
  readonly key: RecordKey;
}

/** How a record is written. */
export interface StoreWrite {
  /**
   * The version that the record must have; null if it must be absent. Undefined writes in any case.
   */
  readonly expect?: string | null | undefined;
  /**
   * After how many milliseconds the record is absent, by the clock of the store. Undefined keeps
   * it.
   */
  readonly expiresIn?: number | undefined;
}

/** How a record is deleted. */
export interface StoreDeletion {
  /** The version that the record must have. Undefined deletes in any case. */
  readonly expect?: string | undefined;
}

/**
 * Keeps records. `tests/contract/record_store.ts` tests what every store must do.
 *
 * A key has 1 to 17 parts, none of them empty, with at most 1,024 bytes in UTF-8 together. A value
 * has at most 61,440 bytes.
 *
 * A store retries by itself after temporary failures such as a lost connection. A method that
 * rejects has stopped trying, and its write may have been carried out or not. A write that is
 * carried out late must not undo a write that was made after it.
 */
export interface RecordStore {
  /** Reads a record; null if it is absent. It sees every write that had resolved before. */
  get(key: RecordKey): Promise<StoredRecord | null>;

  /**
   * Writes a record.
   *
   * @returns Its new version; null if it was not as expected. A write whose answer was lost may
   * have been carried out, and refused when it was repeated.
   */
  set(key: RecordKey, value: string, write: StoreWrite): Promise<string | null>;

  /**
   * Deletes a record.
   *
   * @returns Whether it is absent now; false if it was not as expected.
   */
  delete(key: RecordKey, deletion: StoreDeletion): Promise<boolean>;

  /**
   * All records whose key begins with these parts, in any order. One that is written or deleted
   * meanwhile may be in the list or not.
   */
  list(prefix: RecordKey): AsyncIterable<ListedRecord>;

  /**
   * Calls back when a record may have changed. The call is a hint: it may be missing, come late or
   * without a reason. Records are read each second anyway while somebody watches them.
   *
   * @returns Ends the calls.
   */
  watch?(key: RecordKey, onChange: () => void): () => void;
}
