/** Valibot schemas: their types, their parts, and how webfw runs them. */

/**
 * Any valibot schema, sync or async. `Input` is the type of the values it takes, `Output` the type
 * of its results.
 *
 * Schemas of requests and replies run as in valibot, except for three of its checks. These mean
 * what JSON Schema means, because the document describes them so:
 *
 * - `isoDate()` takes a `date` of RFC 3339, and the day must exist: not `2026-04-31`.
 * - `isoTimestamp()` takes a `date-time` of RFC 3339, with `T`, seconds, and `Z` or an offset such
 *   as `+03:00`: not `2026-01-01 09:17:48 +03`. It refuses a leap second, which no `Date` can hold.
 * - `minLength()`, `maxLength()` and `length()` count the characters (code points) of a text. An
 *   emoji counts as one; valibot counts its two UTF-16 units.
 *
 * @example A type annotation for a schema
 * ```ts
 * import type { Schema } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const page: Schema<number, number> = v.pipe(v.number(), v.minValue(1));
 * assertEquals(page.kind, "schema");
 * ```
 *
 * @category Routes
 */
export interface Schema<Input = unknown, Output = Input> {
  /** Distinguishes schemas from the other objects of valibot. */
  readonly kind: "schema";
  /** The kind of the schema, such as `string` or `object`. */
  readonly type: string;
  /** Whether it must be run asynchronously. */
  readonly async: boolean;
  /** Carries the types; absent at run time. */
  readonly "~types"?:
    | { readonly input: Input; readonly output: Output }
    | undefined;
}

/** An issue as valibot reports it. */
export interface SchemaIssue {
  readonly kind: "schema" | "validation" | "transformation";
  readonly type: string;
  readonly input: unknown;
  readonly expected: string | null;
  readonly received: string;
  readonly message: string;
  readonly path?: readonly IssuePathItem[] | undefined;
}

/** One step of the path to an issue. */
interface IssuePathItem {
  readonly key?: unknown;
  /** `key` where the key itself is at fault, for example because it is missing. */
  readonly origin?: string;
}

/** A value and its state while a schema runs. */
export interface Dataset {
  typed?: boolean;
  value: unknown;
  issues?: [SchemaIssue, ...SchemaIssue[]] | undefined;
}

/** A step of a `pipe` that is not a schema. */
export interface PipeAction {
  readonly kind: "validation" | "transformation" | "metadata";
  readonly type: string;
  readonly requirement?: unknown;
  readonly "~run": (dataset: Dataset, config: RunConfig) => Dataset | Promise<Dataset>;
}

/** The internals of a schema: those of every kind, and those of some kinds. */
export interface SchemaNode extends Schema {
  // deno-lint-ignore no-explicit-any -- the constructor of each kind takes other parts
  readonly reference: (...parts: any[]) => SchemaNode;
  readonly "~run": (dataset: Dataset, config: RunConfig) => Dataset | Promise<Dataset>;
  readonly message?: unknown;
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
  readonly getter?: (input: unknown) => SchemaNode | Promise<SchemaNode>;
  readonly literal?: unknown;
}

/** Returns a schema with its internals, which the public type hides. */
export function nodeOf(schema: Schema): SchemaNode {
  return schema as SchemaNode;
}

export function isSchema(value: unknown): value is Schema {
  return isSchemaNode(value) && typeof value["~run"] === "function";
}

function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === "object" && value !== null && (value as Partial<SchemaNode>).kind === "schema";
}

/** Whether a value is a schema of any library that implements Standard Schema. */
export function isStandardSchema(value: unknown): boolean {
  return vendorOf(value) !== undefined;
}

/**
 * Describes, for an error message, why a value is not a schema.
 *
 * @param value The value.
 * @param wanted What it may be.
 */
export function schemaFault(value: unknown, wanted = "a valibot schema"): string {
  const vendor = vendorOf(value);
  if (vendor !== undefined && vendor !== "valibot") return `must be ${wanted}, got a schema of ${vendor}`;
  if (typeof value === "function" && value.name) {
    return `must be a valibot schema, got the function "${value.name}": call it`;
  }
  const parts = typeof value === "object" && value !== null ? Object.values(value) : [];
  if (parts.length === 0 || !parts.every(isSchema)) return `must be ${wanted}`;
  const cure = Array.isArray(value) ? "write v.array(…) for a list" : "write v.object({ … }) around the entries";
  return `must be one valibot schema, ${cure}`;
}

