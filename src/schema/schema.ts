import { explaining, type RunConfig, stoppingAtFirst } from "./run_config.ts";
import type { InputSource, Issue } from "../errors.ts";

/** What webfw asks of a valibot schema, and how it runs one. */

/**
 * Any valibot schema, sync or async: the part of it that webfw's types read.
 *
 * `Input` is what it takes, `Output` what it gives.
 *
 * Schemas of requests and of replies are run as valibot runs them, but for three of its checks,
 * which mean what the document says by JSON Schema:
 *
 * - `isoDate()` takes the `date` of RFC 3339, a day that there is: not `2026-04-31`.
 * - `isoTimestamp()` takes its `date-time`, with `T`, seconds, and `Z` or an offset as `+03:00`:
 *   not `2026-01-01 09:17:48 +03`. A leap second is refused, since no `Date` can hold it.
 * - `minLength()`, `maxLength()` and `length()` count the characters (code points) of a text: an
 *   emoji is one, where valibot counts two units of UTF-16.
 *
 * @example A schema given by name
 * ```ts
 * import type { Schema } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const page: Schema<number, number> = v.pipe(v.number(), v.minValue(1));
 * assertEquals(page.kind, "schema");
 * ```
 */
export interface Schema<Input = unknown, Output = Input> {
  /** Tells schemas from the other objects of valibot. */
  readonly kind: "schema";
  /** The kind of the schema, such as `string` or `object`. */
  readonly type: string;
  /** Whether it can only be run asynchronously. */
  readonly async: boolean;
  /** Carries the types; never there at run time. */
  readonly "~types"?:
    | { readonly input: Input; readonly output: Output }
    | undefined;
}

/** A fault as valibot reports it. */
export interface SchemaIssue {
  readonly kind: "schema" | "validation" | "transformation";
  readonly type: string;
  readonly input: unknown;
  readonly expected: string | null;
  readonly received: string;
  readonly message: string;
  readonly path?: readonly IssuePathItem[] | undefined;
}

/** A step on the way to a fault. */
export interface IssuePathItem {
  readonly key?: unknown;
  /** `key` where the fault is that of a key, such as one that is missing. */
  readonly origin?: string;
}

/** A value on its way through a schema. */
export interface Dataset {
  typed?: boolean;
  value: unknown;
  issues?: [SchemaIssue, ...SchemaIssue[]] | undefined;
}

/** A step of a `pipe` that is no schema. */
export interface PipeAction {
  readonly kind: "validation" | "transformation" | "metadata";
}

/** The inside of a schema: what every kind has, and the parts that some have. */
export interface SchemaNode extends Schema {
  // deno-lint-ignore no-explicit-any -- each kind's constructor takes parts of its own
  readonly reference: (...parts: any[]) => SchemaNode;
  readonly "~run": (
    dataset: Dataset,
    config: RunConfig,
  ) => Dataset | Promise<Dataset>;
  readonly message?: unknown;
  /** What messages say was expected. */
  readonly expects?: string | null;
  readonly pipe?: readonly (SchemaNode | PipeAction)[];
  readonly entries?: Readonly<Record<string, SchemaNode>>;
  readonly rest?: SchemaNode;
  readonly item?: SchemaNode;
  readonly items?: readonly SchemaNode[];
  readonly key?: SchemaNode | string;
  readonly value?: SchemaNode;
  readonly options?: readonly unknown[];
  readonly wrapped?: SchemaNode;
  readonly default?: unknown;
  readonly fallback?: unknown;
  readonly getter?: (input: unknown) => SchemaNode;
  readonly literal?: unknown;
}

/**
 * Which faults are listed: all of them while the value and the work are small, or the first one.
 */
export type Detail = "all" | "first";

/** Tells whether a value is a schema. */
export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null &&
    (value as Partial<SchemaNode>).kind === "schema" &&
    typeof (value as Partial<SchemaNode>)["~run"] === "function";
}

/** Whether a value is a schema of any library that follows Standard Schema, or of valibot. */
export function isStandardSchema(value: unknown): boolean {
  return vendorOf(value) !== undefined;
}

