/** Publishes in transactions of the application: one statement, by whichever client it has. */
import { quote } from "../../base/options.ts";
import { type LogRef, type NewMessage, runsInCall } from "../topic_store.ts";
import { codeOf, type SqlConnection } from "./engine.ts";
import type { TransactionId } from "./open_transactions.ts";
import { encodeText, isTableMissing, quoteName, type Tables } from "./schema.ts";

export interface TransactionAppenderOptions {
  readonly connection: SqlConnection;
  readonly tables: Tables;
  /** The location of the store: the path of a file, or what identifies a database in errors. */
  readonly location: string;
  /** Called when the statement has run. */
  readonly onOpen: (transaction: TransactionId, log: LogRef) => void;
}

/** Runs a statement in a transaction: now if it can. */
type Run = (text: string, parameters: unknown[]) => unknown;

interface Client {
  readonly run: Run;
  readonly isOpen?: () => boolean;
  /**
   * Set if the statement could run outside of the transaction: whether one query of the client may
   * have several statements.
   */
  readonly mayBeOutside?: "multi-statement" | "single-statement";
}

const COLUMNS = "(name, id, type, data, bytes, trace)";

/**
 * Fails outside of a transaction, and then the rest of the query does not run. The savepoint is
 * released at once, so that no row belongs to it: a snapshot has room for few subtransactions.
 */
const GUARD = "SAVEPOINT webfw; RELEASE SAVEPOINT webfw";
const NO_TRANSACTION = "25P01";

const RETURNING = "RETURNING pg_current_xact_id()::text AS transaction";

/** A setting that ends with the transaction. Alone, this statement is one, so nothing is set. */
const MARK = "SELECT set_config('webfw.transaction', 'open', true)";
const IS_MARKED = "current_setting('webfw.transaction', true) = 'open'";
const NOT_NULL_VIOLATION = "23502";

export class TransactionAppender {
  readonly #options: TransactionAppenderOptions;
  readonly #statement: string;
  /** Fails outside of a transaction with the mark. */
  readonly #markedStatement: string;
  /** The tables exist. */
  #isOpen = false;
  /** Connections that have the file of the store open. */
  readonly #ofFile = new WeakSet<object>();

  constructor(options: TransactionAppenderOptions) {
    this.#options = options;
    const { outbox, dialect } = options.tables;
    // PostgreSQL would hold a lock of the whole server during the commit of a NOTIFY, so there is
    // none here. SQLite's `?1` is a position, `$1` a name.
    const statement = (data: string) =>
      dialect === "postgres"
        ? `INSERT INTO ${outbox} ${COLUMNS} VALUES ($1, $2, $3, ${data}, $5, $6) ${RETURNING}`
        : `INSERT INTO ${outbox} ${COLUMNS} VALUES (?1, ?2, ?3, ?4, ?5, ?6)`;
    this.#statement = statement("$4");
    this.#markedStatement = statement(`CASE WHEN ${IS_MARKED} THEN $4::text END`);
  }

