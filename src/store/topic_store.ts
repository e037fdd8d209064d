/**
 * A store of topics has one append-only log for each topic, and records beside the logs.
 *
 * A log is an array of messages, each with a cursor: it grows at its end, and retention removes its
 * oldest messages. A record (`record_store.ts`) is a value by key, changed by compare and set.
 *
 * `topics/publisher.ts` batches messages for {@linkcode TopicStore.append}. `memory/` has an array,
 * `kv/appender.ts` writes a batch as one entry of Deno KV, and `jetstream/stream_appender.ts`
 * publishes to a stream of NATS. `store_connection.ts` repeats requests that fail, and
 * `lazy_store.ts` loads kv/ or jetstream/ on first use.
 *
 * Processes that share a store send each other nothing: a topic knows of its log only what it has
 * read there.
 */
import type { ProcessStore, RecordStore } from "./record_store.ts";

/** A position after a message: 22 lower-case hexadecimal digits, so cursors sort as strings. */
export type Cursor = string;

/** The position before the first message of any log. */
export const LOG_START: Cursor = "0".repeat(22);

/** A log: its name, and its retention. */
export interface LogRef {
  /** The name of the topic. */
  readonly name: string;
  /** Its retention, and how long ids are remembered. */
  readonly policy: LogPolicy;
}

/** The retention of a log. Each bound holds by itself. The oldest messages are removed first. */
export interface LogPolicy {
  /** The greatest age of a message in milliseconds; `Infinity` for no bound. */
  readonly age: number;
  /** The most messages; `Infinity` for no bound. */
  readonly count: number;
  /**
   * The most bytes. It bounds what the store counts: the data alone, or also types, ids and
   * overhead. A store may exceed a small bound, and never removes the newest message.
   */
  readonly bytes: number;
  /** How long ids are remembered, in ms, within {@linkcode StoreCapabilities.ids}. */
  readonly dedupe: number;
}

/** The first and last position of a log. */
export interface LogBounds {
  /**
   * Identifies the incarnation of the log: 8 lower-case hexadecimal digits. A log that is lost and
   * created again, or restored, has another one, to which earlier cursors mean nothing.
   */
  readonly incarnation: string;
  /** The position of the newest message that was removed; {@linkcode LOG_START} when none was. */
  readonly lowWatermark: Cursor;
  /** The position of the newest message; equal to `lowWatermark` when the log is empty. */
  readonly highWatermark: Cursor;
}

/** A position in one incarnation of a log. */
export interface LogPosition {
  /** The incarnation of the log. */
  readonly incarnation: string;
  /** The position. */
  readonly cursor: Cursor;
}

/** A message to append. */
export interface NewMessage {
  /** Its id, of its publisher or generated. Appending the same id again stores nothing. */
  readonly id: string;
  /**
   * Whether the framework made the id, with {@linkcode toGeneratedId}. Such an id cannot be in the
   * log yet: a message that is published again by its generated id has false here.
   *
   * The generated ids of a batch are of one producer session, numbered without a gap from the
   * first. A session is a series of batches of one publisher whose outcomes are all known: the
   * publisher begins another one after an unknown outcome, and after a minute without a batch. So
   * only the last batch of a session can be published again.
   */
  readonly isGenerated: boolean;
  /** The kind of message. */
  readonly type: string | undefined;
  /** The data as JSON. */
  readonly data: string;
  /** The size of `data` in UTF-8. */
  readonly bytes: number;
  /**
   * The span of its publisher, for links from readers, as a `traceparent` of 55 characters (W3C
   * Trace Context). A store may drop it.
   */
  readonly trace?: string | undefined;
}

/** A message of a log. */
export interface StoredMessage extends Pick<NewMessage, "type" | "data" | "bytes" | "trace"> {
  /** Its position. */
  readonly cursor: Cursor;
  /** When it was stored, in milliseconds since 1970. */
  readonly time: number;
}

/**
 * An open transaction of the database that stores the topics: the `tx` of postgres.js, a client of
 * node-postgres after `BEGIN`, a `DatabaseSync` of `node:sqlite` after `BEGIN`, or an adapter for
 * another client, whose `query` runs one statement in its transaction.
 *
 * @ignore
 */
export type SqlTransaction =
  | {
    unsafe(text: string, parameters?: never[]): PromiseLike<unknown>;
    savepoint(run: never): Promise<unknown>;
  }
  | {
    query(text: string, parameters: unknown[]): unknown;
    /** A pool would take any connection. */
    totalCount?: never;
  }
  | {
    readonly isTransaction: boolean;
    prepare(text: string): { run(...parameters: never[]): unknown };
  };

/**
 * Whether the statements of a transaction run synchronously: it may end before a promise settles.
 */