/** Says, for a message, what is wrong with a value that is no schema. */
export function schemaFault(value: unknown): string {
  const vendor = vendorOf(value);
  if (vendor !== undefined && vendor !== "valibot") return `must be a valibot schema, got one of ${vendor}`;
  const parts = typeof value === "object" && value !== null ? Object.values(value) : [];
  if (parts.length === 0 || !parts.every(isSchema)) return "must be a valibot schema";
  const cure = Array.isArray(value) ? "write v.array(…) for a list" : "write v.object({ … }) around the entries";
  return `must be one valibot schema, ${cure}`;
}

function vendorOf(value: unknown): string | undefined {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  const { vendor } = (value as { readonly "~standard"?: { readonly vendor?: unknown } })["~standard"] ?? {};
  return typeof vendor === "string" ? vendor : undefined;
}

/** The inside of a schema. Every schema has one: the public type only hides it. */
export function nodeOf(schema: Schema): SchemaNode {
  return schema as SchemaNode;
}

/** Whether a schema's own code falls back. A pipe has the properties of its first step, that one's fallback too. */
export function fallsBack(node: SchemaNode): boolean {
  const first = node.pipe?.[0] as SchemaNode | undefined;
  return "fallback" in node && !(first && "fallback" in first && first.fallback === node.fallback);
}

/** Runs a step of a pipe over a value that the steps before have taken, up to the first fault. */
export function runAction(action: PipeAction, value: unknown): Dataset {
  return (action as unknown as Pick<SchemaNode, "~run">)["~run"]({ typed: true, value }, stoppingAtFirst()) as Dataset;
}

/** Runs a schema over a value. The result is a promise only where the schema is async. */
export function runSchema(schema: Schema, value: unknown, detail: Detail = "all"): Dataset | Promise<Dataset> {
  return (schema as SchemaNode)["~run"]({ value }, detail === "all" ? explaining(value) : stoppingAtFirst());
}

/** Schemas as declarations hold them: what they give, and what the compiler says where something else stands. */

/** Stands in a type where a declaration is wrong, so that the compiler's message says why. No value has it. */
export type Mistake<Text extends string> = Text & { readonly "~mistake": never };

/**
 * A schema as an option takes it. The index makes the compiler ask whether something is a schema as
 * a whole, rather than complain of its first key.
 */
export interface GivenSchema<Input = unknown, Output = Input> extends Schema<Input, Output> {
  /** Whatever else a schema has. */
  // deno-lint-ignore no-explicit-any -- an index of unknown would refuse what is declared as an interface, as schemas are
  readonly [key: string]: any;
}

/** Schemas by the names of what they describe. */
export type Schemas = Readonly<Record<string, Schema>>;

/** What a schema gives. */
export type OutputOf<Given> = Given extends Schema<unknown, infer Value> ? Value : unknown;

/** Says what is wrong where schemas are not given by name. */
export type NotSchemas<Given> = Given extends Schema | { readonly "~standard": unknown }
  ? Mistake<"Give each schema by its name: { name: schema }">
  : Mistake<`'${NamesOfOthers<Given>}' must be a valibot schema`>;

/** The names under which something else than a schema stands. */
export type NamesOfOthers<Given> =
  & { readonly [Name in keyof Given]: Given[Name] extends Schema ? never : Name }[keyof Given]
  & string;

/** Takes schemas apart. */

/** The kinds of lists. */
export const LISTS: ReadonlySet<string> = new Set([
  "array",
  "tuple",
  "loose_tuple",
  "strict_tuple",
  "tuple_with_rest",
]);

/** The kinds of objects, whose values have named fields. */
export const OBJECTS: ReadonlySet<string> = new Set([
  "object",
  "loose_object",
  "strict_object",
  "object_with_rest",
  "record",
  "variant",
]);

/** The schemas that a schema is made of, those behind a lazy one apart. */
export function partsOf({ pipe, entries, rest, item, items, key, value, options, wrapped }: SchemaNode): SchemaNode[] {
  // A pipe has the parts of its first step, too.
  if (pipe) return pipe.filter(isSchemaNode);
  const parts: unknown[] = [rest, item, key, value, wrapped];
  if (entries) parts.push(...Object.values(entries));
  if (items) parts.push(...items);
  if (options) parts.push(...options);
  return parts.filter(isSchemaNode);
}

function isSchemaNode(part: unknown): part is SchemaNode {
  return typeof part === "object" && part !== null && (part as SchemaNode).kind === "schema";
}

/** Turns valibot's issues into those of a reply, without the values that were sent. */

