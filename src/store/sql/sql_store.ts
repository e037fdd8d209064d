/** Topics and records in tables of PostgreSQL, or in a file of SQLite. */
import { load } from "../../base/async_context.ts";
import { isBusyFile } from "../cannot_open.ts";
import { SQL_CAPABILITIES, type SqlLocation } from "../location.ts";
import { ProcessLock } from "../process_lock.ts";
import { pause, StoreConnection, type StoreConnectionOptions } from "../store_connection.ts";
import { type LogRef, type StoreCapabilities, type TopicStore, UnsuitableStoreError } from "../topic_store.ts";
import { ChangeNotifier } from "./change_notifier.ts";
import { codeOf, type Dialect, isServerFull, type SqlConnection, type SqlEngine } from "./engine.ts";
import { LogAppender } from "./log_appender.ts";
import { LogReader } from "./log_reader.ts";
import { nameOfPostgres, postgresOpener } from "./open_postgres.ts";
import { OpenTransactions, type TransactionId } from "./open_transactions.ts";
import { SeenPositions } from "./positions.ts";
import { Retention } from "./retention.ts";
import { isTableMissing, migrate, type Tables, tablesOf } from "./schema.ts";
import { SqlRecords } from "./sql_records.ts";
import { TransactionAppender } from "./transaction.ts";

/** How often other processes' appends are polled, in milliseconds. The database also notifies. */
const POLL_INTERVAL = 1_000;

/**
 * How long the thread of a file has for an answer, in milliseconds. It always answers, so that
 * another thread would only take longer on a machine that is short of processor time.
 */
const THREAD_TIMEOUT = 30_000;

/** How long the last notifications may take, in milliseconds. */
const CLOSE_TIMEOUT = 1_000;

export interface SqlStoreOptions extends Omit<StoreConnectionOptions<SqlEngine>, "open" | "probe" | "isBusy"> {
  /** `onLost` opens the database again at the next request. */
  readonly open: (signal: AbortSignal, onLost: () => void) => Promise<SqlEngine>;
  readonly dialect: Dialect;
  /** The schema of PostgreSQL; "webfw" unless given. */
  readonly schema?: string | undefined;
  /** Replaces the time of the database. */
  readonly now?: (() => number) | undefined;
  readonly processLock?: ProcessLock;
}

type Store = Required<TopicStore>;

export class SqlStore implements TopicStore {
  readonly capabilities: StoreCapabilities = SQL_CAPABILITIES;
  readonly now: Store["now"];
  readonly tables: Tables;
  readonly #connection: SqlConnection;
  readonly #engines = new Set<SqlEngine>();
  readonly #appender: LogAppender;
  readonly #reader: LogReader;
  readonly #retention: Retention;
  readonly #notifier: ChangeNotifier;
  readonly #transactions: OpenTransactions;
  readonly #inTransactions: TransactionAppender;
  readonly #records: SqlRecords;
  readonly #processLock: ProcessLock | undefined;

