/** The tables of logs and records, and the SQL in which PostgreSQL and SQLite differ. */
import { loadingCommand } from "../../base/runtime.ts";
import { cannotOpen } from "../cannot_open.ts";
import type { RecordKey } from "../record_store.ts";
import { StoreMissingError } from "../topic_store.ts";
import { codeOf, type Dialect, type Row, type SqlEngine } from "./engine.ts";

/** The version of the tables. A later one needs a step that changes the tables before it. */
const VERSION = 1;

export const DEFAULT_SCHEMA = "webfw";

/**
 * Any number that other programs are unlikely to use: PostgreSQL's advisory locks share one space.
 */
const MIGRATION_LOCK = 7_239_451_108;

export interface Tables {
  readonly dialect: Dialect;
  /** Of PostgreSQL, also the channel of its notifications. */
  readonly schema: string;
  readonly version: string;
  readonly logs: string;
  readonly messages: string;
  /** Messages that transactions of users have published. They get their place in the log later. */
  readonly outbox: string;
  readonly records: string;
}

/** SQLite has no schemas in a file, so its tables have a prefix. */
export function tablesOf(dialect: Dialect, schema: string = DEFAULT_SCHEMA): Tables {
  const before = dialect === "sqlite" ? `${DEFAULT_SCHEMA}_` : `${quoteName(schema)}.`;
  const [version, logs, messages, outbox, records] = ["version", "logs", "messages", "outbox", "records"]
    .map((name) => before + name) as [string, string, string, string, string];
  return { dialect, schema, version, logs, messages, outbox, records };
}

/** It may be a word of SQL, such as `user`. */
export function quoteName(name: string): string {
  return name === DEFAULT_SCHEMA ? name : `"${name.replaceAll('"', '""')}"`;
}

/** The time of the database in ms, or that of a parameter that is not null. */
export function timeOf({ dialect }: Tables, parameter: string): string {
  if (dialect === "sqlite") return parameter;
  return `coalesce(${parameter}::float8, floor(extract(epoch FROM clock_timestamp()) * 1000)::float8)`;
}

/** A subquery with the strings of a parameter that is a JSON array. */
export function stringsOf({ dialect }: Tables, parameter: string): string {
  return dialect === "sqlite"
    ? `SELECT value FROM json_each(${parameter})`
    : `SELECT json_array_elements_text(${parameter}::text::json)`;
}

/** The statements that make the tables. Each of them has no effect if it was carried out before. */
function statementsOf(tables: Tables): readonly string[] {
  const { dialect, version, logs, messages, outbox, records } = tables;
  const isPostgres = dialect === "postgres";
  // Bytes decide the order, so that keys with one prefix are a range.
  const text = isPostgres ? 'text COLLATE "C"' : "text";
  const serial = isPostgres ? "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY" : "integer PRIMARY KEY";
  const number = isPostgres ? "double precision" : "real";
  const content = "type text, data text NOT NULL, bytes integer NOT NULL, trace text";
  // Each append updates the row of its log. Free space in its page keeps the new version there.
  const filled = isPostgres ? " WITH (fillfactor = 50)" : "";
  const index = (name: string) => isPostgres ? name : `${DEFAULT_SCHEMA}_${name}`;
  return [
    ...(isPostgres ? [`CREATE SCHEMA IF NOT EXISTS ${quoteName(tables.schema)}`] : []),
    `CREATE TABLE IF NOT EXISTS ${version} (version integer NOT NULL)`,
    `CREATE TABLE IF NOT EXISTS ${logs} (
  id ${serial}, name ${text} NOT NULL UNIQUE, incarnation text NOT NULL,
  head bigint NOT NULL DEFAULT 0, low bigint NOT NULL DEFAULT 0,
  count bigint NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0, time bigint NOT NULL DEFAULT 0,
  max_age ${number}, max_count ${number}, max_bytes ${number}, dedupe ${number}
)${filled}`,
    `CREATE TABLE IF NOT EXISTS ${messages} (
  log bigint NOT NULL, seq bigint NOT NULL, id ${text}, ${content},
  token bigint NOT NULL, time bigint NOT NULL,
  PRIMARY KEY (log, seq), UNIQUE (log, id)
)`,
    `CREATE TABLE IF NOT EXISTS ${outbox} (
  n ${serial}, name ${text} NOT NULL, id ${text} NOT NULL, ${content}
)`,
    `CREATE INDEX IF NOT EXISTS ${index("outbox_name")} ON ${outbox} (name, n)`,
    `CREATE TABLE IF NOT EXISTS ${records} (
  key ${text} PRIMARY KEY, value text NOT NULL, version text NOT NULL, expires ${number}
)`,
    `CREATE INDEX IF NOT EXISTS ${index("records_expires")} ON ${records} (expires) WHERE expires IS NOT NULL`,
    `INSERT INTO ${version} (version) SELECT ${VERSION} WHERE NOT EXISTS (SELECT 1 FROM ${version})`,
  ];
}

