/**
 * Appends batches to logs, after the messages that committed transactions have left in the outbox.
 */
import type { AppendOptions, AppendOutcome, AppendResult, LogPolicy, LogRef, NewMessage } from "../topic_store.ts";
import { OrderedMap } from "../../base/ordered_map.ts";
import { numberToCursor } from "../topic_store.ts";
import { codeOf, type Row, type SqlConnection, type SqlEngine, type Statement } from "./engine.ts";
import { isRestored, newIncarnation, type SeenPosition, type SeenPositions } from "./positions.ts";
import { encodeText, stringsOf, type Tables, timeOf } from "./schema.ts";

interface Batch {
  readonly name: string;
  /** Undefined: it stays as it is stored. */
  readonly policy: LogPolicy | undefined;
  /** Without repeated ids. */
  readonly messages: readonly NewMessage[];
  /** The ids that may be in the log already. */
  readonly knownIds: readonly string[];
  /** Identifies the call, so that its messages are recognized when a lost reply was repeated. */
  readonly token: number;
}

/** The log after an append. */
interface Appended extends SeenPosition {
  /** Before the first message of the batch. */
  readonly base: number;
  /** Undefined: all messages were stored. */
  readonly places: ReadonlySet<number> | undefined;
  /** How many messages of the outbox and of the batch were stored. */
  readonly count: number;
  /** The outbox has more messages. */
  readonly hasMore: boolean;
}

export interface LogAppenderOptions {
  readonly connection: SqlConnection;
  readonly tables: Tables;
  readonly positions: SeenPositions;
  /** Null: that of the database. */
  readonly now: () => number | null;
  /** Called after messages were stored, with the incarnation and the head of the log. */
  readonly onAppended: (name: string, state: string) => void;
}

export class LogAppender {
  readonly #options: LogAppenderOptions;
  readonly #statements: ReturnType<typeof statementsOf>;
  /** The policies that this process has stored. */
  readonly #policies = new OrderedMap<string, LogPolicy>();

  constructor(options: LogAppenderOptions) {
    this.#options = options;
    this.#statements = statementsOf(options.tables);
  }

  async append(
    { name, policy }: LogRef,
    messages: readonly NewMessage[],
    { signal }: AppendOptions = {},
  ): Promise<AppendResult> {
    const ids = messages.map(({ id }) => encodeText(id));
    const firstIndex = new Map<string, number>();
    for (const [index, id] of ids.entries()) if (!firstIndex.has(id)) firstIndex.set(id, index);
    const batch = [...firstIndex.values()].map((index): NewMessage => {
      const message = messages[index]!;
      const type = message.type === undefined ? undefined : encodeText(message.type);
      return { ...message, id: ids[index]!, type };
    });
    const knownIds = batch.filter(({ isGenerated }) => !isGenerated).map(({ id }) => id);
    const token = newToken();
    for (;;) {
      const { incarnation, stored } = await this.#store({ name, policy, messages: batch, knownIds, token }, signal);
      const missing = batch.filter(({ id }) => !stored.has(id)).map(({ id }) => id);
      const found = missing.length > 0 ? await this.#find(name, missing, signal) : NONE;
      // A duplicate may have been removed meanwhile.
      if (!missing.every((id) => found.has(id))) continue;
      const outcomes = ids.map((id, index): AppendOutcome => {
        const earlier = found.get(id);
        const isDuplicate = (earlier !== undefined && earlier.token !== token) || firstIndex.get(id) !== index;
        return { cursor: numberToCursor(earlier?.seq ?? stored.get(id)!), duplicate: isDuplicate };
      });
      return { incarnation, outcomes };
    }
  }

  /**
   * Moves messages of committed transactions from the outbox into the log, and begins another
   * incarnation if a backup was restored.
   */
  async seal(name: string, policy?: LogPolicy): Promise<void> {
    await this.#store({ name, policy, messages: [], knownIds: [], token: 0 });
  }

  async create({ name, policy }: LogRef): Promise<void> {
    const parameters = [encodeText(name), newIncarnation(), ...toColumns(policy)];
    await this.#options.connection.use(({ query }) => query(this.#statements.create, parameters), undefined, "write");
  }

