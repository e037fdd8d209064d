/** Valibot schemas: their types, their parts, and their execution. */
import { quote } from "../base/options.ts";

/**
 * A valibot schema, sync or async.
 *
 * For requests and replies, these checks have the meaning of JSON Schema, as in the document:
 *
 * - `isoDate()`: a `date` of RFC 3339 that exists, so not `2026-04-31`.
 * - `isoTimestamp()`: a `date-time` of RFC 3339, with `T`, seconds, and `Z` or an offset, and
 * without leap seconds.
 * - `minLength()`, `maxLength()` and `length()` of a string count code points: an emoji is one.
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
  /** Distinguishes schemas from other objects of valibot. */
  readonly kind: "schema";
  /** The kind of the schema, such as `string` or `object`. */
  readonly type: string;
  /** Whether it runs asynchronously. */
  readonly async: boolean;
  /** Carries the types; absent at run time. */
  readonly "~types"?:
    | { readonly input: Input; readonly output: Output }
    | undefined;
}

/** As valibot reports it. */
export interface SchemaIssue {
  readonly kind: "schema" | "validation" | "transformation";
  readonly type: string;
  readonly input: unknown;
  readonly expected: string | null;
  readonly received: string;
  readonly message: string;
  readonly path?: readonly IssuePathItem[] | undefined;
}

interface IssuePathItem {
  readonly key?: unknown;
  readonly origin?: string;
}

export interface Dataset {
  typed?: boolean;
  value: unknown;
  issues?: [SchemaIssue, ...SchemaIssue[]] | undefined;
}

export interface PipeAction {
  readonly kind: "validation" | "transformation" | "metadata";
  readonly type: string;
  readonly requirement?: unknown;
  readonly "~run": (dataset: Dataset, config: RunConfig) => Dataset | Promise<Dataset>;
}

/** With the internals of all kinds. */
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

export function nodeOf(schema: Schema): SchemaNode {
  return schema as SchemaNode;
}

export function isSchema(value: unknown): value is Schema {
  return isSchemaNode(value) && typeof value["~run"] === "function";
}

export function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === "object" && value !== null && (value as Partial<SchemaNode>).kind === "schema";
}

export function isStandardSchema(value: unknown): boolean {
  return vendorOf(value) !== undefined;
}

/** The end of a message. */
export function schemaFault(value: unknown, wanted = "a valibot schema"): string {
  const vendor = vendorOf(value);
  if (vendor !== undefined && vendor !== "valibot") return `must be ${wanted}, got a schema of ${vendor}`;
  if (typeof value === "function" && value.name) {
    return `must be a valibot schema, got the function "${value.name}": call it`;
  }
  const parts = typeof value === "object" && value !== null ? Object.values(value) : [];
  if (parts.length === 0 || !parts.every(isSchema)) return `must be ${wanted}`;
  const cure = Array.isArray(value) ? "write v.array(…) for an array" : "write v.object({ … }) around the entries";
  return `must be one valibot schema, ${cure}`;
}

function vendorOf(value: unknown): string | undefined {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  const { vendor } = (value as { readonly "~standard"?: { readonly vendor?: unknown } })["~standard"] ?? {};
  return typeof vendor === "string" ? vendor : undefined;
}

/** @ignore A mistake in a declaration. The compiler prints `Text`; no value has this type. */
export type Mistake<Text extends string> = Text & { readonly "~mistake": never };

/**
 * @ignore A schema as an option. With the index signature the compiler reports a value that is no
 * schema, instead of its first unknown key.
 */
export interface GivenSchema<Input = unknown, Output = Input> extends Schema<Input, Output> {
  /** Other properties of a schema. */
  // deno-lint-ignore no-explicit-any -- schemas are interfaces, which `unknown` would refuse
  readonly [key: string]: any;
}

/** @ignore Schemas by name. */
export type Schemas = Readonly<Record<string, Schema>>;

/** @ignore The type of a schema's results. */
export type OutputOf<Given> = Given extends { readonly "~types"?: { readonly output: infer Value } | undefined } ? Value
  : unknown;

/** @ignore The type of a schema's input. */
export type InputOf<Given> = Given extends { readonly "~types"?: { readonly input: infer Value } | undefined } ? Value
  : unknown;

/** @ignore The type after JSON: an object is the result of `toJSON()`. */
export type JsonForm<Value> = unknown extends Value ? unknown
  : Value extends string | number | boolean | null | undefined ? Value
  : Value extends bigint ? string
  : Value extends { toJSON(...args: never[]): infer Plain } ? Plain
  : { [Key in keyof Value]: JsonForm<Value[Key]> };

/** @ignore Schemas by name in `v.strictObject()`: other names are refused. */
export interface StrictSchemas {
  /** Distinguishes it from other objects. */
  readonly type: "strict_object";
  /** The schemas. */
  readonly entries: Schemas;
}

/** @ignore The schemas by name of an option. */
export type EntriesOf<Given> = Given extends StrictSchemas ? Given["entries"] : Given;

/** @ignore The mistake of a value that is no object of schemas. */
export type NotSchemas<Given> = Given extends StrictSchemas & { readonly pipe?: never } ? Given
  : Given extends Schema | { readonly "~standard": unknown } ? Mistake<"Give each schema by its name: { name: schema }">
  : Mistake<`'${NamesOfOthers<Given>}' must be a valibot schema`>;

/** @ignore The names whose values are not schemas. */
export type NamesOfOthers<Given> =
  & { readonly [Name in keyof Given]: Given[Name] extends Schema ? never : Name }[keyof Given]
  & string;

export const LISTS: ReadonlySet<string> = new Set(["array", "tuple", "loose_tuple", "strict_tuple", "tuple_with_rest"]);

