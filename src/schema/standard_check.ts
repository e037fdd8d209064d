/**
 * Checks with the meaning of JSON Schema, in place of those of valibot.
 *
 * Documents describe dates by `format`, and lengths by `minLength` and `maxLength`. But valibot
 * accepts 31 April and `2026-01-01 09:17:48 +03`, counts an emoji as two characters, and accepts
 * infinite numbers and integers beyond 2^53 - 1.
 */
import * as v from "valibot";
import { type Dataset, LISTS, type PipeAction, type RunConfig, type SchemaIssue, type SchemaNode } from "./schema.ts";

let stock: ReadonlyMap<string, string> | undefined;

/**
 * The source of valibot's `~run` by kind: other versions of valibot, and wrappers, have another
 * one. Lazy, because an application may have no schema.
 */
function stockCode(): ReadonlyMap<string, string> {
  return stock ??= new Map<string, string>([
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
  ].map((part) => [part.type, String(part["~run"])])).set("pipe", String(v.pipe(v.string())["~run"]));
}

/** Of the valibot that this module imports. */
export function isStockValibot(part: SchemaNode | PipeAction): boolean {
  return String(part["~run"]) === stockCode().get("pipe" in part && part.pipe ? "pipe" : part.type);
}

interface CompiledTest {
  readonly test: (value: unknown) => boolean;
  /** A cheap condition on a variable. If it is false, `test` decides. */
  readonly shortcut?: (value: string) => string;
}

// No property of checks, which custom messages can read.
const tests = new WeakMap<PipeAction, CompiledTest>();

export function testOf(check: PipeAction): CompiledTest | undefined {
  return tests.get(check);
}

/** Returns the same object if there is no replacement. `first` begins the pipe. */
export function toStandardCheck(check: PipeAction, first: SchemaNode): PipeAction {
  if (!isStockValibot(check)) return check;
  if (check.type === "integer") return { ...check, requirement: Number.isSafeInteger };
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
  ["iso_timestamp", (text) => isDate(text.slice(0, 10)) && TIME.test(text.slice(10))],
]);

const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
/** `T` and the full-time of RFC 3339, section 5.6, in upper or lower case. */
const TIME = /^[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const SHORT_MONTHS: readonly number[] = [4, 6, 9, 11];

function isDate(text: string): boolean {
  return DATE.test(text) && hasDay(text);
}

/** In its month. */
function hasDay(text: string): boolean {
  const day = Number(text.slice(8, 10));
  if (day < 29) return true;
  const month = Number(text.slice(5, 7));
  if (month !== 2) return day < 31 || !SHORT_MONTHS.includes(month);
  const year = Number(text.slice(0, 4));
  return day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

// A cache: a lazy schema makes its target again for each value.
const finite = new WeakMap<SchemaNode, SchemaNode>();
const finiteNumbers = new WeakSet<SchemaNode>();

/** The same object for other kinds. */
export function toFiniteNumber(node: SchemaNode): SchemaNode {
  if (node.type !== "number" || node.pipe || !isStockValibot(node)) return node;
  return finite.getOrInsertComputed(node, () => {
    const result: SchemaNode = { ...node, "~run": (dataset, config) => runFinite(node, dataset, config) };
    finiteNumbers.add(result);
    return result;
  });
}

export function isFiniteNumber(node: SchemaNode): boolean {
  return finiteNumbers.has(node);
}

/** valibot makes the issue, for a value that it refuses. */
function runFinite(node: SchemaNode, dataset: Dataset, config: RunConfig): Dataset | Promise<Dataset> {
  const { value } = dataset;
  if (value !== Infinity && value !== -Infinity) return node["~run"](dataset, config);
  const { issues } = node["~run"]({ value: NaN }, config) as Dataset;
  const found = { input: value, received: String(value), expected: "a finite number" };
  dataset.issues = issues?.map((issue) => ({ ...issue, ...found })) as Dataset["issues"];
  return dataset;
}

type Fits = (length: number, bound: number) => boolean;

const LENGTHS: ReadonlyMap<string, Fits> = new Map<string, Fits>([
  ["min_length", (length, bound) => !(length < bound)],
  ["max_length", (length, bound) => !(length > bound)],
  ["length", (length, bound) => length === bound],
]);

function countingCharacters(check: PipeAction, fits: Fits): PipeAction {
  const run = check["~run"] as (dataset: Dataset, config: RunConfig) => Dataset;
  const bound = check.requirement as number;
  const counting = {
    ...check,
    "~run"(dataset: Dataset, config: RunConfig): Dataset {
      const { value, typed } = dataset;
      const length = typed && typeof value === "string" ? characterCount(value) : undefined;
      if (length === undefined || length === (value as string).length) return run.call(check, dataset, config);
      // valibot makes the issue, for a value of this length.
      const counted: Dataset = { typed: true, value: { length, toString: () => value } };
      const issues = run.call(check, counted, config).issues?.map((issue): SchemaIssue => ({ ...issue, input: value }));
      if (issues) dataset.issues = [...dataset.issues ?? [], ...issues] as Dataset["issues"];
      return dataset;
    },
  };
  // A string has at least half as many code points as UTF-16 units.
  const shortcuts: Record<string, CompiledTest["shortcut"]> = {
    min_length: (value) => `${value}.length >= ${2 * bound}`,
    max_length: (value) => `${value}.length <= ${bound}`,
  };
  const shortcut = Number.isFinite(bound) ? shortcuts[check.type] : undefined;
  return withTest(counting, { test: (value) => fits(characterCount(value), bound), ...(shortcut && { shortcut }) });
}

/** A lone surrogate counts as one character. */
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

function characterCount(value: unknown): number {
  const { length } = value as { readonly length: number };
  return typeof value === "string" ? length - (value.match(PAIRS)?.length ?? 0) : length;
}

function withTest(check: PipeAction, test: CompiledTest): PipeAction {
  tests.set(check, test);
  return check;
}
