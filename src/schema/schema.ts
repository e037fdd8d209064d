/** What webfw asks of a valibot schema, and how it runs one. */
import { explaining, type RunConfig, stoppingAtFirst } from "./run_config.ts";

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