function vendorOf(value: unknown): string | undefined {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  const { vendor } = (value as { readonly "~standard"?: { readonly vendor?: unknown } })["~standard"] ?? {};
  return typeof vendor === "string" ? vendor : undefined;
}

/** The type of a mistake in a declaration: the compiler's message shows `Text`. No value has it. */
export type Mistake<Text extends string> = Text & { readonly "~mistake": never };

/**
 * A schema as an option takes it. The index signature makes the compiler say that a value is not a
 * schema, instead of complaining about its first key.
 */
export interface GivenSchema<Input = unknown, Output = Input> extends Schema<Input, Output> {
  /** All other members of a schema. */
  // deno-lint-ignore no-explicit-any -- schemas are interfaces, which `unknown` would refuse
  readonly [key: string]: any;
}

/** Schemas by name. */
export type Schemas = Readonly<Record<string, Schema>>;

/** The type of a schema's results. */
export type OutputOf<Given> = Given extends { readonly "~types"?: { readonly output: infer Value } | undefined } ? Value
  : unknown;

/** The value that a schema takes. */
export type InputOf<Given> = Given extends { readonly "~types"?: { readonly input: infer Value } | undefined } ? Value
  : unknown;

/** The mistake where schemas by name were expected. */
export type NotSchemas<Given> = Given extends Schema | { readonly "~standard": unknown }
  ? Mistake<"Give each schema by its name: { name: schema }">
  : Mistake<`'${NamesOfOthers<Given>}' must be a valibot schema`>;

/** The names whose values are not schemas. */
export type NamesOfOthers<Given> =
  & { readonly [Name in keyof Given]: Given[Name] extends Schema ? never : Name }[keyof Given]
  & string;

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

/**
 * The kinds that give their own input to the schemas inside them, and take null only if those do.
 */
export const PASSING: ReadonlySet<string> = new Set([
  "optional",
  "undefinedable",
  "exact_optional",
  "non_optional",
  "non_nullable",
  "non_nullish",
  "union",
  "intersect",
]);

/** Kinds that JSON cannot carry, or not always, with what to write instead. */
export const NON_JSON: ReadonlyMap<string, { readonly input?: string; readonly output?: string }> = new Map([
  ["blob", { output: "reply with the blob alone" }],
  ["date", { input: "use v.pipe(v.string(), v.isoTimestamp(), v.toDate())" }],
  ["file", { output: "reply with the file alone" }],
  ["function", { input: "leave it out", output: "leave it out" }],
  ["instance", { input: "use v.object() and v.transform()" }],
  ["map", {
    input: "use v.record() and v.transform()",
    output: "follow it by v.transform(Object.fromEntries) and v.record()",
  }],
  ["nan", { input: "leave it out" }],
  ["promise", { input: "leave it out", output: "await it in the handler" }],
  ["set", {
    input: "use v.array() and v.transform()",
    output: "follow it by v.transform((set) => [...set]) and v.array()",
  }],
  ["symbol", { input: "leave it out", output: "leave it out" }],
]);

/** Whether the values of a schema are bytes: `File` or `Blob` objects. */
export function isBinary(schema: Schema): boolean {
  if (schema.type === "file" || schema.type === "blob") return true;
  const { class: Class } = schema as Schema & { readonly class?: unknown };
  return schema.type === "instance" && (Class === File || Class === Blob);
}

/** The schemas inside a schema. A lazy schema has none; see {@linkcode lazyTarget}. */
export function partsOf({ pipe, entries, rest, item, items, key, value, options, wrapped }: SchemaNode): SchemaNode[] {
  // A pipe also has the properties of its first step.
  if (pipe) return pipe.filter(isSchemaNode);
  const parts: unknown[] = [rest, item, key, value, wrapped];
  if (entries) parts.push(...Object.values(entries));
  if (items) parts.push(...items);
  if (options) parts.push(...options);
  return parts.filter(isSchemaNode);
}

/**
 * Whether a schema itself has a fallback. A pipe also has the `fallback` property of its first
 * step.
 */
export function fallsBack(node: SchemaNode): boolean {
  const first = node.pipe?.[0] as SchemaNode | undefined;
  return "fallback" in node && !(first && "fallback" in first && first.fallback === node.fallback);
}

