/** The results of valibot's transformations, and the kinds of values that are not JSON. */
import {
  isBinary,
  lazyTarget,
  nodeOf,
  NON_JSON,
  partsOf,
  type PipeAction,
  type Schema,
  type SchemaNode,
} from "../../schema/schema.ts";
import { type Form, type Place, subjectAt } from "./json_schema.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";

export interface Step extends PipeAction {
  readonly type: string;
  readonly requirement?: unknown;
}

/** A string of digits. */
export const BIGINT: JsonSchema = { type: "string", pattern: "^-?(?:0|[1-9]\\d*)$" };

/** As `Date.prototype.toJSON` writes it. */
const DATE: JsonSchema = { type: "string", format: "date-time" };

export const JSON_TEXT: JsonSchema = { contentMediaType: "application/json" };

/** Rewriting makes a string from a string; replacing, any other value. */
export type Change = "none" | "rewritten" | "replaced";

/** They return their input, or a function around it. */
const KEEPING = new Set(["args", "brand", "flavor", "guard", "readonly", "returns"]);

const TRIMMING = new Set(["trim", "trim_end", "trim_start"]);

const REWRITING = new Set(
  "normalize to_camel_case to_kebab_case to_lower_case to_pascal_case to_snake_case to_upper_case".split(" "),
);

/** They do not depend on the input. */
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

/** They depend on the input: some items, or a value within bounds. */
const DERIVED: ReadonlyMap<string, Result> = new Map<string, Result>([
  ["filter_items", someItems],
  ["sort_items", someItems],
  ["find_item", ({ items, prefixItems }) => typeof items !== "object" || prefixItems ? {} : items],
  ["to_min_value", clamped],
  ["to_max_value", clamped],
]);

export function isSchemaStep(step: Step | SchemaNode): step is SchemaNode {
  return step.kind === "schema";
}

/** Whether it returns its input. */
export function keepsValue({ kind, type }: SchemaNode | Step): boolean {
  return kind !== "transformation" || KEEPING.has(type);
}

export function replacesValue(step: Step): boolean {
  return !keepsValue(step) && !DERIVED.has(step.type);
}

/** Trimming counts as no change: most clients send no surrounding white space. */
export function changeByStep(step: Step): Change {
  if (keepsValue(step) || TRIMMING.has(step.type)) return "none";
  return REWRITING.has(step.type) ? "rewritten" : "replaced";
}

export function resultOf(step: Step, before: JsonSchema): JsonSchema {
  if (keepsValue(step)) return before;
  if (TRIMMING.has(step.type) || REWRITING.has(step.type)) return { type: "string" };
  return RESULTS.get(step.type) ?? DERIVED.get(step.type)?.(before, step.requirement) ?? {};
}

function someItems({ items, prefixItems }: JsonSchema): JsonSchema {
  return items === undefined || prefixItems ? { type: "array" } : { type: "array", items };
}

/** The bound of integers may be a fraction. */
function clamped({ type, format }: JsonSchema, requirement: unknown): JsonSchema {
  if (typeof requirement === "bigint") return BIGINT;
  if (requirement instanceof Date) return DATE;
  if (type === "integer" && !Number.isInteger(requirement)) return { type: "number" };
  return { ...(type !== undefined && { type }), ...(format !== undefined && { format }) };
}

/** Generators recognize this format of OpenAPI 3.0. */
export const BYTES: JsonSchema = { type: "string", format: "binary" };

export const FILE: JsonSchema = { ...BYTES, contentMediaType: "application/octet-stream" };

/** As `JSON.stringify` writes it. A class decides about its instances. */
const SENT: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ["date", DATE],
  ["instance", {}],
  ["nan", { type: "null" }],
]);

/** Undefined for kinds that are JSON. Throws if JSON cannot represent the kind. */
export function describeNonJson(node: SchemaNode, form: Form, place: Place): JsonSchema | undefined {
  if (form === "input" && isBinary(node)) return FILE;
  const cure = NON_JSON.get(node.type)?.[form];
  if (cure !== undefined) {
    const way = form === "input" ? "read from" : "written to";
    throw new TypeError(`Cannot describe ${subjectAt(place)}: the kind "${node.type}" cannot be ${way} JSON, ${cure}`);
  }
  return form === "output" ? SENT.get(node.type) : undefined;
}

export function isRefused({ type }: SchemaNode, form: Form): boolean {
  return NON_JSON.get(type)?.[form] !== undefined;
}

export function holdsBinary(schema: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isIn = (node: SchemaNode): boolean => {
    if (seen.has(node)) return false;
    seen.add(node);
    if (isBinary(node)) return true;
    const target = node.type === "lazy" ? lazyTarget(node) : undefined;
    return target ? isIn(target) : partsOf(node).some(isIn);
  };
  return isIn(nodeOf(schema));
}

/** Empty if all are accepted. */
export function mediaTypesOf({ pipe = [] }: SchemaNode): readonly string[] {
  const steps = pipe as readonly (SchemaNode & { readonly requirement?: unknown })[];
  const step = steps.find(({ type }) => type === "mime_type");
  return step ? step.requirement as readonly string[] : [];
}
