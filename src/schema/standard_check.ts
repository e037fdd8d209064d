import * as v from "valibot";
import { type Dataset, LISTS, type PipeAction, type RunConfig, type SchemaIssue, type SchemaNode } from "./schema.ts";

/** Tells what valibot's own code runs, of the version that webfw knows, from what some wrapper or another version does. */

/** A step of a pipe, with its inside. */
export interface ActionNode extends PipeAction {
  readonly type: string;
  readonly requirement?: unknown;
  readonly "~run": unknown;
}

/** One of each kind that checks are compiled from, or that has another meaning in JSON Schema. */
const KNOWN = new Map<string, string>([
  v.string(),
  v.number(),
  v.boolean(),
  v.bigint(),
  v.null(),
  v.any(),
  v.unknown(),
  v.picklist([]),
  v.enum({}),
  v.object({}),
  v.array(v.any()),
  v.union([]),
  v.optional(v.any()),
  v.undefinedable(v.any()),
  v.nullable(v.any()),
  v.nullish(v.any()),
  v.exactOptional(v.any()),
  v.integer(),
  v.minLength(0),
  v.maxLength(0),
  v.length(0),
  v.isoDate(),
  v.isoTimestamp(),
  v.minValue(0),
  v.maxValue(0),
  v.regex(/x/),
].map((part) => [part.type, String(part["~run"])]));
const PIPE = String(v.pipe(v.string())["~run"]);

/** Whether a schema or action is run by valibot's own code. */
export function isStockValibot(part: SchemaNode | ActionNode): boolean {
  const code = String(part["~run"]);
  return code === ("pipe" in part && part.pipe ? PIPE : KNOWN.get(part.type));
}

/**
 * Checks that mean what JSON Schema says of them, where valibot's own mean something else.
 *
 * The document gives dates as `format` and lengths as `minLength` and `maxLength`. What is
 * accepted, and what is replied, has to be just that: valibot takes 31 April and `2026-01-01
 * 09:17:48 +03`, and counts an emoji as two characters.
 */

/** A check as it is compiled. */
export interface CompiledTest {
  /** Tells whether a value passes. */
  readonly test: (value: unknown) => boolean;
  /** Writes a condition that is true for most of the values that pass, by the name of the value. */
  readonly shortcut?: (value: string) => string;
}

type Run = (dataset: Dataset, config: RunConfig) => Dataset;

// Beside the checks, since valibot hands the members of a check to the authors of messages.
const tests = new WeakMap<ActionNode, CompiledTest>();

/** The test of a check that was made by {@linkcode toStandardCheck}. */
export function testOf(check: ActionNode): CompiledTest | undefined {
  return tests.get(check);
}

/**
 * The check that a pipe runs in place of one of valibot's own; the very same where the two agree.
 *
 * - `isoDate()` takes the `date` of RFC 3339: a day that there is, in the years 0000 to 9999.
 * - `isoTimestamp()` takes its `date-time`: with `T`, seconds, and `Z` or an offset with a colon.
 *   Small letters are taken, too. A leap second is not, since no `Date` can hold it.
 * - `minLength()`, `maxLength()` and `length()` count the characters (code points) of a text.
 *
 * @param check A check in a pipe.
 * @param first The first schema of the pipe.
 */
export function toStandardCheck(check: ActionNode, first: SchemaNode): ActionNode {
  if (!isStockValibot(check)) return check;
  const isText = DATES.get(check.type);
  if (isText) {
    const test = (value: unknown): boolean => isText(String(value));
    return withTest({ ...check, requirement: { test } }, { test });
  }
  const fits = LISTS.has(first.type) ? undefined : LENGTHS.get(check.type);
  return fits ? countingCharacters(check, fits) : check;
}

const DATES: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["iso_date", isDate],
  ["iso_timestamp", isDateTime],
]);

const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
/** What follows the date: RFC 3339, section 5.6. */
const TIME = /^[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const SHORT_MONTHS: readonly number[] = [4, 6, 9, 11];

function isDate(text: string): boolean {
  return DATE.test(text) && hasDay(text);
}

function isDateTime(text: string): boolean {
  return isDate(text.slice(0, 10)) && TIME.test(text.slice(10));
}

/** Whether the month has the day, of a text that begins with a date. */
function hasDay(text: string): boolean {
  const day = Number(text.slice(8, 10));
  if (day < 29) return true;
  const month = Number(text.slice(5, 7));
  if (month !== 2) return day < 31 || !SHORT_MONTHS.includes(month);
  const year = Number(text.slice(0, 4));
  return day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Whether a length is within a bound, as valibot compares them. */
type Fits = (length: number, bound: number) => boolean;

const LENGTHS: ReadonlyMap<string, Fits> = new Map<string, Fits>([
  ["min_length", (length, bound) => !(length < bound)],
  ["max_length", (length, bound) => !(length > bound)],
  ["length", (length, bound) => length === bound],
]);

function countingCharacters(check: ActionNode, fits: Fits): ActionNode {
  const run = check["~run"] as Run;
  const bound = check.requirement as number;
  const counting = {
    ...check,
    "~run"(dataset: Dataset, config: RunConfig): Dataset {
      const { value, typed } = dataset;
      const length = typed && typeof value === "string" ? lengthOf(value) : undefined;
      if (length === undefined || length === (value as string).length) return run.call(check, dataset, config);
      // valibot writes the issue, for a text of that length.
      const counted: Dataset = { typed: true, value: { length, toString: () => value } };
      const issues = run.call(check, counted, config).issues?.map((issue): SchemaIssue => ({ ...issue, input: value }));
      if (issues) dataset.issues = [...dataset.issues ?? [], ...issues] as Dataset["issues"];
      return dataset;
    },
  };
  // A text has at least half as many characters as it has units of UTF-16.
  const shortcuts: Record<string, CompiledTest["shortcut"]> = {
    min_length: (value) => `${value}.length >= ${2 * bound}`,
    max_length: (value) => `${value}.length <= ${bound}`,
  };
  const shortcut = Number.isFinite(bound) ? shortcuts[check.type] : undefined;
  return withTest(counting, { test: (value) => fits(lengthOf(value), bound), ...(shortcut && { shortcut }) });
}

/** Half a character, which JSON can hold, counts as one. */
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

/** The characters of a text, or the items of what else has a length. */
function lengthOf(value: unknown): number {
  const { length } = value as { readonly length: number };
  return typeof value === "string" ? length - (value.match(PAIRS)?.length ?? 0) : length;
}

function withTest(check: ActionNode, test: CompiledTest): ActionNode {
  tests.set(check, test);
  return check;
}
