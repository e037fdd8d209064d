/** Reads logs. Whoever reads a log first moves its messages from the outbox there. */
import { log } from "../../log/log.ts";
import {
  type Cursor,
  cursorToNumber,
  LOG_START,
  type LogBounds,
  type LogPage,
  type LogPolicy,
  type LogPosition,
  type LogRef,
  numberToCursor,
  type ReadLimits,
  type StoredMessage,
} from "../topic_store.ts";
import type { Row, SqlConnection } from "./engine.ts";
import type { LogAppender } from "./log_appender.ts";
import { isRestored, type SeenPositions } from "./positions.ts";
import { decodeText, encodeText, type Tables, timeOf } from "./schema.ts";

/** How many topics one entry names. */
const MAX_WAITING = 10;

/** Beyond the end of any log. */
const NOTHING_AFTER: Cursor = "f".repeat(LOG_START.length);

export interface LogReaderOptions {
  readonly connection: SqlConnection;
  readonly tables: Tables;
  readonly positions: SeenPositions;
  readonly appender: LogAppender;
  readonly now: () => number | null;
  readonly trim: (log: LogRef) => Promise<unknown>;
}

export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #statements: ReturnType<typeof statementsOf>;
  /** What was logged last. */
  #waiting = "";

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#statements = statementsOf(options.tables);
  }

  async read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    const { appender, positions, trim } = this.#options;
    let rows = await this.#read(log, after, limits);
    if (!rows[0]) {
      await appender.create(log);
      rows = await this.#read(log, after, limits);
    }
    // One round is enough: messages that were committed meanwhile are seen by the next read.
    if (rows[0]?.is_waiting || rows[0]?.is_restored) {
      await appender.seal(log.name, log.policy);
      rows = await this.#read(log, after, limits);
    }
    if (rows[0]?.is_old) {
      await trim(log);
      rows = await this.#read(log, after, limits);
    }
    const [row] = rows;
    if (!row) throw new Error("Cannot read the log: its tables were emptied meanwhile");
    const { incarnation, head, time } = row;
    positions.note(log.name, { incarnation: String(incarnation), head: Number(head), time: Number(time) });
    return { ...toBounds(row), messages: rows.filter(({ seq }) => seq !== null).map(toMessage) };
  }

  async bounds(log: LogRef): Promise<LogBounds> {
    const { messages: _, ...bounds } = await this.read(log, NOTHING_AFTER, { maxMessages: 1, maxBytes: 1 });
    return bounds;
  }

  async seek(log: LogRef, time: Date): Promise<LogPosition> {
    const { incarnation } = await this.bounds(log);
    const parameters = [encodeText(log.name), time.getTime()];
    const [row] = await this.#options.connection.use(({ query }) => query(this.#statements.seek, parameters));
    return { incarnation, cursor: numberToCursor(Number(row?.lo ?? 0)) };
  }

  async list(): Promise<readonly LogRef[]> {
    const { connection } = this.#options;
    const rows = await connection.use(({ query }) => query(this.#statements.list));
    this.#noteWaiting(await connection.use(({ query }) => query(this.#statements.waiting)));
    return rows.map((row) => ({ name: decodeText(String(row.name)), policy: toPolicy(row) }));
  }

  /** No node may know their topics, such as after a mistake in a name. */
  #noteWaiting(rows: readonly Row[]): void {
    const waiting = rows.map(({ name, count }) => `${decodeText(String(name))} (${count})`).join(", ");
    if (waiting === this.#waiting) return;
    this.#waiting = waiting;
    if (waiting === "") return;
    log("warn", "Messages wait in the outbox until a node declares their topics", { topics: waiting });
  }

  #read({ name, policy }: LogRef, after: Cursor, { maxMessages, maxBytes }: ReadLimits): Promise<readonly Row[]> {
    const { connection, now, positions } = this.#options;
    const { incarnation, head, time } = positions.of(name);
    return connection.use(({ query }) =>
      query(this.#statements.read, [
        encodeText(name),
        // A cursor from a client may be larger than any number of a message.
        Math.min(cursorToNumber(after), Number.MAX_SAFE_INTEGER),
        maxMessages,
        now(),
        policy.age === Infinity ? null : policy.age,
        incarnation,
        head,
        time,
        maxBytes,
      ])
    );
  }
}

