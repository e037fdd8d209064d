/** The options of a topic: checks and defaults. */
import { checkOptions, type Duration, type OptionNames, quote, readOptions, toMilliseconds } from "../base/options.ts";
import { isSchema, nodeOf, NON_JSON, partsOf, type Schema, schemaFault, type SchemaNode } from "../schema/schema.ts";
import type { LogPolicy } from "../store/topic_store.ts";

/** How long messages are stored. Each bound holds by itself, and is applied within 30 seconds. */
export interface Retention {
  /** The greatest age of a message. */
  age?: Duration;
  /** The most messages. */
  count?: number;
  /**
   * The most bytes of JSON. The newest message stays, whatever its size.
   *
   * @default {67108864} 64 MiB
   */
  bytes?: number;
}

/** The options of a topic. */
export interface TopicOptions<Data = unknown, Input = Data> {
  /**
   * The schema of messages. Other data is a `TypeError`. Readers get the output of the schema,
   * which is stored as JSON: it has no dates and bigints.
   */
  schema?: Schema<Input, Data>;
  /**
   * Whether messages are in a store outside the process, which other processes may share. They
   * survive a crash. Other topics end with the process.
   *
   * @default {false}
   */
  durable?: boolean;
  /**
   * How long messages are stored, for readers that come back or are slow. The default is the last
   * 1,000 messages, and for a durable topic those of the last 7 days.
   */
  retention?: Retention;
  /**
   * How long the id of a message is remembered, so that publishing it again stores no second
   * message; ten years at most. A topic in memory remembers the last 100,000 ids.
   *
   * @default {"2m"}
   */
  dedupe?: Duration;
  /**
   * How many of the newest messages each process has in memory for all its subscribers together. A
   * subscriber that is further behind reads from the store.
   *
   * @default {256}
   */
  buffer?: number;
}

export interface ResolvedTopicOptions<Data = unknown, Input = Data> {
  readonly schema: Schema<Input, Data> | undefined;
  readonly isDurable: boolean;
  readonly policy: LogPolicy;
  readonly buffer: number;
}

const OPTIONS: OptionNames<TopicOptions> = { schema: true, durable: true, retention: true, dedupe: true, buffer: true };
const RETENTION_OPTIONS: OptionNames<Retention> = { age: true, count: true, bytes: true };

const MIB = 1024 * 1024;
const DEFAULT_RETENTION: Retention = { count: 1000 };
const DEFAULT_DURABLE_RETENTION: Retention = { age: "7d" };
const DEFAULT_BYTES = 64 * MIB;
const MAX_BUFFER = 100_000;
const MAX_DURABLE_DEDUPE = 10 * 365 * 24 * 60 * 60 * 1000;

/**
 * @throws {TypeError} If an option is unknown, or the schema is none.
 * @throws {RangeError} If a bound is out of its range.
 */
export function resolveTopicOptions<Data, Input>(
  options: TopicOptions<Data, Input>,
  name: string,
): ResolvedTopicOptions<Data, Input> {
  const owner = `the topic "${name}"`;
  checkOptions(options, OPTIONS, `make ${owner}`);
  const { schema, durable = false, retention: given = {}, dedupe = "2m", buffer = 256 } = options;
  const retention = readOptions(given, RETENTION_OPTIONS, `set the retention of ${owner}`);
  if (typeof durable !== "boolean") throw new TypeError(`Cannot make ${owner}: durable must be true or false`);
  if (schema !== undefined && !isSchema(schema)) {
    throw new TypeError(`Cannot make ${owner}: schema ${schemaFault(schema)}`);
  }
  if (schema !== undefined) checkKept(nodeOf(schema), `make ${owner}`);
  const isBound = Object.keys(retention).length > 0;
  const bounds = isBound ? retention : durable ? DEFAULT_DURABLE_RETENTION : DEFAULT_RETENTION;
  const { age, count = Infinity, bytes = DEFAULT_BYTES } = bounds;
  return {
    schema,
    isDurable: durable,
    policy: {
      age: age === undefined ? Infinity : toMilliseconds(age, `the retention.age of ${owner}`),
      count: toBound(count, Infinity, `the retention.count of ${owner}`),
      bytes: toBound(bytes, durable ? Infinity : 4 * DEFAULT_BYTES, `the retention.bytes of ${owner}`),
      dedupe: toDedupe(dedupe, durable, `the dedupe of ${owner}`),
    },
    buffer: toBound(buffer, MAX_BUFFER, `the buffer of ${owner}`),
  };
}

