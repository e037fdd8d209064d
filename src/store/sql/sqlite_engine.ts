/**
 * A file of SQLite. A thread has the connection, so that the disk does not block the event loop,
 * and so that writes of the store are in no transaction that the program has open.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { dirname } from "node:path";
import { type MessagePort, Worker } from "node:worker_threads";
import { loadingCommand } from "../../base/runtime.ts";
import { cannotOpen, isBusyFile, missingPermissions, permissionsReason, reasonOf } from "../cannot_open.ts";
import { StoreMissingError } from "../topic_store.ts";
import type { Row, SqlEngine, Statement } from "./engine.ts";

/**
 * How long the thread waits for another connection that writes, in milliseconds: `busy` before it
 * refuses, `pause` between two attempts, and `turn` before it carries out reads that have arrived
 * meanwhile. SQLite has no queue of writers, and its own pauses would miss the short moments
 * between the writes of a busy process.
 */
const WAITS = { busy: 2_000, pause: 0.5, turn: 5 };

/** How often the thread looks whether another connection has written, in milliseconds. */
const WATCH_INTERVAL = 20;

/**
 * A request reads; or writes, with all statements or none; or begins a transaction of several
 * requests, or is a part of it; or begins or ends the watch of the file.
 */
type Kind = "read" | "write" | "begin" | "part" | "watch" | "unwatch";

interface Request {
  readonly id: number;
  readonly kind: Kind;
  readonly statements: readonly Statement[];
}

type Reply =
  | { readonly id: number; readonly rows: Rows }
  | { readonly id: number; readonly error: string }
  | { readonly isChanged: true };

interface ThreadOptions {
  readonly path: string;
  readonly waits: typeof WAITS;
  readonly interval: number;
}

type Rows = readonly (readonly Row[])[];

type OpenDatabase = new (path: string, options: { timeout: number }) => DatabaseSync;

/**
 * The code of the thread. It is passed on as a string, so it uses nothing of this module.
 *
 * Writes that have arrived while the disk was busy are committed together.
 */
