/** What the transformations of valibot leave of a value, as far as it can be told. */
import type { PipeAction, SchemaNode } from "../../schema/schema.ts";
import { type JsonSchema, toJson } from "./json_schema.ts";

/** A step of a pipe, with what its kinds hold. */
export interface Step extends PipeAction {
  readonly type: string;
  readonly requirement?: unknown;
}

/** A bigint in JSON: a string of digits. */
export const BIGINT: JsonSchema = { type: "string", pattern: "^-?(?:0|[1-9]\\d*)$" };

/** A date in JSON, as `Date.prototype.toJSON` writes it. */
export const DATE: JsonSchema = { type: "string", format: "date-time" };

/** A text that is JSON itself. */
const JSON_TEXT: JsonSchema = { contentMediaType: "application/json" };

/** What hands on the very value that it got, or a function that calls it. */
const KEEPING = new Set(["args", "brand", "flavor", "guard", "readonly", "returns"]);

/** What makes a text of a text, the shorter ones first. */
const TRIMS = ["trim", "trim_end", "trim_start"];
const REWRITES = [
  "normalize",
  "to_camel_case",
  "to_kebab_case",
  "to_lower_case",
  "to_pascal_case",
  "to_snake_case",
  "to_upper_case",
];

/** What gives some of the value that it takes. */
const ADAPTING = new Set(["filter_items", "find_item", "sort_items", "to_max_value", "to_min_value"]);

type Result = (before: JsonSchema, step: Step) => JsonSchema;

/** The results of transformations, by the schema of what goes in. */
const RESULTS: ReadonlyMap<string, Result> = new Map<string, Result>([
  ...[...TRIMS, ...REWRITES, "to_string"].map((type) => [type, (): JsonSchema => ({ type: "string" })] as const),
  ["to_number", () => ({ type: "number" })],
  ["to_boolean", () => ({ type: "boolean" })],
  ["parse_boolean", () => ({ type: "boolean" })],
  ["to_bigint", () => BIGINT],
  ["to_date", () => DATE],
  ["parse_json", () => ({})],
  ["stringify_json", () => ({ type: "string", ...JSON_TEXT })],
  ["to_min_value", (before, { requirement }) => bounded(before, "minimum", requirement)],
  ["to_max_value", (before, { requirement }) => bounded(before, "maximum", requirement)],
  ["filter_items", reordered],
  ["sort_items", reordered],
  ["map_items", () => ({ type: "array" })],
  ["find_item", itemOf],
]);

/** Whether a step of a pipe is a further schema. */
export function isSchemaStep(step: Step | SchemaNode): step is SchemaNode {
  return step.kind === "schema";
}

/** Whether a step of a pipe hands on the very value that it got. */
export function keepsValue({ kind, type }: SchemaNode | Step): boolean {
  return kind !== "transformation" || KEEPING.has(type);
}

/** Whether what a transformation gives is told without a look at what it takes. */
export function replacesValue(step: Step): boolean {
  return !keepsValue(step) && !ADAPTING.has(step.type);
}

/**
 * Whether a step of a pipe may give `undefined`.
 *
 * A function of the application is assumed to give a value. Where it may not, a schema behind it
 * says so.
 */
export function mayFindNothing({ type }: Step): boolean {
  return type === "find_item";
}

/** Whether a transformation gives a text for a text. */
export function rewritesText({ type }: Step): boolean {
  return REWRITES.includes(type) || trimsText({ type });
}

/** Whether a transformation gives a part of a text. */
export function trimsText({ type }: Pick<Step, "type">): boolean {
  return TRIMS.includes(type);
}

/** What a transformation tells of the value that it takes. */
export function beforeTransformation({ type }: Step): JsonSchema {
  return type === "parse_json" ? JSON_TEXT : {};
}

/** The schema of what a transformation gives, by that of what it gets. */
export function afterTransformation(before: JsonSchema, step: Step): JsonSchema {
  if (keepsValue(step)) return before;
  return RESULTS.get(step.type)?.(before, step) ?? {};
}

function bounded({ type }: JsonSchema, keyword: "minimum" | "maximum", requirement: unknown): JsonSchema {
  if (typeof requirement === "bigint") return BIGINT;
  if (requirement instanceof Date) return DATE;
  const bound = toJson(requirement);
  if (typeof bound !== "number") return type === "string" ? { type } : {};
  return { type: type === "integer" && Number.isInteger(bound) ? "integer" : "number", [keyword]: bound };
}

function itemOf({ items, prefixItems }: JsonSchema): JsonSchema {
  return typeof items !== "object" || prefixItems ? {} : items;
}

function reordered({ items, prefixItems }: JsonSchema): JsonSchema {
  return items === undefined || prefixItems ? { type: "array" } : { type: "array", items };
}