/** The schemas that getters without a parameter have returned. */
const lazyTargets = new WeakMap<NonNullable<SchemaNode["getter"]>, SchemaNode | Promise<SchemaNode>>();

/**
 * Returns the schema that a lazy schema stands for, given a value.
 *
 * A getter without a parameter is called once. It may build a new schema each time, and everything
 * cached by schema would be lost with the old one.
 */
export function resolveLazy({ getter }: SchemaNode, input: unknown): SchemaNode | Promise<SchemaNode> {
  const known = lazyTargets.get(getter!);
  if (known) return known;
  const target = getter!(input);
  if (getter!.length > 0) return target;
  lazyTargets.set(getter!, target);
  // A getter that failed is called again. The caller handles the rejection.
  if (target instanceof Promise) target.catch(() => lazyTargets.delete(getter!));
  return target;
}

/** Like {@linkcode resolveLazy}; undefined if the target depends on the value or is async. */
export function lazyTarget(node: SchemaNode): SchemaNode | undefined {
  if (node.getter === undefined || node.getter.length > 0) return undefined;
  const target = resolveLazy(node, undefined);
  return target instanceof Promise ? undefined : target;
}

/** Replaces the application's global configuration of valibot. */
export interface RunConfig {
  readonly lang: undefined;
  readonly message: undefined;
  readonly abortEarly: boolean;
  readonly abortPipeEarly: undefined;
}

/**
 * Runs a schema. The result is a promise only if the schema is async.
 *
 * @param schema The schema.
 * @param value The value.
 * @param abortEarly Whether to stop at the first issue. Otherwise all issues are listed, within
 * bounds.
 */
export function runSchema(schema: Schema, value: unknown, abortEarly = false): Dataset | Promise<Dataset> {
  return nodeOf(schema)["~run"]({ value }, abortEarly ? abortingEarly() : listingIssues(value));
}

/** Runs a step of a pipe on the result of the earlier steps, up to the first issue. */
export function runAction(action: PipeAction, value: unknown): Dataset {
  return action["~run"]({ typed: true, value }, abortingEarly()) as Dataset;
}

function abortingEarly(): RunConfig {
  return { lang: undefined, message: undefined, abortEarly: true, abortPipeEarly: undefined };
}

/**
 * How often valibot may ask whether to stop: once for each issue, and once for each level above it.
 * Options of a union can find the same issues again, so their number can double with each level.
 */
const MAX_QUESTIONS = 10_000;

/**
 * A configuration that lists all issues of a small value, and the first one of a large value.
 *
 * The value is measured at its first issue, so that valid values cost nothing.
 */
export function listingIssues(value: unknown): RunConfig {
  let left: number | undefined;
  let measured = value;
  return {
    lang: undefined,
    message: undefined,
    abortPipeEarly: undefined,
    get abortEarly() {
      if (left === undefined) {
        left = isSmall(measured) ? MAX_QUESTIONS : 0;
        // The configuration may outlive the value.
        measured = undefined;
      }
      return left-- <= 0;
    },
  };
}

/**
 * valibot moves each issue through all levels above it: the work grows with the square of the
 * depth.
 */
const MAX_DEPTH = 32;
/**
 * In characters of JSON, roughly. An issue takes a hundred times the memory of the text behind it.
 */
const MAX_SIZE = 64 * 1024;

/** Whether a value is small enough to list all of its issues. */
export function isSmall(value: unknown): boolean {
  let size = 0;
  const fits = (part: unknown, depth: number): boolean => {
    size += lengthOf(part);
    if (size > MAX_SIZE || depth > MAX_DEPTH) return false;
    if (typeof part !== "object" || part === null) return true;
    if (Array.isArray(part)) return part.every((item) => fits(item, depth + 1));
    // The children of a form tree are in a map, which does not count as a level.
    const isMap = part instanceof Map;
    for (const [key, item] of isMap ? part : Object.entries(part)) {
      size += String(key).length + 3;
      if (!fits(item, isMap ? depth : depth + 1)) return false;
    }
    return true;
  };
  return fits(value, 0);
}

function lengthOf(part: unknown): number {
  if (typeof part === "string") return part.length + 3;
  return typeof part === "number" || typeof part === "boolean" ? String(part).length + 1 : 2;
}

/** Whether an error is a stack overflow, which a client can cause by nesting its input deeply. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}