  async #store(batch: Batch, signal?: AbortSignal): Promise<StoredBatch> {
    const { connection, positions, onAppended } = this.#options;
    for (;;) {
      const appended = await connection.use((engine) => this.#append(engine, batch), signal, "write");
      if (appended) {
        const { incarnation, head } = appended;
        // A backup may have another policy.
        if (positions.of(batch.name).incarnation !== incarnation) this.#policies.delete(batch.name);
        positions.note(batch.name, appended);
        if (appended.count > 0) onAppended(batch.name, `${incarnation} ${head}`);
        // The batch comes after all of them.
        if (appended.hasMore) continue;
        return { incarnation, stored: placesOf(batch, appended) };
      }
      // Messages without a known policy wait for a process that declares the topic.
      if (!batch.policy) return { incarnation: "", stored: new Map() };
      await this.create({ name: batch.name, policy: batch.policy });
    }
  }

  /** In one round trip. It locks the row of the log, or the file. */
  async #append(engine: SqlEngine, batch: Batch): Promise<Appended | undefined> {
    const appended = await this.#appendNew(engine, batch) ??
      await (engine.batch ? this.#appendSqlite(engine, batch) : this.#appendPostgres(engine, batch));
    if (appended && batch.policy) {
      this.#policies.set(batch.name, batch.policy);
      this.#policies.shrink(MAX_LOGS);
    }
    return appended;
  }

