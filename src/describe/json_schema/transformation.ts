/** What the transformations of valibot make of a value. */
import type { PipeAction, SchemaNode } from "../../schema/schema.ts";
import type { JsonSchema } from "./json_schema.ts";

/** A step of a pipe that is no schema. */
export interface Step extends PipeAction {
  readonly type: string;
  readonly requirement?: unknown;
}

/** A bigint in JSON: a string of digits. */
export const BIGINT: JsonSchema = { type: "string", pattern: "^-?(?:0|[1-9]\\d*)$" };

/** A date in JSON, as `Date.prototype.toJSON` writes it. */
export const DATE: JsonSchema = { type: "string", format: "date-time" };

/** A text that holds JSON. */
export const JSON_TEXT: JsonSchema = { contentMediaType: "application/json" };

/** How much a step changes a value: not at all, to another text, or to any other value. */
export type Change = "none" | "rewritten" | "replaced";

/** Transformations that return the value that they get, or a function around it. */
const KEEPING = new Set(["args", "brand", "flavor", "guard", "readonly", "returns"]);

const TRIMMING = new Set(["trim", "trim_end", "trim_start"]);

const REWRITING = new Set([
  "normalize",
  "to_camel_case",
  "to_kebab_case",
  "to_lower_case",
  "to_pascal_case",
  "to_snake_case",
  "to_upper_case",
]);

/** Schemas of the results that do not depend on the input. */
const RESULTS: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ["to_string", { type: "string" }],
  ["to_number", { type: "number" }],
  ["to_boolean", { type: "boolean" }],
  ["parse_boolean", { type: "boolean" }],
  ["to_bigint", BIGINT],
  ["to_date", DATE],
  ["map_items", { type: "array" }],
  ["stringify_json", { type: "string", ...JSON_TEXT }],
]);

type Result = (before: JsonSchema, requirement: unknown) => JsonSchema;

/** Schemas of the results that are made of the input: some items, or a value within bounds. */
const DERIVED: ReadonlyMap<string, Result> = new Map<string, Result>([
  ["filter_items", someItems],
  ["sort_items", someItems],
  ["find_item", ({ items, prefixItems }) => typeof items !== "object" || prefixItems ? {} : items],
  ["to_min_value", clamped],
  ["to_max_value", clamped],
]);

/** Whether a step of a pipe is a further schema. */
export function isSchemaStep(step: Step | SchemaNode): step is SchemaNode {
  return step.kind === "schema";
}

/** Whether a step of a pipe returns the value that it gets. */
export function keepsValue({ kind, type }: SchemaNode | Step): boolean {
  return kind !== "transformation" || KEEPING.has(type);
}

/** Whether the schema of a step's result does not depend on what goes in. */
export function replacesValue(step: Step): boolean {
  return !keepsValue(step) && !DERIVED.has(step.type);
}

/**
 * How a step that is no schema changes a value. Trimming counts as no change: texts are described
 * without white space around them, as most clients send them.
 */
export function changeByStep(step: Step): Change {
  if (keepsValue(step) || TRIMMING.has(step.type)) return "none";
  return REWRITING.has(step.type) ? "rewritten" : "replaced";
}

/** The schema of what a transformation returns, by that of what it gets. */
export function resultOf(step: Step, before: JsonSchema): JsonSchema {
  if (keepsValue(step)) return before;
  if (TRIMMING.has(step.type) || REWRITING.has(step.type)) return { type: "string" };
  return RESULTS.get(step.type) ?? DERIVED.get(step.type)?.(before, step.requirement) ?? {};
}

function someItems({ items, prefixItems }: JsonSchema): JsonSchema {
  return items === undefined || prefixItems ? { type: "array" } : { type: "array", items };
}

/** A bound may be a fraction where the value is an integer. */
function clamped({ type, format }: JsonSchema, requirement: unknown): JsonSchema {
  if (typeof requirement === "bigint") return BIGINT;
  if (requirement instanceof Date) return DATE;
  if (type === "integer" && !Number.isInteger(requirement)) return { type: "number" };
  return { ...(type !== undefined && { type }), ...(format !== undefined && { format }) };
}
