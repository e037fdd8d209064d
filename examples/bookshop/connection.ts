/** A connection to SQLite that binds every value. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

/**
 * A connection, for one request at a time.
 *
 * Statements are templates whose values are bound, so no input of a client becomes part of the SQL.
 */
export class Connection implements Disposable {
  readonly #sqlite: DatabaseSync;
  readonly #giveBack: (connection: Connection) => void;

  constructor(file: string, giveBack: (connection: Connection) => void) {
    // Another process may be writing: wait for it, up to a second.
    this.#sqlite = new DatabaseSync(file, { timeout: 1000 });
    this.#sqlite.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    this.#giveBack = giveBack;
  }

  /** All rows. Nothing checks that they are of type `Row`. */
  all<Row>(sql: TemplateStringsArray, ...values: SQLInputValue[]): Row[] {
    return this.#sqlite.prepare(sql.join("?")).all(...values) as Row[];
  }

  /** The first row, or undefined. */
  first<Row>(sql: TemplateStringsArray, ...values: SQLInputValue[]): Row | undefined {
    return this.#sqlite.prepare(sql.join("?")).get(...values) as Row | undefined;
  }

  /** Rows one at a time, each read when it is asked for. */
  each<Row>(sql: TemplateStringsArray, ...values: SQLInputValue[]): Iterable<Row> {
    return this.#sqlite.prepare(sql.join("?")).iterate(...values) as Iterable<Row>;
  }

  /** Changes rows, and returns their number. */
  run(sql: TemplateStringsArray, ...values: SQLInputValue[]): number {
    return Number(this.#sqlite.prepare(sql.join("?")).run(...values).changes);
  }

  /**
   * Does all of the work or, if it throws, none of it.
   *
   * The work is not async. Otherwise another request could run into its lock while it waits, and
   * SQLite would block the process that has to release the lock.
   */
  transaction<Result>(work: () => Result extends Promise<unknown> ? never : Result): Result {
    this.#sqlite.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#sqlite.exec("COMMIT");
      return result;
    } finally {
      if (this.#sqlite.isTransaction) this.#sqlite.exec("ROLLBACK");
    }
  }

  /** Returns the connection to its owner. */
  [Symbol.dispose](): void {
    this.#giveBack(this);
  }

  /** Closes the connection for good. */
  close(): void {
    this.#sqlite.close();
  }
}