  /**
   * Most batches have new ids, and find no message in the outbox: shorter statements append them.
   * Undefined if the batch needs the other ones.
   */
  async #appendNew({ query, batch: carryOut }: SqlEngine, batch: Batch): Promise<Appended | undefined> {
    const { name, policy, messages, knownIds, token } = batch;
    const count = messages.length;
    if (!policy || count === 0 || !isSame(policy, this.#policies.get(name))) return undefined;
    const { incarnation, head, time } = this.#options.positions.of(name);
    const bytes = messages.reduce((sum, { bytes }) => sum + bytes, 0);
    const parameters = [encodeText(name), this.#options.now(), count, bytes, incarnation, head, time];
    const { advance, insertNew, appendOne, appendNew } = this.#statements;
    try {
      let rows: readonly Row[];
      if (carryOut) {
        const insert = { text: insertNew, parameters: [parameters[0], count, toJson(messages), token] };
        rows = (await carryOut([{ text: advance, parameters }, insert]))[0]!;
      } else if (count === 1) {
        const { id, type, data, trace } = messages[0]!;
        const row = [id, type ?? null, data, trace ?? null, knownIds[0] ?? null];
        rows = await query(appendOne, [...parameters, token, ...row]);
      } else rows = await query(appendNew, [...parameters, token, ...toArrays(messages), knownIds]);
      return rows[0] && toAppended(rows[0], Number(rows[0].head) - count, count);
    } catch (error) {
      // An id was published before; or this was carried out before, and its reply was lost.
      if (isDuplicate(error)) return undefined;
      throw error;
    }
  }

  async #appendPostgres({ query, transaction }: SqlEngine, batch: Batch): Promise<Appended | undefined> {
    const parameters = this.#parametersOf(batch);
    const append = async (query: SqlEngine["query"]): Promise<Row | undefined> =>
      (await query(this.#statements.append, parameters))[0];
    let row = await append(query);
    while (row?.is_over) {
      // Ids whose time is over are forgotten first, so that the batch keeps its order.
      row = await transaction(async (query) => {
        await query(this.#statements.lock, [parameters[0]]);
        await query(this.#statements.forget, [
          parameters[0],
          JSON.stringify(batch.knownIds),
          this.#options.now(),
          dedupeOf(batch),
        ]);
        return await append(query);
      });
    }
    return row && toAppended(row, Number(row.base), Number(row.stored));
  }

  async #appendSqlite({ batch: carryOut }: SqlEngine, batch: Batch): Promise<Appended | undefined> {
    const name = encodeText(batch.name);
    const now = this.#options.now();
    const { incarnation, head, time } = this.#options.positions.of(batch.name);
    const { base, forget, insert, update, take } = this.#statements;
    const policy = batch.policy && toColumns(batch.policy);
    const statements: Statement[] = [
      { text: base, parameters: [name] },
      { text: forget, parameters: [name, JSON.stringify(batch.knownIds), now, dedupeOf(batch)] },
      { text: insert, parameters: [name, toJson(batch.messages), now, batch.token] },
      { text: take, parameters: [name] },
      {
        text: update,
        parameters: [name, incarnation, head, time, newIncarnation(), ...(policy ?? NO_POLICY), policy ? 1 : 0],
      },
    ];
    const [found, , inserted, , updated] = await carryOut!(statements);
    const log = found![0];
    if (!log) return undefined;
    const seqs = inserted!.map(({ seq }) => seq).join();
    return toAppended({ ...log, ...updated![0], seqs }, Number(log.base), inserted!.length);
  }

  #parametersOf({ name, policy, messages, knownIds, token }: Batch): unknown[] {
    const { incarnation, head, time } = this.#options.positions.of(name);
    return [
      encodeText(name),
      this.#options.now(),
      incarnation,
      head,
      time,
      newIncarnation(),
      ...toArrays(messages),
      token,
      knownIds,
      policy !== undefined,
      ...(policy ? toColumns(policy) : NO_POLICY),
    ];
  }

  /** The positions of messages whose ids are in the log. */
  async #find(
    name: string,
    ids: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<string, FoundMessage>> {
    const parameters = [encodeText(name), JSON.stringify(ids)];
    const rows = await this.#options.connection.use(
      ({ query }) => query(this.#statements.find, parameters),
      signal,
    );
    return new Map(rows.map(({ id, seq, token }) => [String(id), { seq: Number(seq), token: Number(token) }]));
  }
}

interface StoredBatch {
  readonly incarnation: string;
  /** By id, of the messages that were stored. */
  readonly stored: ReadonlyMap<string, number>;
}

interface FoundMessage {
  readonly seq: number;
  readonly token: number;
}

const NONE: ReadonlyMap<string, FoundMessage> = new Map();

/**
 * How many messages of the outbox one statement moves at most: a transaction may have published any
 * number, and a statement must end in time.
 */
const MAX_MOVED = 256;
const UNIQUE_VIOLATION = "23505";
const MAX_LOGS = 10_000;

/** A whole number that JavaScript and both databases store exactly. */
function newToken(): number {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
}

const NO_POLICY = [null, null, null, null] as const;

/** A column has null for no bound. */
function toColumns({ age, count, bytes, dedupe }: LogPolicy): readonly (number | null)[] {
  return [age, count, bytes, dedupe].map((bound) => bound === Infinity ? null : bound);
}

/** Null: the one that is stored. */
function dedupeOf({ policy }: Batch): number | null {
  return policy ? Math.min(policy.dedupe, Number.MAX_SAFE_INTEGER) : null;
}

function isSame(policy: LogPolicy, other: LogPolicy | undefined): boolean {
  if (!other) return false;
  return policy === other || toColumns(policy).join() === toColumns(other).join();
}

/** One array for each column. */
function toArrays(messages: readonly NewMessage[]): readonly unknown[] {
  return [
    messages.map(({ id }) => id),
    messages.map(({ type }) => type ?? null),
    messages.map(({ data }) => data),
    messages.map(({ bytes }) => bytes),
    messages.map(({ trace }) => trace ?? null),
  ];
}

function toJson(messages: readonly NewMessage[]): string {
  return JSON.stringify(
    messages.map(({ id, type, data, bytes, trace }) => [id, type ?? null, data, bytes, trace ?? null]),
  );
}

function toAppended({ incarnation, head, time, seqs, has_more }: Row, base: number, count: number): Appended {
  return {
    incarnation: String(incarnation),
    head: Number(head),
    time: Number(time),
    base,
    places: typeof seqs === "string" ? new Set(seqs.split(",").map(Number)) : undefined,
    count,
    hasMore: Boolean(has_more),
  };
}

/** By id, of the messages that were stored. */
function placesOf({ messages }: Batch, { base, places }: Appended): ReadonlyMap<string, number> {
  const stored = new Map<string, number>();
  for (const [index, { id }] of messages.entries()) {
    const seq = base + index + 1;
    if (!places || places.has(seq)) stored.set(id, seq);
  }
  return stored;
}

function isDuplicate(error: unknown): boolean {
  return codeOf(error) === UNIQUE_VIOLATION ||
    error instanceof Error && error.message.startsWith("UNIQUE constraint failed");
}

function statementsOf(tables: Tables) {
  const { logs, messages, outbox } = tables;
  const logId = `(SELECT id FROM ${logs} WHERE name = $1)`;
  const number = (parameter: string) => tables.dialect === "sqlite" ? parameter : `${parameter}::float8`;
  const policy = ["max_age", "max_count", "max_bytes", "dedupe"];
  /** The oldest messages of the outbox. */
  const waiting = (columns: string, count = MAX_MOVED) =>
    `(SELECT ${columns} FROM ${outbox} WHERE name = $1 ORDER BY n LIMIT ${count}) w`;
  /** Makes room for new messages, unless others come before or a backup was restored. */
  const advance = (isKnown = "") =>
    `UPDATE ${logs} AS g SET head = head + $3, count = count + $3, bytes = bytes + $4,
  time = ${tables.dialect === "sqlite" ? "max(time, $2)" : `greatest(time, ${timeOf(tables, "$2")})::bigint`}
WHERE name = $1 AND NOT EXISTS (SELECT 1 FROM ${outbox} WHERE name = $1)
  AND NOT ${isRestored(tables, "$5", "$6", "$7")}${isKnown} RETURNING id, incarnation, head, time`;
  /**
   * PostgreSQL: finds each id by the index. Otherwise a plan from when the log was small could read
   * the whole log, and PostgreSQL keeps plans.
   */
  const eachOf = (ids: string, columns = "", log = logId) =>
    `(${ids}) AS k (id), LATERAL (SELECT ${columns} FROM ${messages} x WHERE x.log = ${log} AND x.id = k.id LIMIT 1) m`;
  /** PostgreSQL logs each error, so the statement looks for duplicates first. */
  const unlessKnown = (ids: string) => ` AND NOT EXISTS (SELECT 1 FROM ${eachOf(ids, "", "g.id")})`;
  const given = `${stringsOf(tables, "$2")} UNION ALL SELECT id FROM ${waiting("id")}`;
  const over = `${timeOf(tables, "$3")} - coalesce(${number("$4")}, (SELECT dedupe FROM ${logs} WHERE name = $1))`;
  const columns = "(log, seq, id, type, data, bytes, trace, token, time)";
  const hasMore = `(SELECT count(*) FROM ${waiting("n", MAX_MOVED + 1)}) > ${MAX_MOVED}`;
  return {
    advance: advance(),

    create: `INSERT INTO ${logs} (name, incarnation, ${policy.join(", ")})
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,

    find: tables.dialect === "sqlite"
      ? `SELECT id, seq, token FROM ${messages} WHERE log = ${logId} AND id IN (${stringsOf(tables, "$2")})`
      : `SELECT m.id, m.seq, m.token FROM ${eachOf(stringsOf(tables, "$2"), "id, seq, token")}`,

    lock: `SELECT id FROM ${logs} WHERE name = $1 FOR UPDATE`,

    forget: tables.dialect === "sqlite"
      ? `UPDATE ${messages} SET id = NULL WHERE log = ${logId} AND id IN (${given}) AND time < ${over}`
      : `UPDATE ${messages} AS f SET id = NULL FROM ${eachOf(given, "log, seq, time")}
WHERE f.log = m.log AND f.seq = m.seq AND m.time < ${over}`,

    // SQLite, after `advance`.
    insertNew: `INSERT INTO ${messages} ${columns}
SELECT l.id, l.head - $2 + 1 + b.key, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, $4, l.time
FROM ${logs} l, json_each($3) b WHERE l.name = $1 AND changes() = 1`,

    // PostgreSQL.
    appendOne: `WITH u AS (${advance(unlessKnown("SELECT $13::text"))}) INSERT INTO ${messages} ${columns}
SELECT u.id, u.head, $9, $10, $11, $4::int, $12, $8, u.time FROM u
RETURNING (SELECT incarnation FROM u) AS incarnation, seq AS head, time`,
    appendNew: `WITH u AS (${advance(unlessKnown("SELECT unnest($14::text[])"))}), stored AS (
  INSERT INTO ${messages} ${columns}
  SELECT u.id, u.head - $3 + b.n, b.id, b.type, b.data, b.bytes, b.trace, $8::bigint, u.time
  FROM u, unnest($9::text[], $10::text[], $11::text[], $12::int[], $13::text[])
    WITH ORDINALITY AS b (id, type, data, bytes, trace, n)
)
SELECT incarnation, head, time FROM u`,

    // SQLite, in one transaction.
    base: `SELECT head + (SELECT count(*) FROM ${waiting("n")}) AS base, ${hasMore} AS has_more
FROM ${logs} WHERE name = $1`,
    insert: `INSERT INTO ${messages} ${columns}
SELECT l.id, l.head + row_number() OVER (ORDER BY b.part, b.n), b.id, b.type, b.data, b.bytes, b.trace,
  b.part * $4, max(l.time, $3)
FROM ${logs} l, (
  SELECT 0 AS part, n, id, type, data, bytes, trace FROM ${waiting("*")}
  UNION ALL
  SELECT 1, key, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each($2)
  WHERE NOT (${hasMore})
) b WHERE l.name = $1 ON CONFLICT DO NOTHING RETURNING seq`,
    take: `DELETE FROM ${outbox} WHERE n IN (SELECT n FROM ${waiting("n")}) AND EXISTS ${logId}`,
    update: `UPDATE ${logs} AS g SET (head, count, bytes, time) = (
    SELECT coalesce(max(m.seq), g.head), g.count + count(*), g.bytes + coalesce(sum(m.bytes), 0),
      coalesce(max(m.time), g.time) FROM ${messages} m WHERE m.log = g.id AND m.seq > g.head
  ),
  incarnation = CASE WHEN ${isRestored(tables, "$2", "$3", "$4")} THEN $5 ELSE incarnation END,
  ${policy.map((column, index) => `${column} = CASE WHEN $10 THEN $${6 + index} ELSE ${column} END`).join(", ")}
WHERE name = $1 RETURNING incarnation, head, time`,

    // PostgreSQL. A duplicate is found by the unique index, which also sees messages that were
    // committed after the statement began.
    append: `WITH l AS (
  SELECT id, head, time, ${isRestored(tables, "$3", "$4::bigint", "$5::bigint")} AS is_restored,
    ${timeOf(tables, "$2")} AS now, CASE WHEN $14 THEN $18::float8 ELSE dedupe END AS dedupe
  FROM ${logs} g WHERE name = $1 FOR UPDATE
), waiting AS (
  SELECT * FROM ${waiting("n, id", MAX_MOVED + 1)}
), rest AS (
  SELECT n FROM waiting ORDER BY n OFFSET ${MAX_MOVED}
), over AS (
  SELECT 1 FROM l, (SELECT unnest($13::text[]) AS id UNION ALL SELECT id FROM waiting) x, LATERAL (
    SELECT FROM ${messages} m WHERE m.log = l.id AND m.id = x.id AND m.time < l.now - l.dedupe LIMIT 1
  ) m LIMIT 1
), moved AS (
  DELETE FROM ${outbox} WHERE name = $1 AND n <= (SELECT max(n) FROM waiting) AND n NOT IN (SELECT n FROM rest)
    AND EXISTS (SELECT FROM l) AND NOT EXISTS (SELECT FROM over)
  RETURNING n, id, type, data, bytes, trace
), batch AS (
  SELECT row_number() OVER (ORDER BY part, n) AS place, part, id, type, data, bytes, trace FROM (
    SELECT 0 AS part, n, id, type, data, bytes, trace FROM moved
    UNION ALL
    SELECT 1, n, id, type, data, bytes, trace
    FROM unnest($7::text[], $8::text[], $9::text[], $10::int[], $11::text[])
      WITH ORDINALITY AS b (id, type, data, bytes, trace, n)
    WHERE NOT EXISTS (SELECT FROM over) AND NOT EXISTS (SELECT FROM rest)
  ) x
), stored AS (
  INSERT INTO ${messages} ${columns}
  SELECT l.id, l.head + b.place, b.id, b.type, b.data, b.bytes, b.trace, b.part * $12::bigint,
    greatest(l.time, l.now)::bigint
  FROM l, batch b ORDER BY b.place
  ON CONFLICT DO NOTHING RETURNING seq, bytes
), sums AS (
  SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes, max(seq) AS head, string_agg(seq::text, ',') AS seqs
  FROM stored
), updated AS (
  UPDATE ${logs} g SET head = coalesce(s.head, g.head), count = g.count + s.count, bytes = g.bytes + s.bytes,
    time = CASE WHEN s.head IS NULL THEN g.time ELSE greatest(g.time, l.now)::bigint END,
    incarnation = CASE WHEN l.is_restored THEN $6 ELSE g.incarnation END,
    ${
      policy.map((column, index) => `${column} = CASE WHEN $14 THEN $${15 + index}::float8 ELSE g.${column} END`).join(
        ", ",
      )
    }
  FROM l, sums s WHERE g.id = l.id RETURNING g.incarnation, g.head, g.time
)
SELECT u.incarnation, u.head, u.time, l.head + (SELECT count(*) FROM moved) AS base, s.count AS stored,
  CASE WHEN s.count < (SELECT count(*) FROM batch) THEN coalesce(s.seqs, '') END AS seqs,
  EXISTS (SELECT FROM over) AS is_over, EXISTS (SELECT FROM rest) AS has_more
FROM updated u, l, sums s`,
  };
}