function serve(port: MessagePort, { path, waits, interval }: ThreadOptions, Database: OpenDatabase): void {
  let database: DatabaseSync | undefined;
  const statements = new Map<string, StatementSync>();
  let writes: Request[] = [];
  let waitingSince: number | undefined;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));

  const open = (): DatabaseSync => {
    const opened = new Database(path, { timeout: 0 });
    const [mode] = opened.prepare("PRAGMA journal_mode").all() as { journal_mode: string }[];
    // Readers and a writer do not wait for one another.
    if (mode?.journal_mode !== "wal") opened.exec("PRAGMA journal_mode = WAL");
    opened.exec("PRAGMA synchronous = FULL");
    return opened;
  };
  const prepared = (text: string): StatementSync => {
    let statement = statements.get(text);
    if (!statement) {
      // A numbered parameter may be used more than once.
      statement = database!.prepare(text.replaceAll(/\$(\d+)/g, "?$1"));
      statements.set(text, statement);
    }
    return statement;
  };
  const carryOut = (request: Request): (readonly Row[])[] =>
    request.statements.map(({ text, parameters = [] }) => prepared(text).all(...parameters as string[]) as Row[]);
  const refuse = ({ id }: Request, error: unknown): void =>
    port.postMessage({ id, error: error instanceof Error ? error.message : String(error) });

  /** False if another connection has written all the time. */
  const begin = (): boolean => {
    const now = performance.now();
    const since = waitingSince ??= now;
    for (;;) {
      try {
        prepared("BEGIN IMMEDIATE").run();
        waitingSince = undefined;
        return true;
      } catch (error) {
        const isBusy = (error as Error).message.startsWith("database is locked");
        const time = performance.now();
        if (!isBusy || time - since > waits.busy) {
          waitingSince = undefined;
          throw error;
        }
        if (time - now > waits.turn) return false;
        Atomics.wait(sleeper, 0, 0, waits.pause);
      }
    }
  };
  const commit = (database: DatabaseSync, requests: readonly Request[]): void => {
    const replies: { id: number; rows: Rows }[] = [];
    const failed: (() => void)[] = [];
    // If a request is alone, its error rolls back the transaction.
    if (requests.length === 1) replies.push({ id: requests[0]!.id, rows: carryOut(requests[0]!) });
    else {
      for (const request of requests) {
        prepared("SAVEPOINT webfw").run();
        try {
          replies.push({ id: request.id, rows: carryOut(request) });
        } catch (error) {
          // A full disk has ended the transaction.
          if (!database.isTransaction) throw error;
          prepared("ROLLBACK TO webfw").run();
          failed.push(() => refuse(request, error));
        }
        prepared("RELEASE webfw").run();
      }
    }
    prepared("COMMIT").run();
    for (const reply of replies) port.postMessage(reply);
    for (const report of failed) report();
  };
  const commitWrites = (): void => {
    if (writes.length === 0) return;
    let requests: readonly Request[] = writes;
    try {
      if (!begin()) return void setImmediate(commitWrites);
      requests = writes;
      writes = [];
      commit(database!, requests);
    } catch (error) {
      writes = [];
      if (database!.isTransaction) database!.exec("ROLLBACK");
      for (const request of requests) refuse(request, error);
    }
  };

  const beginTransaction = (request: Request): void => {
    try {
      if (begin()) port.postMessage({ id: request.id, rows: [[]] });
      else setImmediate(beginTransaction, request);
    } catch (error) {
      refuse(request, error);
    }
  };
  // SQLite counts the commits of other connections.
  const versionOf = (database: DatabaseSync): unknown => database.prepare("PRAGMA data_version").get()?.data_version;
  let watch: ReturnType<typeof setInterval> | undefined;
  const watchFile = (database: DatabaseSync): void => {
    let version = versionOf(database);
    watch ??= setInterval(() => {
      try {
        const current = versionOf(database);
        if (current === version) return;
        version = current;
        port.postMessage({ isChanged: true });
      } catch {
        // It is busy, and the next look finds the change.
      }
    }, interval);
  };
  const close = (): void => {
    if (writes.length > 0) return void setImmediate(close);
    clearInterval(watch);
    database?.close();
    port.postMessage(null);
  };

  port.on("message", (request: Request | null) => {
    if (request === null) return close();
    try {
      database ??= open();
      if (request.kind === "watch") watchFile(database);
      else if (request.kind === "unwatch") {
        clearInterval(watch);
        watch = undefined;
      }
      if (request.kind === "begin") beginTransaction(request);
      else if (request.kind !== "write") port.postMessage({ id: request.id, rows: carryOut(request) });
      else if (writes.push(request) === 1) setImmediate(commitWrites);
    } catch (error) {
      refuse(request, error);
    }
  });
}

function threadSource(): URL {
  const source = `import { parentPort, workerData } from "node:worker_threads";
import { DatabaseSync } from "node:sqlite";
(${serve})(parentPort, workerData, DatabaseSync);`;
  return new URL(`data:text/javascript,${encodeURIComponent(source)}`);
}

/**
 * Opens or creates a file.
 *
 * @param onLost Called when the thread has ended without `close`.
 * @throws {CannotOpenError} If that will never work.
 */
export async function openSqlite(path: string, onLost: () => void): Promise<SqlEngine> {
  const missing = await missingPermissions([{ name: "read", path }, { name: "write", path }]);
  if (missing.length > 0) throw cannotOpen(path, permissionsReason(missing));
  if (loadingCommand()?.readsOnly && await isMissing(path)) {
    const cure = "start the application with its durable topics once, or name another file in WEBFW_TOPICS";
    throw new StoreMissingError(cannotOpen(path, `there is no such file, ${cure}`).message);
  }
  await makeFolder(dirname(path));
  const engine = new SqliteEngine(path, onLost);
  try {
    await engine.query("SELECT 1 FROM sqlite_schema LIMIT 1");
    return engine;
  } catch (error) {
    engine.close();
    await engine.closed();
    throw isBusyFile(error) ? error : cannotOpen(path, reasonOfFile(error));
  }
}

export class SqliteEngine implements SqlEngine {
  readonly dialect = "sqlite";
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  readonly #waiting = new Map<number, { resolve(rows: Rows): void; reject(error: Error): void }>();
  #requests = 0;
  #isClosed = false;
  /** What is not a part of an open transaction waits for its end. */
  #transaction: Promise<unknown> | undefined;
  readonly #writes = new Set<Promise<Rows>>();
  readonly #listeners = new Set<{ onNotify(payload: string): void; onLost(): void }>();