function statementsOf(tables: Tables) {
  const { logs, messages, outbox, dialect } = tables;
  const isPostgres = dialect === "postgres";
  const age = isPostgres ? "$5::float8" : "$5";
  const bigint = (parameter: string) => isPostgres ? `${parameter}::bigint` : parameter;
  const middle = "(lo + hi + 1) / 2";
  const isEarlier = `coalesce((SELECT x.time FROM ${messages} x WHERE x.log = s.id AND x.seq <= ${middle}
    ORDER BY x.seq DESC LIMIT 1), -1) < $2`;
  return {
    // The bounds of the log, and one row for each message.
    read: `WITH l AS (
  SELECT id, incarnation, head, low, time, ${timeOf(tables, "$4")} AS now,
    ${isRestored(tables, "$6", bigint("$7"), bigint("$8"))} AS is_restored,
    EXISTS (SELECT 1 FROM ${outbox} o WHERE o.name = g.name) AS is_waiting,
    (SELECT x.time FROM ${messages} x WHERE x.log = g.id AND x.seq > g.low ORDER BY x.seq LIMIT 1)
      < ${timeOf(tables, "$4")} - ${age} AS is_old
  FROM ${logs} g WHERE name = $1
), m AS (
  SELECT seq, type, data, bytes, trace, time AS stored_at, sum(bytes) OVER (ORDER BY seq) AS running FROM (
    SELECT seq, type, data, bytes, trace, time FROM ${messages}
    WHERE log = (SELECT id FROM l) AND seq > $2 AND seq > (SELECT low FROM l) ORDER BY seq LIMIT $3
  ) x
)
SELECT l.*, m.* FROM l LEFT JOIN m ON m.running <= $9 OR m.running = m.bytes ORDER BY m.seq`,

    // A binary search: times never decrease in a log.
    seek: `WITH RECURSIVE s (id, lo, hi) AS (
  SELECT id, low, head FROM ${logs} WHERE name = $1
  UNION ALL
  SELECT id, CASE WHEN ${isEarlier} THEN ${middle} ELSE lo END, CASE WHEN ${isEarlier} THEN hi ELSE ${middle} - 1 END
  FROM s WHERE lo < hi
)
SELECT lo FROM s WHERE lo >= hi`,

    waiting: `SELECT name, count(*) AS count FROM ${outbox} WHERE name NOT IN (SELECT name FROM ${logs})
GROUP BY name ORDER BY name LIMIT ${MAX_WAITING}`,

    list: `SELECT name, max_age, max_count, max_bytes, dedupe FROM ${logs} g
WHERE head > 0 OR EXISTS (SELECT 1 FROM ${outbox} o WHERE o.name = g.name)`,
  };
}

export function toBounds({ incarnation, low, head }: Row): LogBounds {
  return {
    incarnation: String(incarnation),
    lowWatermark: numberToCursor(Number(low)),
    highWatermark: numberToCursor(Number(head)),
  };
}

function toPolicy({ max_age, max_count, max_bytes, dedupe }: Row): LogPolicy {
  const [age, count, bytes, window] = [max_age, max_count, max_bytes, dedupe]
    .map((bound) => bound === null ? Infinity : Number(bound)) as [number, number, number, number];
  return { age, count, bytes, dedupe: window };
}

function toMessage({ seq, type, data, bytes, trace, stored_at }: Row): StoredMessage {
  return {
    cursor: numberToCursor(Number(seq)),
    type: typeof type === "string" ? decodeText(type) : undefined,
    data: String(data),
    bytes: Number(bytes),
    time: Number(stored_at),
    ...(typeof trace === "string" && { trace }),
  };
}
