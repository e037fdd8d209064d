/**
 * Follows transactions of users that have published, and moves their messages from the outbox into
 * the logs when they are committed. Readers do this as well, so it may fail.
 */
import { detached } from "../../log/log.ts";
import { pause } from "../store_connection.ts";
import type { LogRef } from "../topic_store.ts";
import type { SqlConnection } from "./engine.ts";
import type { LogAppender } from "./log_appender.ts";
import { decodeText, type Tables } from "./schema.ts";

/** How often transactions of this process and of others are looked at, in milliseconds. */
const [OWN_INTERVAL, OTHERS_INTERVAL] = [10, 30];
/** One that is open for long is looked at less often: after such a part of its time. */
const LONG_PART = 1 / 200;
const MAX_INTERVAL = 1_000;
/** Each role of the database may notify of any transaction. */
const MAX_OPEN = 10_000;

/**
 * A transaction: the id that PostgreSQL has given it, or for SQLite whether it is open, which must
 * not throw.
 */
export type TransactionId = string | (() => boolean);

interface OpenTransaction {
  readonly since: number;
  readonly isOwn: boolean;
  readonly logs: Map<string, LogRef>;
}

export interface OpenTransactionsOptions {
  readonly connection: SqlConnection;
  readonly tables: Tables;
  readonly appender: LogAppender;
}

export class OpenTransactions {
  readonly #options: OpenTransactionsOptions;
  readonly #open = new Map<TransactionId, OpenTransaction>();
  readonly #closing = new AbortController();
  #following: Promise<void> | undefined;

  constructor(options: OpenTransactionsOptions) {
    this.#options = options;
  }

  /** Returns whether the transaction is new. */
  note(id: TransactionId, log: LogRef): boolean {
    const known = this.#open.get(id);
    const isNew = known === undefined || !known.isOwn;
    if (isNew) this.#open.set(id, { since: performance.now(), isOwn: true, logs: new Map([[log.name, log]]) });
    else known.logs.set(log.name, log);
    this.#follow();
    return isNew;
  }

  /** One of another process, which may end before it moves the messages. */
  noteForeign(id: string): void {
    if (!/^\d{1,19}$/.test(id) || this.#open.has(id) || this.#open.size >= MAX_OPEN) return;
    this.#open.set(id, { since: performance.now(), isOwn: false, logs: new Map() });
    this.#follow();
  }

  /** Moves the messages of those that were committed just now. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#following;
    if (this.#open.size > 0) await this.#look().catch(() => {});
  }

  #follow(): void {
    if (this.#closing.signal.aborted) return;
    this.#following ??= detached(() => this.#followAll()).finally(() => this.#following = undefined);
  }

  async #followAll(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#open.size > 0 && !signal.aborted) {
      await pause(this.#interval(), signal);
      if (signal.aborted) return;
      try {
        await this.#look();
      } catch {
        // The connection has logged it. The messages get their place when their log is read.
        this.#open.clear();
      }
    }
  }

  #look(): Promise<void> {
    return this.#options.tables.dialect === "postgres" ? this.#lookPostgres() : this.#lookSqlite();
  }

  #interval(): number {
    const now = performance.now();
    let least = MAX_INTERVAL;
    for (const { since, isOwn } of this.#open.values()) {
      least = Math.min(least, Math.max(isOwn ? OWN_INTERVAL : OTHERS_INTERVAL, (now - since) * LONG_PART));
    }
    return least;
  }

  /**
   * One statement for all transactions. An open one may have no earlier id than the snapshot's end:
   * that is the first one after the last transaction that has ended. Its status cannot be queried
   * then, since an id from before a restore would be an error.
   */
  async #lookPostgres(): Promise<void> {
    const ids = [...this.#open.keys()];
    const rows = await this.#options.connection.use(({ query }) =>
      query(
        `SELECT x AS id, CASE WHEN x::xid8 < pg_snapshot_xmax(pg_current_snapshot()) THEN pg_xact_status(x::xid8)
ELSE 'in progress' END AS status FROM unnest($1::text[]) AS x`,
        [ids],
      )
    );
    const ended = rows.filter(({ status }) => status !== "in progress");
    const committed = ended.filter(({ status }) => status !== "aborted").map(({ id }) => this.#open.get(String(id)));
    for (const { id } of ended) this.#open.delete(String(id));
    if (committed.length > 0) await this.#seal(committed.flatMap((transaction) => transaction ? [transaction] : []));
  }

  async #lookSqlite(): Promise<void> {
    const ended = [...this.#open].filter(([id]) => typeof id === "function" && !id());
    for (const [id] of ended) this.#open.delete(id);
    await this.#seal(ended.map(([, transaction]) => transaction));
  }

  /** Which logs another process has published to, only the outbox knows. */
  async #seal(ended: readonly OpenTransaction[]): Promise<void> {
    const { appender, connection, tables } = this.#options;
    const logs = new Map(ended.flatMap(({ logs }) => [...logs]));
    const areKnown = tables.dialect === "postgres" && ended.every(({ isOwn }) => isOwn);
    const names = areKnown
      ? [...logs.keys()]
      : (await connection.use(({ query }) => query(`SELECT DISTINCT name FROM ${tables.outbox}`))).map(({ name }) =>
        decodeText(String(name))
      );
    await Promise.all(names.map((name) => appender.seal(name, logs.get(name)?.policy)));
  }
}
