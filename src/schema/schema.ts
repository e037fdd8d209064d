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
export function runSchema(schema: Schema, value: unknown, abortEarly = false): Dataset | Promise<Dataset> {
  return (schema as SchemaNode)["~run"]({ value }, abortEarly ? stoppingAtFirst() : explaining(value));
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
/** Looks behind lazy schemas. */

/** What a getter gives. */
type Given = SchemaNode | Promise<SchemaNode>;

const given = new WeakMap<NonNullable<SchemaNode["getter"]>, Given>();

/**
 * What the getter of a lazy schema gives for a value. A getter that takes no value is asked once:
 * it may make a new schema each time, of which nothing would be known, neither its forms nor what
 * it made of the same value before.
 */
export function resolveLazy({ getter }: SchemaNode, input: unknown): Given {
  const known = given.get(getter!);
  if (known) return known;
  const result: Given = getter!(input);
  if (getter!.length > 0) return result;
  given.set(getter!, result);
  // A getter that failed is asked again. The caller of this one gets the error.
  if (result instanceof Promise) result.catch(() => given.delete(getter!));
  return result;
}

/**
 * What a lazy schema stands for; undefined where that depends on the value, or has to be waited
 * for.
 */
export function lazyTarget(node: SchemaNode): SchemaNode | undefined {
  if (node.getter === undefined || node.getter.length > 0) return undefined;
  const target = resolveLazy(node, undefined);
  return target instanceof Promise ? undefined : target;
}

/** How valibot is run: up to the first fault, or for every fault within bounds. */

/** What a schema is run with, in place of the application's global configuration of valibot. */
export interface RunConfig {
  readonly lang: undefined;
  readonly message: undefined;
  readonly abortEarly: boolean;
  readonly abortPipeEarly: undefined;
}

/** Makes valibot stop at the first fault. */
export function stoppingAtFirst(): RunConfig {
  return { lang: undefined, message: undefined, abortEarly: true, abortPipeEarly: undefined };
}

/**
 * valibot moves each fault through all levels above it: the work grows with the square of the
 * depth.
 */
const MAX_DEPTH = 32;
/**
 * In characters of JSON, roughly. A fault takes a hundred times the memory of the text that causes
 * it.
 */
const MAX_SIZE = 64 * 1024;
/**
 * How often valibot may ask whether to stop: once for a fault, and once for each level above it.
 * The options of a union can find the same faults again, so that they double with each level.
 */
const MAX_QUESTIONS = 10_000;

/** Whether a value is so small that all of its faults may be listed. */
export function isExplainable(value: unknown): boolean {
  let size = 0;
  const fits = (part: unknown, depth: number): boolean => {
    size += lengthOf(part);
    if (size > MAX_SIZE || depth > MAX_DEPTH) return false;
    if (typeof part !== "object" || part === null) return true;
    if (Array.isArray(part)) return part.every((item) => fits(item, depth + 1));
    // The names of a form lie in maps, which are no level of their own.
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

/**
 * Makes valibot list all faults of a value, or stop at the first one where the value, or the work,
 * is large.
 *
 * The value is measured at the first fault, so that valid values do not pay for it.
 */
export function explaining(value: unknown): RunConfig {
  let left: number | undefined;
  let measured = value;
  return {
    lang: undefined,
    message: undefined,
    abortPipeEarly: undefined,
    get abortEarly() {
      if (left === undefined) {
        left = isExplainable(measured) ? MAX_QUESTIONS : 0;
        // The configuration may outlive the value.
        measured = undefined;
      }
      return left-- <= 0;
    },
  };
}
/**
 * Whether an error is a stack overflow. A recursive function follows the nesting of its input,
 * which a client chooses.
 */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}
