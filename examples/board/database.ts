/** The data, in a SQLite file that the nodes of one machine share. The topics are in it, too. */
import type { Topic } from "@webfw/core";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

const TABLES = `
  CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, email TEXT UNIQUE, name TEXT, password BLOB);
  CREATE TABLE IF NOT EXISTS tokens (hash TEXT PRIMARY KEY, user INTEGER REFERENCES users ON DELETE CASCADE);
  CREATE TABLE IF NOT EXISTS teams (id INTEGER PRIMARY KEY, name TEXT, hook_url TEXT, hook_secret TEXT);
  CREATE TABLE IF NOT EXISTS members (team INTEGER REFERENCES teams ON DELETE CASCADE,
    user INTEGER REFERENCES users ON DELETE CASCADE, PRIMARY KEY (team, user));
  CREATE TABLE IF NOT EXISTS boards (id INTEGER PRIMARY KEY,
    team INTEGER REFERENCES teams ON DELETE CASCADE, name TEXT);
  CREATE TABLE IF NOT EXISTS cards (id INTEGER PRIMARY KEY, board INTEGER REFERENCES boards ON DELETE CASCADE,
    title TEXT, text TEXT, "column" TEXT DEFAULT 'to do', assignee INTEGER REFERENCES users ON DELETE SET NULL,
    version INTEGER DEFAULT 1, request TEXT UNIQUE);
  CREATE INDEX IF NOT EXISTS cards_of_board ON cards (board);
  CREATE TABLE IF NOT EXISTS attachments (id TEXT PRIMARY KEY,
    card INTEGER REFERENCES cards ON DELETE CASCADE, name TEXT, type TEXT, size INTEGER);`;

/** Publishes a message in a transaction. */
export type Publish = <Data>(topic: Topic<Data>, data: Data) => void;

/** An open database. */
export class Database implements Disposable {
  readonly #sqlite: DatabaseSync;

  /** Opens the file. A new one gets its tables. */
  constructor(file: string) {
    // Another node may hold the lock of writers: wait for it.
    this.#sqlite = new DatabaseSync(file, { timeout: 5_000 });
    this.#sqlite.exec("PRAGMA journal_mode = WAL");
    this.#sqlite.exec(`BEGIN IMMEDIATE; ${TABLES} COMMIT`);
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#sqlite.prepare(sql).all(...values) as Row[];
  }

  /** Returns the first row of a query or of a `RETURNING`. */
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#sqlite.prepare(sql).get(...values) as Row | undefined;
  }

  /** Runs a statement, and returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#sqlite.prepare(sql).run(...values).changes);
  }

  /**
   * Runs a synchronous action in a transaction, so that no other request becomes part of it. The
   * messages that it publishes are there exactly if its rows are.
   */
  async transaction<Result>(action: (publish: Publish) => Result): Promise<Result> {
    const published: Promise<void>[] = [];
    this.#sqlite.exec("BEGIN IMMEDIATE");
    try {
      const result = action((topic, data) => published.push(topic.publish(data, { transaction: this.#sqlite })));
      this.#sqlite.exec("COMMIT");
      await Promise.all(published);
      return result;
    } catch (error) {
      if (this.#sqlite.isTransaction) this.#sqlite.exec("ROLLBACK");
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#sqlite.close();
  }
}