  /** Throws in this call if the transaction runs in it. */
  append(transaction: unknown, log: LogRef, message: NewMessage, ready?: Promise<void>): Promise<void> {
    const action = `Cannot publish to the topic "${log.name}" in a transaction`;
    if (runsInCall(transaction)) {
      const { run, isOpen } = this.#clientOf(transaction, action);
      try {
        run(this.#statement, toParameters(log, message));
      } catch (error) {
        throw this.#explain(error, action);
      }
      this.#options.onOpen(isOpen!, log);
      return Promise.resolve();
    }
    return this.#appendLater(transaction, log, message, action, ready);
  }

  async #appendLater(
    transaction: unknown,
    log: LogRef,
    message: NewMessage,
    action: string,
    ready: Promise<void> | undefined,
  ): Promise<void> {
    let client = this.#clientOf(transaction, action);
    // Without a reason to wait, the statement is sent in the call, before a commit that does not
    // wait for it. In SQLite, both would wait for this transaction.
    if (this.#options.tables.dialect === "postgres" && (ready || !this.#isOpen)) {
      if (ready) await ready;
      if (!this.#isOpen) await this.#options.connection.use(async () => {});
      this.#isOpen = true;
      client = this.#clientOf(transaction, action);
    }
    let result: unknown;
    try {
      result = await this.#run(client, log, message);
    } catch (error) {
      throw this.#explain(error, action);
    }
    const id = transactionOf(result);
    if (id !== undefined) this.#options.onOpen(id, log);
  }

  /** A message outside of the transaction would stay when that is rolled back. */
  async #run({ run, mayBeOutside }: Client, log: LogRef, message: NewMessage): Promise<unknown> {
    const parameters = toParameters(log, message);
    if (!mayBeOutside || this.#options.tables.dialect === "sqlite") return await run(this.#statement, parameters);
    if (mayBeOutside === "multi-statement") return await run(this.#guardedQuery(parameters), []);
    await run(MARK, []);
    return await run(this.#markedStatement, parameters);
  }

  /** A query of several statements has no parameters. Base64 needs no escapes. */
  #guardedQuery(parameters: unknown[]): string {
    const row = new TextEncoder().encode(JSON.stringify([parameters])).toBase64();
    return `${GUARD}; INSERT INTO ${this.#options.tables.outbox} ${COLUMNS}
SELECT v ->> 0, v ->> 1, v ->> 2, v ->> 3, (v ->> 4)::int, v ->> 5
FROM json_array_elements(convert_from(decode('${row}', 'base64'), 'UTF8')::json) AS v ${RETURNING}`;
  }

  /** @throws {TypeError} If it is no open transaction of this database. */
  #clientOf(given: unknown, action: string): Client {
    const { tables: { dialect }, location } = this.#options;
    if ((typeof given !== "object" && typeof given !== "function") || given === null) {
      throw new TypeError(`${action}: transaction must be an open transaction, got ${quote(given)}`);
    }
    const known = given as Partial<Record<string, unknown>>;
    const refuseOther = (dialectOfClient: typeof dialect, client: string) => {
      if (dialect === dialectOfClient) return;
      throw new TypeError(`${action}: the transaction is one of ${client}, and the topics are in ${location}`);
    };
    // postgres.js has `prepare`, too, so `unsafe` comes first.
    if (typeof known.unsafe === "function") {
      refuseOther("postgres", "PostgreSQL");
      if (typeof known.savepoint === "function") {
        // It takes a statement when it has ended, too.
        return { run: runOf(known, "unsafe"), mayBeOutside: "multi-statement" };
      }
      throw new TypeError(
        `${action}: transaction is a client of postgres.js, which would publish outside of the transaction, give the tx of sql.begin(async (tx) => …)`,
      );
    }
    if (typeof known.prepare === "function" && typeof known.isTransaction === "boolean") {
      refuseOther("sqlite", "SQLite");
      if (!known.isTransaction) {
        throw new TypeError(`${action}: the DatabaseSync has no open transaction, run BEGIN before`);
      }
      this.#checkFile(given, action);
      const database = given as SqliteDatabase;
      return {
        run: (text, parameters) => database.prepare(text).run(...parameters),
        isOpen: () => isOpen(database),
      };
    }
    if (typeof known.query === "function") {
      if ("totalCount" in known) {
        throw new TypeError(
          `${action}: transaction is a pool of node-postgres, which would publish outside of the transaction, give the client of pool.connect() after BEGIN`,
        );
      }
      if (typeof known.getTransactionStatus === "function") {
        refuseOther("postgres", "PostgreSQL");
        const run = runOf(known, "query");
        // BEGIN or COMMIT may be on its way.
        if (known.readyForQuery !== true) return { run, mayBeOutside: "multi-statement" };
        if (runOf(known, "getTransactionStatus")() !== "I") return { run };
        throw new TypeError(`${action}: the client of node-postgres has no open transaction, run BEGIN before`);
      }
      return { run: runOf(known, "query"), mayBeOutside: "single-statement" };
    }
    throw new TypeError(
      `${action}: transaction must be the tx of postgres.js, a client of node-postgres, a DatabaseSync, or { query(text, parameters) } that runs a statement in the transaction of another client`,
    );
  }

  /** In another file the message would never be read. */
  #checkFile(database: object, action: string): void {
    const { location: file } = this.#options;
    const location: unknown = Reflect.get(database, "location");
    if (this.#ofFile.has(database) || typeof location !== "function") return;
    const path: unknown = Reflect.apply(location, database, []);
    if (typeof path === "string" && isSameFile(path, file)) return void this.#ofFile.add(database);
    throw new TypeError(
      `${action}: the DatabaseSync has ${
        typeof path === "string" ? `${path} open` : "a database in memory"
      }, and the topics are in ${file}, open that file`,
    );
  }

  /** Other errors stay as they are: programs retry after some of them. */
  #explain(error: unknown, action: string): unknown {
    const { tables: { dialect, schema, outbox }, location } = this.#options;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    if (isTableMissing(cause)) {
      const cure = dialect === "postgres" ? `begin it in the database of ${location}` : "start the application before";
      return new TypeError(`${action}: its database has no tables of topics, ${cure}`, { cause: error });
    }
    if ([NO_TRANSACTION, NOT_NULL_VIOLATION].includes(codeOf(cause) ?? "")) {
      const reason = "its statement is in no transaction, nothing is published";
      const cure = "await publish before the commit, and let an adapter use the client of the transaction";
      return new TypeError(`${action}: ${reason}, ${cure}`, { cause: error });
    }
    if (codeOf(cause) !== "42501") return error;
    const grants = `GRANT USAGE ON SCHEMA ${quoteName(schema)} and GRANT INSERT ON ${outbox}`;
    return new Error(`${action}: its role may not publish, ${grants} to the role`, { cause: error });
  }
}

interface SqliteDatabase {
  readonly isTransaction: boolean;
  prepare(text: string): { run(...parameters: unknown[]): unknown };
}

/** A connection that was closed has rolled back, and throws. */
function isOpen(database: SqliteDatabase): boolean {
  try {
    return database.isTransaction;
  } catch {
    return false;
  }
}

/** A method of an object whose type only the names of its methods show. */
function runOf(client: Partial<Record<string, unknown>>, method: string): Run & (() => unknown) {
  return (...args: unknown[]) => Reflect.apply(client[method] as () => unknown, client, args);
}

function toParameters({ name }: LogRef, { id, type, data, bytes, trace }: NewMessage): unknown[] {
  return [encodeText(name), encodeText(id), type === undefined ? null : encodeText(type), data, bytes, trace ?? null];
}

/**
 * postgres.js returns an array of rows, node-postgres and Kysely an object with them, and both an
 * array of these for several statements.
 */
function transactionOf(result: unknown): string | undefined {
  const last: unknown = Array.isArray(result) ? result.at(-1) : result;
  const rows: unknown = typeof last === "object" && last !== null && "rows" in last ? last.rows : last;
  const row: unknown = Array.isArray(rows) ? rows[0] : rows;
  const id: unknown = typeof row === "object" && row !== null && "transaction" in row ? row.transaction : undefined;
  return typeof id === "string" ? id : undefined;
}

function isSameFile(one: string, other: string): boolean {
  if (one === other) return true;
  try {
    const [first, second] = [Deno.statSync(one), Deno.statSync(other)];
    return first.ino === second.ino && first.dev === second.dev;
  } catch {
    // Without the permission it cannot be known.
    return true;
  }
}