/** The SQL of the tables, for a program of migrations. */
export function schemaText(dialect: Dialect, schema?: string): string {
  const tables = tablesOf(dialect, schema);
  const statements = statementsOf(tables).map((statement) => `${statement};\n`).join("\n");
  if (dialect === "sqlite") return statements;
  const name = quoteName(tables.schema);
  return `${statements}
-- The role of a running node:
-- GRANT USAGE ON SCHEMA ${name} TO …;
-- GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO …;
-- The role of transactions that publish:
-- GRANT USAGE ON SCHEMA ${name} TO …;
-- GRANT INSERT ON ${tables.outbox} TO …;
`;
}

/**
 * Makes the tables where they are missing. Two nodes may do so at once.
 *
 * @throws {CannotOpenError} If this program cannot use the tables, or may not make them.
 */
export async function migrate(engine: SqlEngine, tables: Tables, name: string): Promise<void> {
  if (await isCurrent(engine, tables, name)) return;
  if (loadingCommand()?.readsOnly) {
    const cure = "start the application with its durable topics once, or name another place in WEBFW_TOPICS";
    throw new StoreMissingError(cannotOpen(name, `it has no tables of topics, ${cure}`).message);
  }
  try {
    await engine.transaction(async (query) => {
      const statements = statementsOf(tables);
      if (tables.dialect === "postgres") {
        await query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
        // Another node may have made them meanwhile.
        const [table] = await query("SELECT to_regclass($1) IS NOT NULL AS is_there", [tables.version]);
        const [made] = table?.is_there ? await query(`SELECT version FROM ${tables.version}`) : [];
        if (Number(made?.version) === VERSION) return;
        // PostgreSQL checks the right to make a schema even if the schema exists.
        const found = await query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [tables.schema]);
        for (const statement of found.length > 0 ? statements.slice(1) : statements) await query(statement);
      } else for (const statement of statements) await query(statement);
    });
  } catch (error) {
    throw isForbidden(error) ? cannotOpen(name, grantsReason(tables)) : error;
  }
}

async function isCurrent(engine: SqlEngine, tables: Tables, name: string): Promise<boolean> {
  let rows: readonly Row[];
  try {
    rows = await engine.query(`SELECT version, ${mayUse(tables)} AS may_use FROM ${tables.version}`);
  } catch (error) {
    if (isTableMissing(error)) return false;
    throw isForbidden(error) ? cannotOpen(name, grantsReason(tables)) : error;
  }
  const found = Number(rows[0]?.version ?? 0);
  if (found === VERSION && !rows[0]?.may_use && !loadingCommand()?.readsOnly) {
    throw cannotOpen(name, grantsReason(tables));
  }
  if (found <= VERSION) return found === VERSION;
  const cure = "update webfw on this node";
  throw cannotOpen(name, `its tables have version ${found}, and this node knows version ${VERSION}, ${cure}`);
}

/** Without one of the rights, some work would fail in the background alone. */
function mayUse({ dialect, logs, messages, outbox, records }: Tables): string {
  if (dialect === "sqlite") return "true";
  const names = [logs, messages, outbox, records].map((name) => `('${name}')`).join(", ");
  return `(SELECT bool_and(has_table_privilege(t, p)) FROM (VALUES ${names}) AS t (t), (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS p (p))`;
}

function grantsReason({ dialect, schema }: Tables): string {
  if (dialect === "sqlite") return "this program may not write it";
  const rights = `USAGE on the schema ${schema} and SELECT, INSERT, UPDATE, DELETE on its tables`;
  return `its role may not make or use the tables, grant it ${rights} after "webfw topics --schema" was carried ` +
    "out by an owner, or CREATE on the database";
}

export function isTableMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "42P01" || code === "3F000" || (error instanceof Error && error.message.startsWith("no such table"));
}

function isForbidden(error: unknown): boolean {
  return codeOf(error) === "42501";
}

/** Encodes a string for a column: PostgreSQL stores no NUL in a string. */
export function encodeText(text: string): string {
  return /[~\0]/.test(text) ? text.replaceAll("~", "~0").replaceAll("\0", "~1") : text;
}

export function decodeText(text: string): string {
  return text.includes("~") ? text.replaceAll("~1", "\0").replaceAll("~0", "~") : text;
}

/** `/` ends each part, so a key is the beginning of those below it. */
export function encodeKey(key: RecordKey): string {
  return key.map((part) => `${encodeText(part).replaceAll("/", "~2")}/`).join("");
}

export function decodeKey(text: string): RecordKey {
  return text.slice(0, -1).split("/").map((part) => decodeText(part.replaceAll("~2", "/")));
}
