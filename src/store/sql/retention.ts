/** Applies the retention of logs: when a log is trimmed, and from time to time for all of them. */
import { detached } from "../../log/log.ts";
import type { LogBounds, LogRef } from "../topic_store.ts";
import type { Row, SqlConnection, SqlEngine } from "./engine.ts";
import type { LogAppender } from "./log_appender.ts";
import { toBounds } from "./log_reader.ts";
import { decodeText, encodeText, type Tables, timeOf } from "./schema.ts";

/** Between two sweeps of a process, in milliseconds, and half as much at random. */
const INTERVAL = 10_000;
/** The most messages or records that one statement removes. */
const MAX_REMOVED = 1_000;
/**
 * How long the rows of expired and deleted records stay, in milliseconds. Until then a write that
 * is carried out late finds the version that it would undo.
 */
const RECORD_MEMORY = 120_000;

export interface RetentionOptions {
  readonly connection: SqlConnection;
  readonly tables: Tables;
  readonly appender: LogAppender;
  readonly now: () => number | null;
}

export class Retention {
  readonly #options: RetentionOptions;
  readonly #statements: ReturnType<typeof statementsOf>;
  readonly #closing = new AbortController();
  #isRunning = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sweep: Promise<void> = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#statements = statementsOf(options.tables);
  }

  /** Begins the sweeps, which end with the store. */
  start(): void {
    if (this.#isRunning || this.#closing.signal.aborted) return;
    this.#isRunning = true;
    void detached(() => this.#schedule());
  }

  async trim(log: LogRef): Promise<LogBounds> {
    const { age, count, bytes, dedupe } = log.policy;
    const bounds = [age, count, bytes, dedupe].map((bound) => Math.min(bound, Number.MAX_SAFE_INTEGER));
    return await this.#trim(log.name, bounds) ?? await this.#trimNew(log, bounds);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#sweep;
  }

  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      // The connection has logged an error, and the next sweep tries again.
      this.#sweep = this.#sweepAll().catch(() => {}).finally(() => this.#schedule());
    }, INTERVAL * (1 + Math.random() / 2));
    // It must not keep the process alive.
    Deno.unrefTimer(this.#timer);
  }

  async #sweepAll(): Promise<void> {
    const { appender, connection, now } = this.#options;
    const { signal } = this.#closing;
    const due = await connection.use(({ query }) => query(this.#statements.due, [now()]), signal);
    for (const { name, is_waiting } of due) {
      if (signal.aborted) return;
      if (is_waiting) await appender.seal(decodeText(String(name)));
      await this.#trim(decodeText(String(name)), NO_BOUNDS);
    }
    const expire = ({ query }: SqlEngine) => query(this.#statements.expire, [now(), RECORD_MEMORY]);
    for (let removed = MAX_REMOVED; removed === MAX_REMOVED && !signal.aborted;) {
      removed = (await connection.use(expire, signal, "write")).length;
    }
  }

  async #trimNew(log: LogRef, bounds: readonly number[]): Promise<LogBounds> {
    await this.#options.appender.create(log);
    return (await this.#trim(log.name, bounds))!;
  }

  /** Undefined if there is no such log. */
  async #trim(name: string, bounds: readonly (number | null)[]): Promise<LogBounds | undefined> {
    const { connection, now, tables } = this.#options;
    const parameters = [encodeText(name), now(), ...bounds];
    const carryOut = tables.dialect === "postgres"
      ? async ({ query }: SqlEngine) => (await query(this.#statements.trim, parameters))[0]
      : (engine: SqlEngine) => this.#trimSqlite(engine, parameters);
    for (;;) {
      const row: Row | undefined = await connection.use(carryOut, undefined, "write");
      if (!row) return undefined;
      if (Math.max(Number(row.removed), Number(row.purged)) < MAX_REMOVED) return toBounds(row);
    }
  }

  async #trimSqlite({ batch }: SqlEngine, parameters: readonly unknown[]): Promise<Row | undefined> {
    const [name, now, , , , dedupe] = parameters;
    const { cut, move, purge, blank, bounds } = this.#statements;
    const [removed, , , purged, found] = await batch!([
      { text: cut, parameters: parameters.slice(0, 5) },
      { text: blank, parameters: parameters.slice(0, 5) },
      { text: move, parameters: parameters.slice(0, 5) },
      { text: purge, parameters: [name, now, dedupe] },
      { text: bounds, parameters: [name] },
    ]);
    return found![0] && { ...found![0], removed: removed![0]?.removed ?? 0, purged: purged!.length };
  }
}

/** The stored policy. */
const NO_BOUNDS = [null, null, null, null] as const;

function statementsOf(tables: Tables) {
  const { logs, messages, outbox, records, dialect } = tables;
  const isPostgres = dialect === "postgres";
  const time = timeOf(tables, "$2");
  const bound = (parameter: string, column: string) =>
    `coalesce(${parameter}${isPostgres ? "::float8" : ""}, ${column}, 9e15)`;
  // Messages are old or too many from the oldest one on, so those to remove are the first ones.
  const excess = `SELECT coalesce(max(o.seq), 0) AS low, count(o.seq) AS removed, coalesce(sum(o.bytes), 0) AS bytes
  FROM (
    SELECT m.seq, m.bytes, m.time, row_number() OVER (ORDER BY m.seq) AS place, sum(m.bytes) OVER (ORDER BY m.seq) AS running
    FROM ${messages} m, l WHERE m.log = l.id AND m.seq > l.low ORDER BY m.seq LIMIT ${MAX_REMOVED}
  ) o, l
  WHERE o.time < ${time} - l.age
    OR o.seq <> l.head AND (l.count - o.place + 1 > l.most OR l.bytes - o.running + o.bytes > l.most_bytes)`;
  const log = (end: string) =>
    `SELECT id, head, low, count, bytes, ${bound("$3", "max_age")} AS age, ${bound("$4", "max_count")} AS most,
    ${bound("$5", "max_bytes")} AS most_bytes FROM ${logs} WHERE name = $1 ${end}`;
  const move = `SET low = greatest(g.low, cut.low), count = g.count - cut.removed, bytes = g.bytes - cut.bytes`;
  const lastPurged = (id: string, low: string) =>
    `(SELECT max(seq) FROM (SELECT seq FROM ${messages} WHERE log = ${id} AND seq <= ${low} ORDER BY seq LIMIT ${MAX_REMOVED}) x)`;
  const oldest = (condition: string) =>
    `(SELECT x.time FROM ${messages} x WHERE x.log = g.id AND ${condition} ORDER BY x.seq LIMIT 1)`;
  const now = timeOf(tables, "$1");
  const isPast = `expires > 0 AND expires < ${now} - $2`;
  const isOverDeleted = `expires < 0 AND expires > $2 - ${now}`;
  const ended = `SELECT key FROM (
  SELECT key FROM ${records} WHERE ${isPast} UNION ALL SELECT key FROM ${records} WHERE ${isOverDeleted}
) x LIMIT ${MAX_REMOVED}`;
  return {
    due: `SELECT name, is_waiting FROM (
  SELECT name, EXISTS (SELECT 1 FROM ${outbox} o WHERE o.name = g.name) AS is_waiting, count > coalesce(max_count, 9e15)
    OR bytes > coalesce(max_bytes, 9e15) AND count > 1
    OR coalesce(${oldest("x.seq > g.low")} < ${now} - max_age, ${isPostgres ? "false" : "0"})
    OR coalesce(${oldest("x.seq <= g.low")} < ${now} - dedupe, ${isPostgres ? "false" : "0"}) AS is_due
  FROM ${logs} g
) d WHERE is_waiting OR is_due`,

    // A deleted record has the time of the deletion as a negative number. One that is set again
    // meanwhile stays.
    expire: `DELETE FROM ${records} WHERE (${isPast} OR ${isOverDeleted}) AND key ${
      isPostgres ? `= ANY (ARRAY(${ended}))` : `IN (${ended})`
    } RETURNING 1`,

    // PostgreSQL, in one statement.
    trim: `WITH l AS (${log("FOR UPDATE")}), cut AS (${excess}), moved AS (
  UPDATE ${logs} g ${move} FROM l, cut WHERE g.id = l.id RETURNING g.id, g.incarnation, g.low, g.head, g.dedupe, cut.removed
), mark AS (
  SELECT id, ${lastPurged("moved.id", "moved.low")} AS last, ${time} - ${bound("$6", "dedupe")} AS before FROM moved
), purged AS (
  DELETE FROM ${messages} m USING mark WHERE m.log = mark.id AND m.seq <= mark.last AND m.time < mark.before RETURNING 1
), blanked AS (
  UPDATE ${messages} m SET data = '', type = NULL, trace = NULL FROM l, moved, mark
  WHERE m.log = l.id AND m.seq > l.low AND m.seq <= moved.low AND m.time >= mark.before
)
SELECT incarnation, low, head, removed, (SELECT count(*) FROM purged) AS purged FROM moved`,

    // SQLite, in one transaction.
    cut: `WITH l AS (${log("")}), cut AS (${excess}) SELECT removed FROM cut`,
    move: `WITH l AS (${log("")}), cut AS (${excess})
UPDATE ${logs} AS g ${move.replace("greatest", "max")} FROM l, cut WHERE g.id = l.id`,
    purge: `DELETE FROM ${messages} WHERE log = (SELECT id FROM ${logs} WHERE name = $1)
  AND seq <= ${lastPurged(`(SELECT id FROM ${logs} WHERE name = $1)`, `(SELECT low FROM ${logs} WHERE name = $1)`)}
  AND time < $2 - ${bound("$3", `(SELECT dedupe FROM ${logs} WHERE name = $1)`)} RETURNING 1`,
    blank: `WITH l AS (${log("")}), cut AS (${excess})
UPDATE ${messages} SET data = '', type = NULL, trace = NULL
WHERE log = (SELECT id FROM l) AND seq > (SELECT low FROM l) AND seq <= (SELECT low FROM cut)`,
    bounds: `SELECT incarnation, low, head FROM ${logs} WHERE name = $1`,
  };
}