/** More faults than anyone reads. */
const MAX_ISSUES = 1000;
/** In characters. A long key stands in the path of each fault below it. */
const MAX_LENGTH = 1024 * 1024;
/** More faults than a line of a log needs. */
const MAX_LOGGED = 20;

/** Labels of messages after which the expectation needs no further word. */
const PLAIN_LABELS = new Set(["type", "value", "key"]);

/**
 * An issue for the client.
 *
 * @param issue What valibot found.
 * @param source Where the value was read from.
 * @param root The way to the value that was validated.
 */
export function toIssue(
  issue: SchemaIssue,
  source: InputSource,
  root: readonly (string | number)[],
): Issue {
  const path = [...root];
  for (const { key } of issue.path ?? []) {
    path.push(typeof key === "number" ? key : String(key));
  }
  const expected = expectedOf(issue);
  const found: Issue = { in: source, path, code: isMissing(issue) ? "missing" : "invalid", message: messageOf(issue) };
  if (expected !== null) found.expected = expected;
  return found;
}

/** The first faults of a list, as many as a reply may hold. */
export function boundIssues(issues: readonly Issue[]): readonly Issue[] {
  let length = 0;
  const end = issues.findIndex(({ path, message, expected = "" }, index) => {
    length += message.length + expected.length;
    for (const key of path) length += String(key).length;
    return index > 0 && (index >= MAX_ISSUES || length > MAX_LENGTH);
  });
  return end < 0 ? issues : issues.slice(0, end);
}

/**
 * Says for a log what is wrong with a value of the application's own. The values stay out of it.
 *
 * @param issues What valibot found.
 * @param whole What the value is called.
 */
export function expectationsOf(issues: readonly SchemaIssue[], whole: string): string {
  const faults = issues.slice(0, MAX_LOGGED).map((issue) => {
    const place = (issue.path ?? []).map(({ key }) => String(key)).join(".");
    return `${place === "" ? whole : `"${place}"`} ${demandOf(issue)}`;
  });
  if (issues.length > MAX_LOGGED) faults.push(`and ${issues.length - MAX_LOGGED} more`);
  return faults.join(", ");
}

function demandOf(issue: SchemaIssue): string {
  if (isMissing(issue)) return "is missing";
  if (issue.type === "non_empty") return "should not be empty";
  const expected = expectedOf(issue);
  const label = isDefaultMessage(issue) ? labelOf(issue) : "";
  if (expected === null) return `should be ${label === "" ? "valid" : `a valid ${label}`}`;
  return label === "" || PLAIN_LABELS.has(label) ? `should be ${expected}` : `should be of ${label} ${expected}`;
}

/** The message of the schema's author, or valibot's own without the value that it ends with. */
function messageOf(issue: SchemaIssue): string {
  if (!isDefaultMessage(issue)) return issue.message;
  if (isMissing(issue)) return "Missing value";
  const expected = expectedOf(issue);
  const label = `Invalid ${labelOf(issue)}`;
  return expected === null ? label : `${label}: expected ${expected}`;
}

/**
 * What was expected, in words where valibot has a sign for it; null where nothing is known of it.
 */
function expectedOf(issue: SchemaIssue): string | null {
  const { type, expected } = issue;
  if (expected === null || expected === "any" || expected === "unknown" || isNameOfKey(issue)) return null;
  if (type === "non_empty") return "not empty";
  if (type === "non_optional") return null;
  if (type === "non_nullish") return isMissing(issue) ? null : "not null";
  return expected.startsWith("!") ? `not ${expected.slice(1)}` : expected;
}

/** valibot expects of a missing key its own name, in quotes. */
function isNameOfKey({ expected, path }: SchemaIssue): boolean {
  const last = path?.at(-1);
  return last?.origin === "key" && expected === `"${String(last.key)}"`;
}

function isMissing({ kind, type, input }: SchemaIssue): boolean {
  return kind === "schema" && input === undefined && type !== "never";
}

/** valibot ends its own messages with the value it received. */
function isDefaultMessage({ message, received }: SchemaIssue): boolean {
  return message.startsWith("Invalid ") && message.endsWith(`eceived ${received}`);
}

function labelOf({ message }: SchemaIssue): string {
  return message.slice("Invalid ".length, message.indexOf(":"));
}
