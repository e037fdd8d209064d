/** A database of PostgreSQL: up to five connections, and one that listens. */
import { detached } from "../../log/log.ts";
import type { StoreClock } from "../store_connection.ts";
import { codeOf, isServerFull, type SqlEngine } from "./engine.ts";
import type { PgConnection } from "./pg_client.ts";

const MAX_CONNECTIONS = 5;
/** In milliseconds. A firewall may silently drop a connection that is idle for some minutes. */
const IDLE_TIMEOUT = 30_000;
/**
 * How often the connection that listens is tried, in milliseconds, and how long it has to answer.
 */
const [PING_INTERVAL, PING_TIMEOUT] = [10_000, 3_000];
/** How long the time of the database is taken from its last answer about it, in milliseconds. */
const CLOCK_INTERVAL = 30_000;

/** How long the engine goes on with what it has after the server had no connection left, in ms. */
const FULL_PAUSE = 5_000;

const CLOSED = "The connections were closed";

export interface PostgresEngineOptions {
  /** The signal abandons it. */
  readonly connect: (signal: AbortSignal) => Promise<PgConnection>;
  /** Whether a pooler assigns a connection for each transaction, so that nothing can listen. */
  readonly isPooled: boolean;
  /** The channel of notifications. */
  readonly channel: string;
  readonly clock: StoreClock;
}

interface IdleConnection {
  readonly connection: PgConnection;
  /** By `performance.now()`. */
  readonly since: number;
}

export class PostgresEngine implements SqlEngine {
  readonly dialect = "postgres";
  readonly listen?: NonNullable<SqlEngine["listen"]>;
  readonly #connect: PostgresEngineOptions["connect"];
  readonly #channel: string;
  readonly #clock: StoreClock;
  /** The one that was used last is at the end, and used first. */
  readonly #idle: IdleConnection[] = [];
  readonly #busy = new Set<PgConnection>();
  readonly #listening = new Set<PgConnection>();
  /** Without a connection, they look for one again. */
  readonly #waiting: ((connection: PgConnection | undefined) => void)[] = [];
  /** Of connections, and of attempts to connect. */
  readonly #ends = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  /** Also those that are being opened. */
  #count = 0;
  /** Until then the server has no connection left, by `performance.now()`. */
  #fullUntil = -Infinity;
  #clockRead = -Infinity;

  /** With a first connection, which has shown that the database can be used. */
  constructor({ connect, isPooled, channel, clock }: PostgresEngineOptions, first: PgConnection) {
    this.#connect = connect;
    this.#channel = channel;
    this.#clock = clock;
    if (!isPooled) this.listen = (onNotify, onLost) => this.#listen(onNotify, onLost);
    this.#count = 1;
    this.#add(first);
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Messages and records expire by this time. */
  refreshClock(): Promise<unknown> | undefined {
    if (!this.#clock.isUncertain && performance.now() - this.#clockRead < CLOCK_INTERVAL) return undefined;
    this.#clockRead = performance.now();
    return this.#use((connection) => readClock(connection, this.#clock)).catch((error) => {
      this.#clockRead = -Infinity;
      throw error;
    });
  }

  readonly query: SqlEngine["query"] = (text, parameters) => {
    return this.#use(async (connection) => (await connection.query(text, parameters)).rows);
  };