export function runsInCall(transaction: unknown): boolean {
  return typeof transaction === "object" && transaction !== null &&
    "isTransaction" in transaction && transaction.isTransaction === true &&
    "prepare" in transaction && typeof transaction.prepare === "function";
}

/** What ends an append. */
export interface AppendOptions {
  /**
   * Rejects the append at once: its messages may be stored or not. Without it, a store whose
   * appends never fail after they have stored need not remember generated ids.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The outcome of an append. */
export interface AppendResult {
  /** The incarnation of the log. */
  readonly incarnation: string;
  /** The outcome of each message, in the order in which they were given. */
  readonly outcomes: readonly AppendOutcome[];
}

/** The outcome for one message. */
export interface AppendOutcome {
  /** Its position; for a duplicate, that of the first message with its id. */
  readonly cursor: Cursor;
  /** Whether its id was in the log, or earlier in the batch. Then it was not stored again. */
  readonly duplicate: boolean;
}

/** How much one read may return. A single message may be larger than `maxBytes`. */
export interface ReadLimits {
  /** The most messages. */
  readonly maxMessages: number;
  /** The most bytes of data. */
  readonly maxBytes: number;
  /**
   * Whether this read serves all subscribers at the end of the log. It should not queue behind
   * reads of older messages.
   *
   * @default {false}
   */
  readonly isLive?: boolean;
}

/** A part of a log, and the bounds of the log at the same moment. */
export interface LogPage extends LogBounds {
  /** In order, without a hole. */
  readonly messages: readonly StoredMessage[];
}

/** How long a store remembers the ids of messages, at most. */
export interface IdMemory {
  /** The longest `dedupe` in milliseconds; `Infinity` for no limit. */
  readonly longest: number;
  /** The most ids of a log; `Infinity` for no bound. Beyond it the oldest are forgotten. */
  readonly count: number;
  /** Whether an id is remembered after its message was removed. */
  readonly outlivesMessage: boolean;
}

/** The limits of a store. */
export interface StoreCapabilities {
  /** What a resolved append survives: nothing, a crash of the machine, the loss of a machine. */
  readonly durability: "memory" | "disk" | "quorum";
  /** The most bytes of data of a message. */
  readonly maxMessageBytes: number;
  /** The most messages of a batch. */
  readonly maxBatchMessages: number;
  /** The most bytes of data and types of a batch of more than one message. */
  readonly maxBatchBytes: number;
  /** How long it remembers the ids of messages. */
  readonly ids: IdMemory;
}

/**
 * A store of topics. A log exists from its first use. `tests/contract/topic_store.ts` tests what
 * every store must do.
 *
 * A store retries after temporary failures such as a lost connection. A method that rejects has
 * stopped retrying.
 */
export interface TopicStore extends ProcessStore {
  /** What the store can do. */
  readonly capabilities: StoreCapabilities;

  /**
   * Checks at the start of an application with durable topics that the store can work. It may wait
   * some seconds for a store that cannot be reached.
   *
   * @throws {Error} If it cannot work. The application does not start, and the message says why.
   */
  open?(): Promise<void>;

  /** The first and last position of a log. */
  bounds(log: LogRef): Promise<LogBounds>;

  /**
   * Appends messages in their order, in one part or several: after a rejection, the first of them
   * may be stored and the others not. Readers see them after all earlier appends. Each process
   * makes one append to a log at a time.
   *
   * @param messages Within the capabilities.
   */
  append(log: LogRef, messages: readonly NewMessage[], options?: AppendOptions): Promise<AppendResult>;

  /**
   * Adds a message to an open transaction of the application: it is appended after the commit, and
   * its id compared then. Without this method, topics of the store are in no transaction.
   *
   * In a transaction of a `DatabaseSync` it has run, and throws, when the call returns.
   *
   * @param transaction A {@linkcode SqlTransaction}, not yet checked.
   * @param ready Open subscriptions get the message if it is added after this; a store waits for it
   * unless its reads wait for transactions. If it is given, the transaction may have ended.
   * @throws {TypeError} If it is no open transaction of this store's database.
   */
  appendIn?(transaction: unknown, log: LogRef, message: NewMessage, ready?: Promise<void>): Promise<void>;

  /**
   * Reads what follows a position, or the oldest messages if those there were removed. It sees
   * every append that has resolved before, in any process.
   *
   * @param after Beyond the high watermark there is nothing to read.
   * @param limits If there is a message, at least one is read.
   */
  read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage>;

  /** The position before the first message of `time` or later; else the high watermark. */
  seek(log: LogRef, time: Date): Promise<LogPosition>;

  /**
   * Calls back when the log may have grown, whichever process appended. The call is a hint: it may
   * come late or without a reason, but one follows each append within about a second.
   *
   * @returns Ends the calls.
   */
  watch(log: LogRef, onChange: () => void): () => void;

