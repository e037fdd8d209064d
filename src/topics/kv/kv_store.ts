/** Topics in Deno KV: a file of this machine, or a database that any number of nodes share. */
import type {
  AppendOptions,
  AppendResult,
  Cursor,
  LogBounds,
  LogPage,
  LogPosition,
  LogRef,
  NewMessage,
  ReadLimits,
  StoreCapabilities,
  TopicStore,
} from "../store.ts";
import { Appender } from "./appender.ts";
import { Bells } from "./change_notifier.ts";
import { KV_CAPABILITIES } from "./capabilities.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { Epoch } from "./incarnation.ts";
import { KvLogReader } from "./log_reader.ts";
import { Trimmer } from "./retention_worker.ts";

/** How often logs are trimmed, in milliseconds. A lease that is not given back is taken within 30 s. */
const TRIM_INTERVAL = 5_000;

/** How a store is made. */
export interface KvStoreOptions extends ConnectionOptions {
  /** Opens a second connection, where the database tells a connection what others have written. */
  readonly openWatching?: ConnectionOptions["open"];
  /** How often the database is looked at for what others have written, in milliseconds. */
  readonly interval: number;
  /** The time in milliseconds since 1970, in place of that of the database. */
  readonly now?: () => number;
}

/** Keeps logs in a database. */
export class KvStore implements TopicStore {
  /** What it can do. */
  readonly capabilities: StoreCapabilities = KV_CAPABILITIES;
  readonly #connection: Connection;
  readonly #watching: Connection | undefined;
  readonly #reader: KvLogReader;
  /** Reads for those who wait for the newest messages. */
  readonly #endReader: KvLogReader;
  readonly #appender: Appender;
  readonly #bells: Bells;
  readonly #trimmer: Trimmer;
  readonly #now: () => number;

  /** Opens nothing yet. */
  constructor({ openWatching, interval, now, ...options }: KvStoreOptions) {
    const connection = this.#connection = new Connection(options);
    const watching = this.#watching = openWatching &&
      new Connection({ ...options, open: openWatching, isLogged: false });
    // Of nodes that share a database the clocks differ. Its own decides what is too old.
    const time = this.#now = now ?? (() => connection.now());
    const epoch = new Epoch(connection, () => this.#bells.startAnew());
    // What each reads at once is by what it reads: some messages as they come, many that came before, or all.
    this.#reader = new KvLogReader(connection, epoch, time);
    this.#endReader = new KvLogReader(connection, epoch, time);
    const reader = new KvLogReader(connection, epoch, time);
    this.#appender = new Appender({ connection, epoch, bellOf: Bells.of, now: time });
    this.#bells = new Bells({ connection, watching, interval, epoch });
    this.#trimmer = new Trimmer({ connection, reader, interval: TRIM_INTERVAL, now: time });
  }

  /**
   * Opens the database. One that is away is tried again when it is used.
   *
   * @throws {CannotOpenError} When it can never be opened.
   */
  open(): Promise<void> {
    return this.#connection.open();
  }

  /** Where a log begins and ends. */
  bounds(log: LogRef): Promise<LogBounds> {
    return this.#reader.bounds(log);
  }

  /** Appends messages, and tries again until the signal is aborted, or for 30 seconds. */
  async append(log: LogRef, messages: readonly NewMessage[], options: AppendOptions): Promise<AppendResult> {
    const result = await this.#appender.append(log, messages, options);
    this.#trimmer.start();
    this.#bells.ring(log.name, result);
    return result;
  }

  /** Reads what comes after a place. */
  read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return (limits.isLive ? this.#endReader : this.#reader).read(log, after, limits);
  }

  /** The place before the first message of a time. */
  seek(log: LogRef, time: Date): Promise<LogPosition> {
    return this.#reader.seek(log, time);
  }

  /** Calls back after each append, of other processes too. */
  watch({ name }: LogRef, wake: () => void): () => void {
    // Whoever publishes may be gone before it is time.
    this.#trimmer.start();
    return this.#bells.watch(name, wake);
  }

  /** Removes what the policy does not keep. */
  trim(log: LogRef): Promise<LogBounds> {
    return this.#trimmer.trim(log);
  }

  /** The time of the database in milliseconds since 1970. */
  now(): number {
    return this.#now();
  }

  /** All logs. */
  list(): Promise<readonly LogRef[]> {
    return Array.fromAsync(this.#reader.logs());
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    await Promise.all([this.#bells.close(), this.#trimmer.close()]);
    // Tried once: where the database does not answer, others wait for the lease.
    await Promise.all([this.#trimmer.release(), this.#connection.close(), this.#watching?.close()]);
    await this.#bells.ended();
  }
}
