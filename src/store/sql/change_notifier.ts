/**
 * Notifies watchers of logs and of records. PostgreSQL notifies other processes, and a file shows
 * that another process has written. The poll finds what a notification has missed.
 */
import { detached, log } from "../../log/log.ts";
import { reasonOf } from "../cannot_open.ts";
import { pause } from "../store_connection.ts";
import { Watchers } from "../topic_store.ts";
import { isServerFull, type SqlConnection, type SqlEngine } from "./engine.ts";
import { decodeKey, decodeText, encodeKey, encodeText, stringsOf, type Tables } from "./schema.ts";
import type { RecordKey } from "../record_store.ts";

/** The pause between two notifications, in ms: meanwhile changes are collected. */
const NOTIFY_PAUSE = 5;
/** The pause before this process listens again, in milliseconds. */
const LISTEN_PAUSE = 100;
/** The pause if the server had no connection left, in milliseconds. */
const FULL_PAUSE = 10_000;

/** What a notification is about. The kind is followed by the name, the key, or the transaction. */
type Kind = "log" | "record" | "transaction";

export interface ChangeNotifierOptions {
  readonly connection: SqlConnection;
  readonly tables: Tables;
  /** How often other processes' appends are polled, in milliseconds. */
  readonly interval: number;
  /** Called when another process has published in a transaction that may be open. */
  readonly onTransaction: (id: string) => void;
}

export class ChangeNotifier {
  readonly #options: ChangeNotifierOptions;
  readonly #sender = crypto.randomUUID().slice(0, 8);
  readonly #logs = new Watchers();
  readonly #records = new Watchers();
  /** How many watches each log has. */
  readonly #watched = new Map<string, number>();
  /** The heads that the last poll has found. */
  #heads = new Map<string, string>();
  #looking: Promise<void> | undefined;
  #hasChanged = false;
  readonly #closing = new AbortController();
  #polling: Promise<void> | undefined;
  #listening: Promise<void> | undefined;
  /** The server has no connection for it. */
  #isFull = false;
  readonly #unsent = new Set<string>();
  #sending: Promise<void> | undefined;

  constructor(options: ChangeNotifierOptions) {
    this.#options = options;
  }

  get isWatching(): boolean {
    return this.#watched.size > 0;
  }