  constructor({ dialect, schema, now, processLock, open, ...options }: SqlStoreOptions) {
    const tables = this.tables = tablesOf(dialect, schema);
    const connection: SqlConnection = this.#connection = new StoreConnection<SqlEngine>({
      isFull: isServerFull,
      ...options,
      open: async (signal) => {
        return await this.#prepare(await open(signal, () => connection.reopen()), options.name, signal);
      },
      probe: ({ query }) => query(`SELECT version FROM ${tables.version}`),
      isBusy: isBusyFile,
    });
    this.now = now ?? (() => connection.now());
    // Null: the database uses its own time.
    const time = now ?? (dialect === "sqlite" ? Date.now : () => null);
    const positions = new SeenPositions();
    const onTransaction = (id: string) => {
      if (this.#notifier.isWatching) this.#transactions.noteForeign(id);
    };
    const notifier = this.#notifier = new ChangeNotifier({
      connection,
      tables,
      interval: POLL_INTERVAL,
      onTransaction,
    });
    const appender = this.#appender = new LogAppender({
      connection,
      tables,
      positions,
      now: time,
      onAppended: (name, state) => notifier.logChanged(name, state),
    });
    const retention = this.#retention = new Retention({ connection, tables, appender, now: time });
    const trim = (log: LogRef) => retention.trim(log);
    this.#reader = new LogReader({ connection, tables, positions, appender, now: time, trim });
    this.#transactions = new OpenTransactions({ connection, tables, appender });
    const onOpen = (transaction: TransactionId, log: LogRef) => this.noteOpen(transaction, log);
    this.#inTransactions = new TransactionAppender({ connection, tables, location: options.name, onOpen });
    this.#records = new SqlRecords({ connection, tables, notifier, now: time, onExpiring: () => retention.start() });
    this.#processLock = processLock;
  }

  readonly open: Store["open"] = () => this.#connection.open();
  readonly bounds: Store["bounds"] = (log) => this.#reader.bounds(log);
  readonly read: Store["read"] = (log, after, limits) => this.#reader.read(log, after, limits);
  readonly seek: Store["seek"] = (log, time) => this.#reader.seek(log, time);
  readonly trim: Store["trim"] = (log) => this.#retention.trim(log);
  readonly list: Store["list"] = () => this.#reader.list();
  readonly openRecords: Store["openRecords"] = async () => this.#records;
  readonly processName: Store["processName"] = async () => await this.#processLock?.name();
  readonly hasEnded: Store["hasEnded"] = async (name) => await this.#processLock?.hasEnded(name);

  readonly append: Store["append"] = async (log, messages, options) => {
    this.#retention.start();
    return await this.#appender.append(log, messages, options);
  };

  readonly appendIn: Store["appendIn"] = (transaction, log, message, ready) => {
    this.#retention.start();
    return this.#inTransactions.append(transaction, log, message, ready);
  };

  readonly watch: Store["watch"] = ({ name }, onChange) => {
    // The publishers may have ended, and no other process may trim.
    this.#retention.start();
    return this.#notifier.watchLog(name, onChange);
  };

  /** Follows a transaction of a user that has put a message of the log into the outbox. */
  noteOpen(transaction: TransactionId, log: LogRef): void {
    const isNew = this.#transactions.note(transaction, log);
    if (isNew && typeof transaction === "string") this.#notifier.transactionOpened(transaction);
  }

  async close(): Promise<void> {
    // Other processes are notified of the last messages.
    const closed = Promise.all([this.#transactions.close(), this.#retention.close(), this.#processLock?.close()]);
    const ended = closed.then(() => this.#notifier.close());
    // Their last requests would be repeated for long if the database did not answer.
    const inTime = new AbortController();
    await Promise.race([ended, pause(CLOSE_TIMEOUT, inTime.signal)]);
    inTime.abort();
    await this.#connection.close();
    await ended;
    await Promise.all(Array.from(this.#engines, (engine) => engine.closed?.()));
  }

  async #prepare(engine: SqlEngine, name: string, signal: AbortSignal): Promise<SqlEngine> {
    this.#engines.add(engine);
    const close = (): void => {
      engine.close();
      void engine.closed?.().then(() => this.#engines.delete(engine));
    };
    signal.addEventListener("abort", close);
    try {
      signal.throwIfAborted();
      await migrate(engine, this.tables, name);
      signal.throwIfAborted();
    } catch (error) {
      close();
      throw error;
    } finally {
      signal.removeEventListener("abort", close);
    }
    return withFinalErrors(engine, close);
  }
}

/** Errors that no repetition cures are final: in syntax, types, rights and limits. */
function withFinalErrors(engine: SqlEngine, close: () => void): SqlEngine {
  const orFinal = (error: unknown): never => {
    const isFinal = /^(?:22|23(?!505)|42)/.test(codeOf(error) ?? "") && !isTableMissing(error);
    throw isFinal ? new UnsuitableStoreError(error instanceof Error ? error.message : String(error)) : error;
  };
  return {
    dialect: engine.dialect,
    query: (text, parameters) => engine.query(text, parameters).catch(orFinal),
    transaction: (action) => engine.transaction(action).catch(orFinal),
    ...(engine.batch && { batch: (statements) => engine.batch!(statements).catch(orFinal) }),
    ...(engine.now && { now: () => engine.now!() }),
    ...(engine.refreshClock && { refreshClock: () => engine.refreshClock!() }),
    ...(engine.listen && { listen: (onNotify, onLost) => engine.listen!(onNotify, onLost) }),
    close,
  };
}

/** The store opens nothing before its first use. `now` replaces the time of the database. */
export function openSqlStore(location: SqlLocation, now?: () => number): SqlStore {
  if ("sqlite" in location) {
    const path = location.sqlite;
    return new SqlStore({
      name: path,
      dialect: "sqlite",
      now,
      processLock: new ProcessLock(path),
      requestTimeout: THREAD_TIMEOUT,
      openTimeout: THREAD_TIMEOUT,
      open: async (_signal, onLost) => {
        const { openSqlite } = await load(() => import("./sqlite_engine.ts"));
        return await openSqlite(path, onLost);
      },
    });
  }
  const open = postgresOpener(location);
  return new SqlStore({ name: nameOfPostgres(location), dialect: "postgres", schema: location.schema, now, open });
}