  readonly transaction: SqlEngine["transaction"] = (action) => {
    return this.#use(async (connection) => {
      // The default of a database may be stricter, or read-only.
      await connection.query("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
      let result: Awaited<ReturnType<typeof action>>;
      try {
        result = await action(async (text, parameters) => (await connection.query(text, parameters)).rows);
      } catch (error) {
        await connection.query("ROLLBACK").catch(() => connection.destroy());
        throw error;
      }
      const { command } = await connection.query("COMMIT");
      // The server says so if a statement failed, and the action went on.
      if (command !== "COMMIT") throw new Error("The transaction was rolled back");
      return result;
    });
  };

  close(): void {
    if (this.#isClosed) return;
    this.#closing.abort();
    for (const { connection } of this.#idle) connection.end();
    for (const connection of this.#listening) connection.end();
    // A server that answers carries out what it was sent. Another one would not even take a
    // goodbye.
    for (const connection of this.#busy) connection.destroy();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  async closed(): Promise<void> {
    this.close();
    while (this.#ends.size > 0) await Promise.allSettled(this.#ends);
  }

  async #use<Result>(action: (connection: PgConnection) => Promise<Result>): Promise<Result> {
    const connection = await this.#acquire();
    let failure: unknown;
    try {
      return await action(connection);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      this.#busy.delete(connection);
      this.#release(connection, failure);
    }
  }

  async #acquire(): Promise<PgConnection> {
    while (!this.#isClosed) {
      let connection: PgConnection | undefined = this.#idle.pop()?.connection;
      if (!connection && this.#mayOpen) {
        connection = await this.#open();
        // Another one may be idle meanwhile.
        if (!connection) continue;
      }
      connection ??= await new Promise<PgConnection | undefined>((resolve) => this.#waiting.push(resolve));
      if (!connection) continue;
      if (this.#isClosed) {
        connection.end();
        break;
      }
      if (connection.isEnded) continue;
      this.#busy.add(connection);
      return connection;
    }
    throw new Error(CLOSED);
  }

  #newConnection(onEnd: (connection: PgConnection) => void): Promise<PgConnection> {
    // Requests share it.
    const opening = detached(async () => {
      const connection = await this.#connect(this.#closing.signal);
      this.#follow(connection, () => onEnd(connection));
      return connection;
    });
    this.#ends.add(opening);
    const end = () => this.#ends.delete(opening);
    opening.then(end, end);
    return opening;
  }

  get #mayOpen(): boolean {
    if (this.#count >= MAX_CONNECTIONS) return false;
    return this.#count === 0 || performance.now() >= this.#fullUntil;
  }

  /** Undefined if the server has none left, and this process has others. */
  async #open(): Promise<PgConnection | undefined> {
    this.#count++;
    try {
      return await this.#newConnection((connection) => this.#forget(connection));
    } catch (error) {
      this.#count--;
      if (isServerFull(error) && this.#count > 0) {
        this.#fullUntil = performance.now() + FULL_PAUSE;
        return undefined;
      }
      this.#waiting.shift()?.(undefined);
      throw error;
    }
  }

  #add(connection: PgConnection): void {
    this.#follow(connection, () => this.#forget(connection));
    this.#idle.push({ connection, since: performance.now() });
  }

  #follow(connection: PgConnection, onEnd: () => void): void {
    const ended: Promise<void> = connection.ended.then(() => {
      this.#ends.delete(ended);
      onEnd();
    });
    this.#ends.add(ended);
  }

  /** After its end. */
  #forget(connection: PgConnection): void {
    this.#count--;
    const index = this.#idle.findIndex((idle) => idle.connection === connection);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#waiting.shift()?.(undefined);
  }

  #release(connection: PgConnection, failure: unknown): void {
    if (connection.isEnded) return;
    if (this.#isClosed) return connection.end();
    if (failure !== undefined && !isReusable(failure)) return connection.destroy();
    const next = this.#waiting.shift();
    if (next) return next(connection);
    const now = performance.now();
    this.#idle.push({ connection, since: now });
    const [oldest] = this.#idle;
    if (now - oldest!.since > IDLE_TIMEOUT) {
      this.#idle.shift();
      oldest!.connection.end();
    }
  }

  async #listen(onNotify: (payload: string) => void, onLost: () => void): Promise<() => void> {
    let hasEnded = false;
    let ping: ReturnType<typeof setInterval> | undefined = undefined;
    const connection = await this.#newConnection((connection) => {
      clearInterval(ping);
      this.#listening.delete(connection);
      if (!hasEnded) onLost();
    });
    this.#listening.add(connection);
    const end = () => {
      hasEnded = true;
      clearInterval(ping);
      connection.end();
    };
    if (this.#isClosed) {
      end();
      throw new Error(CLOSED);
    }
    ping = setInterval(() => this.#ping(connection), PING_INTERVAL);
    Deno.unrefTimer(ping);
    connection.onNotification(onNotify);
    try {
      await connection.query(`LISTEN "${this.#channel}"`);
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  /** A connection that only listens would not notice that it was cut. */
  async #ping(connection: PgConnection): Promise<void> {
    const timer = setTimeout(() => connection.destroy(), PING_TIMEOUT);
    try {
      await connection.query("SELECT 1");
    } catch {
      connection.destroy();
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Milliseconds are as exact as dates of JavaScript. */
async function readClock(connection: PgConnection, clock: StoreClock): Promise<void> {
  const begin = performance.now();
  const { rows } = await connection.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time");
  clock.note(new Date(Number(rows[0]!.time)).toISOString(), begin);
}

/** Whether a statement was refused, and the connection can carry out others. */
function isReusable(error: unknown): boolean {
  const code = codeOf(error);
  if (code === undefined || !(error instanceof Error)) return false;
  const severity: unknown = Reflect.get(error, "severity");
  // The server was replaced by one that takes no writes; or it does not know a statement any more,
  // or changed its columns.
  return severity === "ERROR" && !["25006", "26000", "42P05", "0A000"].includes(code);
}