/**
 * Compares the given options of another declaration.
 *
 * @throws {TypeError} If one of them differs.
 */
export function checkAgreement(existing: ResolvedTopicOptions, options: TopicOptions, name: string): void {
  const again = resolveTopicOptions({ durable: existing.isDurable, ...options }, name);
  checkSameOptions(existing, again, name, (option) => options[option] !== undefined);
}

/** @throws {TypeError} If one of the options of another declaration differs. */
export function checkSameOptions(
  existing: ResolvedTopicOptions,
  again: ResolvedTopicOptions,
  name: string,
  isCompared: (option: keyof TopicOptions) => boolean = () => true,
): void {
  const differs: Readonly<Record<keyof TopicOptions, boolean>> = {
    schema: again.schema !== existing.schema,
    durable: again.isDurable !== existing.isDurable,
    retention: (["age", "count", "bytes"] as const).some((key) => again.policy[key] !== existing.policy[key]),
    dedupe: again.policy.dedupe !== existing.policy.dedupe,
    buffer: again.buffer !== existing.buffer,
  };
  for (const [option, isOther] of Object.entries(differs)) {
    if (!isOther || !isCompared(option as keyof TopicOptions)) continue;
    throw new TypeError(
      `Cannot declare the topic "${name}" again: its ${option} is another one, give the same options everywhere`,
    );
  }
}

/** Kinds that JSON changes, with a replacement. */
const CHANGED: ReadonlyMap<string, string> = new Map([
  ["date", "use v.pipe(v.string(), v.isoTimestamp())"],
  ["bigint", "use v.pipe(v.string(), v.digits())"],
  ["blob", "use a string"],
  ["file", "use a string"],
  ["nan", "leave it out"],
]);

/** Transformations that make such values. */
const MADE: ReadonlyMap<string, string> = new Map([["to_date", "date"], ["to_bigint", "bigint"]]);

/**
 * Checks that JSON has the output of the schema. A lazy schema, and the result of a function, is
 * checked when it is published.
 *
 * @throws {TypeError} If JSON changes or drops a part of it.
 */
export function checkKept(schema: SchemaNode, action: string): void {
  const seen = new Set<SchemaNode>();
  const refuse = (kind: string, cure: string): never => {
    throw new TypeError(`Cannot ${action}: its messages are kept as JSON, which has no "${kind}", ${cure}`);
  };
  const check = (node: SchemaNode): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.pipe) {
      // The last schema or transformation of a pipe decides its output.
      const last = node.pipe.findLast(({ kind }) => kind === "schema" || kind === "transformation");
      if (last?.kind === "schema") return check(last as SchemaNode);
      const made = MADE.get(last?.type ?? "");
      if (made !== undefined) refuse(made, CHANGED.get(made)!);
      return;
    }
    const cure = CHANGED.get(node.type) ?? NON_JSON.get(node.type)?.output;
    if (cure !== undefined) refuse(node.type, cure);
    partsOf(node).forEach(check);
  };
  check(schema);
}

function toDedupe(dedupe: Duration, isDurable: boolean, name: string): number {
  const ms = toMilliseconds(dedupe, name);
  if (!isDurable || ms <= MAX_DURABLE_DEDUPE) return ms;
  throw new RangeError(`Cannot set ${name}: a store remembers ids for ten years at most, got ${quote(dedupe)}`);
}

/** @throws {RangeError} If the value is no whole number from 1 to `most`. */
export function toBound(value: number, most: number, name: string): number {
  if ((Number.isInteger(value) || value === Infinity) && value > 0 && value <= most) return value;
  const range = most === Infinity ? "a whole number above 0" : `a whole number from 1 to ${most}`;
  throw new RangeError(`Cannot set ${name}: it must be ${range}, got ${quote(value)}`);
}
