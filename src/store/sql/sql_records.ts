/** Records in a table beside the logs. */
import type { ListedRecord, RecordKey, RecordStore, StoredRecord } from "../record_store.ts";
import type { ChangeNotifier } from "./change_notifier.ts";
import type { Row, SqlConnection } from "./engine.ts";
import { decodeKey, encodeKey, type Tables, timeOf } from "./schema.ts";

/** How many records one statement lists. */
const PAGE = 100;

export interface SqlRecordsOptions {
  readonly connection: SqlConnection;
  readonly tables: Tables;
  readonly notifier: ChangeNotifier;
  /** Null: that of the database. */
  readonly now: () => number | null;
  /** Called when records were written that expire. */
  readonly onExpiring: () => void;
}

/** A write: the value and when it expires, or neither for a deletion. */
interface Change {
  readonly value: string | null;
  readonly expiresIn: number | null;
}

/**
 * The database may carry out an abandoned write at any later time. So each write makes its version
 * itself, and replaces the version that its caller expects or that was read before; when it is
 * repeated, it finds its own version. A deleted record keeps its row for two minutes, so that a
 * late write finds that row and not an absent record.
 */
export class SqlRecords implements RecordStore {
  readonly #options: SqlRecordsOptions;
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(options: SqlRecordsOptions) {
    this.#options = options;
    this.#statements = statementsOf(options.tables);
  }

  readonly get: RecordStore["get"] = async (key) => {
    const row = await this.#read(encodeKey(key));
    return row?.is_present ? toRecord(row) : null;
  };

  readonly set: RecordStore["set"] = async (key, value, { expect, expiresIn }) => {
    const version = await this.#change(key, { value, expiresIn: expiresIn ?? null }, expect);
    if (version !== undefined && expiresIn !== undefined) this.#options.onExpiring();
    return version ?? null;
  };

  readonly delete: RecordStore["delete"] = async (key, { expect }) => {
    const version = await this.#change(key, { value: null, expiresIn: null }, expect);
    this.#options.onExpiring();
    return version !== undefined;
  };

  async *list(prefix: RecordKey): AsyncGenerator<ListedRecord<string>> {
    const begin = encodeKey(prefix);
    // "0" follows "/".
    const end = begin.slice(0, -1) + "0";
    for (let after = "";;) {
      const parameters = [begin, end, after, this.#options.now()];
      const rows: readonly Row[] = await this.#options.connection.use(({ query }) =>
        query(this.#statements.list, parameters)
      );
      for (const row of rows) yield { key: decodeKey(String(row.key)), ...toRecord(row) };
      if (rows.length < PAGE) return;
      after = String(rows.at(-1)!.key);
    }
  }

  readonly watch = (key: RecordKey, onChange: () => void): () => void =>
    this.#options.notifier.watchRecords(key, onChange);

  /** Returns the version of the write; undefined if the record is not as expected. */
  async #change(key: RecordKey, change: Change, expect: string | null | undefined): Promise<string | undefined> {
    const text = encodeKey(key);
    const version = crypto.randomUUID();
    const isWritten = await this.#writeExpected(text, version, change, expect);
    if (isWritten) this.#options.notifier.recordChanged(key);
    // A record that is absent needs no deletion.
    return isWritten ?? true ? version : undefined;
  }

  /** Undefined if there was nothing to delete. */
  async #writeExpected(
    key: string,
    version: string,
    change: Change,
    expect: string | null | undefined,
  ): Promise<boolean | undefined> {
    if (typeof expect === "string") return await this.#replace(key, version, change, expect, true);
    // Mostly it is absent.
    if (expect === null && await this.#insert(key, version, change)) return true;
    for (;;) {
      const row = await this.#read(key);
      if (row?.version === version) return true;
      if (expect === null && row?.is_present) return false;
      if (change.value === null && !row?.is_present) return undefined;
      const isWritten = row
        ? await this.#replace(key, version, change, String(row.version), false)
        : await this.#insert(key, version, change);
      if (isWritten) return true;
    }
  }

  async #read(key: string): Promise<Row | undefined> {
    const parameters = [key, this.#options.now()];
    return (await this.#options.connection.use(({ query }) => query(this.#statements.get, parameters)))[0];
  }

  async #insert(key: string, version: string, { value, expiresIn }: Change): Promise<boolean> {
    return await this.#write(this.#statements.insert, () => [key, value, version, this.#options.now(), expiresIn]);
  }

  async #replace(
    key: string,
    version: string,
    { value, expiresIn }: Change,
    expected: string,
    isPresent: boolean,
  ): Promise<boolean> {
    const { replace, replacePresent } = this.#statements;
    return await this.#write(
      isPresent ? replacePresent : replace,
      () => [key, value, version, this.#options.now(), expiresIn, expected],
    );
  }

  async #write(text: string, parameters: () => readonly unknown[]): Promise<boolean> {
    const rows = await this.#options.connection.use(({ query }) => query(text, parameters()), undefined, "write");
    return rows.length > 0;
  }
}

function toRecord({ value, version }: Row): StoredRecord<string> {
  return { value: String(value), version: String(version) };
}

function statementsOf(tables: Tables) {
  const { records } = tables;
  const [text, number] = tables.dialect === "postgres" ? ["::text", "::float8"] : ["", ""];
  const now = timeOf(tables, "$4");
  // A deleted record has expired at all times. Its row has the time of the deletion.
  const expires = `CASE WHEN $2${text} IS NULL THEN -${now} ELSE ${now} + $5${number} END`;
  const set = `value = coalesce($2${text}, ''), version = $3, expires = ${expires}`;
  const isPresent = (parameter: string) => `(expires IS NULL OR expires > ${timeOf(tables, parameter)})`;
  const replace = (isExpected: string) =>
    `UPDATE ${records} SET ${set} WHERE key = $1 AND (version = $3 OR ${isExpected}) RETURNING version`;
  return {
    get: `SELECT value, version, ${isPresent("$2")} AS is_present FROM ${records} WHERE key = $1`,
    list: `SELECT key, value, version FROM ${records}
WHERE key >= $1 AND key < $2 AND key > $3 AND ${isPresent("$4")} ORDER BY key LIMIT ${PAGE}`,
    insert: `INSERT INTO ${records} AS r (key, value, version, expires) VALUES ($1, $2, $3, ${now} + $5${number})
ON CONFLICT (key) DO UPDATE SET version = r.version WHERE r.version = $3 RETURNING version`,
    replace: replace("version = $6"),
    replacePresent: replace(`version = $6 AND ${isPresent("$4")}`),
  };
}