  watchLog(name: string, onChange: () => void): () => void {
    const remove = this.#logs.add(name, onChange);
    this.#watched.set(name, (this.#watched.get(name) ?? 0) + 1);
    this.#start();
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      remove();
      const left = this.#watched.get(name)! - 1;
      if (left > 0) this.#watched.set(name, left);
      else this.#watched.delete(name);
    };
  }

  watchRecords(key: RecordKey, onChange: () => void): () => void {
    this.#listen();
    return this.#records.add(JSON.stringify(key), onChange);
  }

  /**
   * `state` is the incarnation and the head after the append, so that the poll does not call again.
   */
  logChanged(name: string, state: string): void {
    if (this.#watched.has(name)) this.#heads.set(encodeText(name), state);
    this.#logs.call(name);
    this.#send("log", encodeText(name));
  }

  recordChanged(key: RecordKey): void {
    this.#records.callUpTo(key);
    this.#send("record", encodeKey(key));
  }

  transactionOpened(id: string): void {
    this.#send("transaction", id);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#logs.clear();
    this.#records.clear();
    await Promise.all([this.#polling, this.#looking, this.#listening, this.#sending]);
  }

  #start(): void {
    if (this.#closing.signal.aborted) return;
    this.#listen();
    this.#polling ??= detached(() => this.#pollWhileWatched());
  }

  #listen(): void {
    if (this.#closing.signal.aborted) return;
    this.#listening ??= detached(() => this.#listenUntilClosed());
  }

  async #listenUntilClosed(): Promise<void> {
    const { connection } = this.#options;
    const { signal } = this.#closing;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const { promise: lost, resolve: onLost } = Promise.withResolvers<void>();
      const ended = () => onLost();
      try {
        const end = await connection.use((engine) => this.#listenBy(engine, onLost), signal);
        if (end === "full") {
          await pause(FULL_PAUSE, signal);
          continue;
        }
        this.#isFull = false;
        signal.addEventListener("abort", ended);
        // Notifications may have been missed. Watchers of records read now for the first time.
        this.#look();
        if (!isFirst) this.#records.callAll();
        await lost;
        end?.();
      } catch {
        // The connection has logged it, and the poll goes on.
      } finally {
        signal.removeEventListener("abort", ended);
      }
      await pause(LISTEN_PAUSE, signal);
    }
  }

  /** "full" is no outage: the other connections of this process work, and the poll goes on. */
  async #listenBy({ listen }: SqlEngine, onLost: () => void): Promise<(() => void) | "full" | undefined> {
    try {
      return await listen?.((payload) => this.#receive(payload), onLost);
    } catch (error) {
      if (!isServerFull(error)) throw error;
      const message = "PostgreSQL has no connection left to listen: messages of other nodes come within a second";
      if (!this.#isFull) log("warn", message, { reason: reasonOf(error) });
      this.#isFull = true;
      return "full";
    }
  }

  #receive(payload: string): void {
    // A file has changed, which says nothing about the logs.
    if (payload === "") return this.#look();
    const [sender, kind, ...rest] = payload.split(" ");
    if (sender === this.#sender) return;
    const text = rest.join(" ");
    if (kind === "log") this.#logs.call(decodeText(text));
    else if (kind === "record") this.#records.callUpTo(decodeKey(text));
    else if (kind === "transaction") this.#options.onTransaction(text);
  }

  /** One look at a time: a busy file changes all the time. */
  #look(): void {
    this.#hasChanged = true;
    this.#looking ??= detached(async () => {
      while (this.#hasChanged && this.#watched.size > 0 && !this.#closing.signal.aborted) {
        this.#hasChanged = false;
        await this.#poll();
      }
      // The connection has logged an error, and the poll tries again.
    }).catch(() => {}).finally(() => this.#looking = undefined);
  }

  async #pollWhileWatched(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#watched.size > 0 && !signal.aborted) {
      // The timer keeps the process alive: a program that waits for messages of others is not done.
      await pause(this.#options.interval, signal);
      // The connection has logged an error, and the next poll tries again.
      if (!signal.aborted) await this.#poll().catch(() => {});
    }
    this.#polling = undefined;
    this.#heads.clear();
  }

  async #poll(): Promise<void> {
    const { connection, tables } = this.#options;
    const { signal } = this.#closing;
    const names = JSON.stringify(Array.from(this.#watched.keys(), encodeText));
    const { logs, outbox } = tables;
    const rows = await connection.use(({ query }) =>
      query(
        `SELECT name, incarnation, head, EXISTS (SELECT 1 FROM ${outbox} o WHERE o.name = g.name) AS is_waiting
FROM ${logs} g WHERE name IN (${stringsOf(tables, "$1")})`,
        [names],
      ), signal);
    const earlier = this.#heads;
    this.#heads = new Map();
    for (const { name, incarnation, head, is_waiting } of rows) {
      const state = `${incarnation} ${head}`;
      this.#heads.set(String(name), state);
      if (earlier.get(String(name)) !== state || is_waiting) this.#logs.call(decodeText(String(name)));
    }
  }

  /**
   * In a transaction of its own that does not wait for the disk: one that notifies has an entry in
   * the write-ahead log, and delays others that notify until it is written.
   */
  #send(kind: Kind, text: string): void {
    if (this.#options.tables.dialect === "sqlite") return;
    this.#unsent.add(`${this.#sender} ${kind} ${text}`);
    this.#sending ??= detached(() => this.#sendAll()).finally(() => this.#sending = undefined);
  }

  async #sendAll(): Promise<void> {
    const text = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, x) FROM unnest($2::text[]) AS x";
    while (this.#unsent.size > 0) {
      const payloads = [...this.#unsent];
      this.#unsent.clear();
      const parameters = [this.#options.tables.schema, payloads];
      // Watchers poll by themselves.
      await this.#options.connection.use(({ query }) => query(text, parameters)).catch(() => {});
      await pause(NOTIFY_PAUSE, this.#closing.signal);
    }
  }
}