  constructor(path: string, onLost: () => void) {
    this.#worker = new Worker(threadSource(), {
      workerData: { path, waits: WAITS, interval: WATCH_INTERVAL } satisfies ThreadOptions,
    });
    this.#worker.on("message", (reply: Reply | null) => {
      if (reply) this.#receive(reply);
      else void this.#worker.terminate().then(() => end());
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    const end = (error?: Error): void => {
      resolve();
      for (const { reject } of this.#waiting.values()) reject(error ?? new Error("The thread of the file has ended"));
      this.#waiting.clear();
      if (this.#isClosed) return;
      this.#isClosed = true;
      this.#endListeners();
      onLost();
    };
    this.#worker.on("error", end);
    this.#worker.on("exit", () => end());
    // Only a pending request keeps the process alive.
    this.#worker.unref();
  }

  async query(text: string, parameters?: readonly unknown[]): Promise<readonly Row[]> {
    while (this.#transaction) await this.#transaction;
    const kind = /^(?:SELECT|WITH|PRAGMA)\b/.test(text) ? "read" : "write";
    return await this.#query(kind, text, parameters);
  }

  async batch(statements: readonly Statement[]): Promise<Rows> {
    while (this.#transaction) await this.#transaction;
    return await this.#send("write", statements);
  }

  async transaction<Result>(action: (query: SqlEngine["query"]) => Promise<Result>): Promise<Result> {
    while (this.#transaction) await this.#transaction;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#transaction = promise;
    await Promise.allSettled(this.#writes);
    const query: SqlEngine["query"] = (text, parameters) => this.#query("part", text, parameters);
    try {
      await this.#query("begin", "BEGIN IMMEDIATE");
      try {
        const result = await action(query);
        await query("COMMIT");
        return result;
      } catch (error) {
        await query("ROLLBACK").catch(() => {});
        throw error;
      }
    } finally {
      this.#transaction = undefined;
      resolve();
    }
  }

  async listen(onNotify: (payload: string) => void, onLost: () => void): Promise<() => void> {
    await this.#send("watch", []);
    const listener = { onNotify, onLost };
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0 && !this.#isClosed) this.#send("unwatch", []).catch(() => {});
    };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endListeners();
    this.#worker.ref();
    this.#worker.postMessage(null);
  }

  async closed(): Promise<void> {
    await this.#ended;
  }

  #endListeners(): void {
    for (const { onLost } of this.#listeners) onLost();
    this.#listeners.clear();
  }

  async #query(kind: Kind, text: string, parameters?: readonly unknown[]): Promise<readonly Row[]> {
    const [rows] = await this.#send(kind, [{ text, ...(parameters && { parameters }) }]);
    return rows!;
  }

  #send(kind: Kind, statements: readonly Statement[]): Promise<Rows> {
    if (this.#isClosed) return Promise.reject(new Error("The file is closed"));
    const id = ++this.#requests;
    const { promise, resolve, reject } = Promise.withResolvers<Rows>();
    if (this.#waiting.size === 0) this.#worker.ref();
    this.#waiting.set(id, { resolve, reject });
    if (kind === "write") {
      this.#writes.add(promise);
      const end = () => this.#writes.delete(promise);
      promise.then(end, end);
    }
    this.#worker.postMessage({ id, kind, statements } satisfies Request);
    return promise;
  }

  #receive(reply: Reply): void {
    if ("isChanged" in reply) {
      for (const { onNotify } of this.#listeners) onNotify("");
      return;
    }
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0 && !this.#isClosed) this.#worker.unref();
    if ("rows" in reply) waiting?.resolve(reply.rows);
    else waiting?.reject(new Error(reply.error));
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch {
    // It exists, and this program may not make it; or opening the file reports the reason.
  }
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return false;
  } catch (error) {
    // Opening the file reports any other fault.
    return error instanceof Deno.errors.NotFound;
  }
}

function reasonOfFile(error: unknown): string {
  const reason = reasonOf(error);
  if (reason.includes("not a database")) return "it is no database of SQLite, name another file";
  if (reason.includes("readonly database")) return "this user may not write it, change its owner or name another file";
  if (!reason.startsWith("unable to open database file")) return reason;
  return "it cannot be read and written, name a file in a folder that can";
}