export const OBJECTS: ReadonlySet<string> = new Set(
  "object loose_object strict_object object_with_rest record variant".split(" "),
);

/** They pass their input on, and accept null only if their parts do. */
export const PASSING: ReadonlySet<string> = new Set(
  "optional undefinedable exact_optional non_optional non_nullable non_nullish union intersect".split(" "),
);

/** JSON cannot represent them, or not always. With their cures. */
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

export function isBinary(schema: Schema): boolean {
  if (schema.type === "file" || schema.type === "blob") return true;
  const { class: Class } = schema as Schema & { readonly class?: unknown };
  return schema.type === "instance" && (Class === File || Class === Blob);
}

/** Without the target of a lazy schema. */
export function partsOf({ pipe, entries, rest, item, items, key, value, options, wrapped }: SchemaNode): SchemaNode[] {
  // A pipe also has the properties of its first step.
  if (pipe) return pipe.filter(isSchemaNode);
  const parts: unknown[] = [rest, item, key, value, wrapped];
  if (entries) parts.push(...Object.values(entries));
  if (items) parts.push(...items);
  if (options) parts.push(...options);
  return parts.filter(isSchemaNode);
}

/** A pipe also has the `fallback` of its first step, which does not count. */
export function fallsBack(node: SchemaNode): boolean {
  const first = node.pipe?.[0] as SchemaNode | undefined;
  return "fallback" in node && !(first && "fallback" in first && first.fallback === node.fallback);
}

const lazyTargets = new WeakMap<NonNullable<SchemaNode["getter"]>, SchemaNode | Promise<SchemaNode>>();

/** A getter without a parameter is called once: new schemas would miss all caches. */
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

/** Undefined if the target depends on the value or is async. */
export function lazyTarget(node: SchemaNode): SchemaNode | undefined {
  if (node.getter === undefined || node.getter.length > 0) return undefined;
  const target = resolveLazy(node, undefined);
  return target instanceof Promise ? undefined : target;
}

export interface RunConfig {
  readonly lang: undefined;
  readonly message: undefined;
  readonly abortEarly: boolean;
  readonly abortPipeEarly: undefined;
}

/** Returns a promise only for an async schema. By default all issues, within bounds. */
export function runSchema(schema: Schema, value: unknown, abortEarly = false): Dataset | Promise<Dataset> {
  return nodeOf(schema)["~run"]({ value }, abortEarly ? abortingEarly() : listingIssues(value));
}

/** Stops at the first issue. */
export function runAction(action: PipeAction, value: unknown): Dataset {
  return action["~run"]({ typed: true, value }, abortingEarly()) as Dataset;
}

function abortingEarly(): RunConfig {
  return { lang: undefined, message: undefined, abortEarly: true, abortPipeEarly: undefined };
}

/**
 * valibot reads `abortEarly` for each issue and each level above it. Options of a union can repeat
 * issues, which doubles them with each level.
 */
const MAX_QUESTIONS = 10_000;

/** Measures the value at its first issue, so valid values cost nothing. */
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

/** valibot copies each issue through all levels above it: the work is quadratic in the depth. */
const MAX_DEPTH = 32;
/** In characters of JSON, roughly. An issue takes a hundred times the memory of its JSON. */
const MAX_SIZE = 64 * 1024;

/** Small enough to list all issues. */
export function isSmall(value: unknown): boolean {
  let size = 0;
  const fits = (part: unknown, depth: number): boolean => {
    size += lengthOf(part);
    if (size > MAX_SIZE || depth > MAX_DEPTH) return false;
    if (typeof part !== "object" || part === null) return true;
    if (Array.isArray(part)) return part.every((item) => fits(item, depth + 1));
    // The map of the children of a form tree does not count as a level.
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

/** A client can cause it by deeply nested input. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}

/**
 * Refuses a default that does not fit its own schema: requests without the value would be a 422.
 * Functions, and schemas below a lazy one, are not checked.
 *
 * @param name For messages.
 * @throws {TypeError} If a default does not fit.
 */
export function checkDefaults(schema: Schema, name: string): void {
  const node = nodeOf(schema);
  for (const part of partsOf(node)) checkDefaults(part, name);
  const { default: value } = node;
  if (value === undefined || typeof value === "function" || node.async || node.type === "exact_optional") return;
  const message = refusalOf(node);
  if (message === undefined) return;
  throw new TypeError(
    `Cannot bind ${name}: the default ${quote(value)} does not fit (${message}), change it or its schema`,
  );
}

/** The message for an absent value; undefined if its default is valid. */
function refusalOf(node: SchemaNode): string | undefined {
  try {
    const { issues } = runSchema(node, node.type === "nullable" ? null : undefined, true) as Dataset;
    return issues?.[0].message;
  } catch {
    // A check of the schema may need something that is opened later, such as a database.
    return undefined;
  }
}

/** Transformations that do not change their own results. */
export const REPEATABLE: ReadonlySet<string> = new Set(
  "brand flavor normalize readonly to_lower_case to_upper_case trim trim_end trim_start".split(" "),
);

/** Whether a schema accepts its own results as JSON, unchanged. */
export function keepsOwnResults(schema: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isIn = (node: SchemaNode): boolean => {
    if (seen.has(node)) return true;
    seen.add(node);
    const { pipe = [], type } = node;
    if (pipe.some((step) => step.kind === "transformation" && !REPEATABLE.has(step.type))) return false;
    if (type !== "lazy") return partsOf(node).every(isIn);
    const target = lazyTarget(node);
    return target !== undefined && isIn(target);
  };
  return isIn(nodeOf(schema));
}