  /** Applies the retention now. All stores do so within 30 seconds, and some in each call. */
  trim?(log: LogRef): Promise<LogBounds>;

  /** In milliseconds since 1970, by the clock that dates messages. By default this machine's. */
  now?(): number;

  /** All logs that were ever appended to, for operators. Without it, topics cannot be listed. */
  list?(): Promise<readonly LogRef[]>;

  /** The records beside the logs, the same at each call. By default applications have none. */
  openRecords?(): Promise<RecordStore>;

  /** Ends everything in progress. No method may be called afterwards. */
  close(): Promise<void>;
}

/**
 * The store can never be opened as it is configured. Nothing was sent to it, so an append that
 * fails with this error has stored nothing.
 */
export class CannotOpenError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "CannotOpenError";

  /** Without a stack trace: the cause is the configuration, not a line of the program. */
  constructor(message: string) {
    super(message);
    this.stack = `${this.name}: ${message}`;
  }
}

/** There is no store at the location, and this program does not create it. */
export class StoreMissingError extends CannotOpenError {}

/** The store is open, but can never do this as it is configured. */
export class UnsuitableStoreError extends CannotOpenError {}

const GENERATED_ID = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(0|[1-9][0-9]{0,11})$/;

export interface GeneratedId {
  readonly session: string;
  readonly sequence: number;
}

/** Makes the id of a message that has none, such as `b9c3a9f0-5f0e-4b0e-9b1c-8a1d3c1e7f42.3`. */
export function toGeneratedId(session: string, sequence: number): string {
  return `${session}.${sequence}`;
}

/** Reads a generated id; undefined for any other id. */
export function parseGeneratedId(id: string): GeneratedId | undefined {
  const [, session, sequence] = GENERATED_ID.exec(id) ?? [];
  return session === undefined ? undefined : { session, sequence: Number(sequence) };
}

/** Like the promise, unless the signal is aborted before. */
export async function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    signal.throwIfAborted();
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
    promise.catch(() => {});
  }
}

export class Callbacks {
  readonly #watches = new Set<{ readonly onChange: () => void }>();

  get isEmpty(): boolean {
    return this.#watches.size === 0;
  }

  /** The returned function removes the callback. A callback that is added twice is called twice. */
  add(onChange: () => void): () => void {
    const watch = { onChange };
    this.#watches.add(watch);
    return () => void this.#watches.delete(watch);
  }

  /** Calls those that were there at the beginning, except those that are removed meanwhile. */
  readonly call = (): void => {
    for (const watch of [...this.#watches]) if (this.#watches.has(watch)) watch.onChange();
  };

  clear(): void {
    this.#watches.clear();
  }
}

/** Callbacks by name, for the watches of stores. */
export class Watchers {
  readonly #callbacks = new Map<string, Callbacks>();

  has(name: string): boolean {
    return this.#callbacks.has(name);
  }

  /** The returned function removes the callback. */
  add(name: string, onChange: () => void): () => void {
    const callbacks = this.#callbacks.get(name) ?? new Callbacks();
    this.#callbacks.set(name, callbacks);
    const remove = callbacks.add(onChange);
    return () => {
      remove();
      if (callbacks.isEmpty && this.#callbacks.get(name) === callbacks) this.#callbacks.delete(name);
    };
  }

  call(name: string): void {
    this.#callbacks.get(name)?.call();
  }

  /** Calls those of a key and of its prefixes, named by their JSON. */
  callUpTo(key: readonly string[]): void {
    if (this.#callbacks.size === 0) return;
    for (let parts = 1; parts <= key.length; parts++) this.call(JSON.stringify(key.slice(0, parts)));
  }

  callAll(): void {
    for (const callbacks of [...this.#callbacks.values()]) callbacks.call();
  }

  clear(): void {
    for (const callbacks of this.#callbacks.values()) callbacks.clear();
    this.#callbacks.clear();
  }
}

/** Numbers begin at 1; 0 is before the first message. */
export function numberToCursor(number: number): Cursor {
  return number.toString(16).padStart(LOG_START.length, "0");
}

/** A cursor from a client may be larger than any number of a message. */
export function cursorToNumber(cursor: Cursor): number {
  return Number.parseInt(cursor, 16);
}

export function encodePolicy({ age, count, bytes, dedupe }: LogPolicy): string {
  return JSON.stringify({ age, count, bytes, dedupe });
}

export function decodePolicy(json: string): LogPolicy {
  const { age, count, bytes, dedupe } = JSON.parse(json) as Record<string, number | null>;
  // JSON has null for Infinity.
  return { age: age ?? Infinity, count: count ?? Infinity, bytes: bytes ?? Infinity, dedupe: dedupe ?? Infinity };
}
