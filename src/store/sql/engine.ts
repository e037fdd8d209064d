/** A database with SQL as the store needs it: PostgreSQL, or a file of SQLite. */
import type { StoreConnection, StoreEngine } from "../store_connection.ts";

export type Dialect = "postgres" | "sqlite";

/** By the names of the columns. PostgreSQL's `bigint` may be a string. */
export type Row = Readonly<Record<string, unknown>>;

export interface Statement {
  readonly text: string;
  /** Of `$1`, `$2` … in both dialects. PostgreSQL also has arrays of strings and numbers. */
  readonly parameters?: readonly unknown[];
}

/**
 * An open database. It repeats nothing: `StoreConnection` repeats and abandons requests. Sessions
 * of PostgreSQL commit to the disk, and their isolation is READ COMMITTED.
 */
export interface SqlEngine extends StoreEngine {
  readonly dialect: Dialect;

  /** Carries out one statement, in a transaction of its own. */
  query(text: string, parameters?: readonly unknown[]): Promise<readonly Row[]>;

  /** Commits when the action resolves, and undoes everything when it rejects. */
  transaction<Result>(action: (query: SqlEngine["query"]) => Promise<Result>): Promise<Result>;

  /** Carries out statements in one transaction and one round trip, such as in a file's thread. */
  batch?(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;

  /**
   * Listens on the channel that has the name of the schema. Other processes notify there. A file
   * notifies with an empty payload when another connection has written.
   *
   * @param onLost Called once, when nothing is heard any more: the connection that listens has ended,
   * or the database was closed, perhaps to be opened again.
   * @returns Ends it.
   */
  listen?(onNotify: (payload: string) => void, onLost: () => void): Promise<() => void>;

  close(): void;

  /** Resolves when it is closed, and its connections and threads have ended. */
  closed?(): Promise<void>;
}

export type SqlConnection = StoreConnection<SqlEngine>;

/** The five characters of an error of PostgreSQL. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** PostgreSQL has as many connections as the server, the database or the role may have. */
export function isServerFull(error: unknown): boolean {
  return codeOf(error) === "53300";
}
