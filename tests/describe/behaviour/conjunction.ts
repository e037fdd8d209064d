// Merges several schemas that all apply into one, as far as it is needed to make values. A
// validator checks the values.

import type { JsonSchema } from "../../../src/schema/json_schema.ts";
import type { Schema } from "./schemas.ts";

type Combine = (one: never, other: never) => unknown;

/** How keywords that both schemas have go together. Of any others, the first one's stays. */
const COMBINE: ReadonlyMap<string, Combine> = new Map<string, Combine>([
  ...["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"].map((name) => [name, Math.max] as const),
  ...["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"].map((name) => [name, Math.min] as const),
  ["type", (one: string | string[], other: string | string[]) => commonTypes([one].flat(), [other].flat())],
  ["enum", (one: unknown[], other: unknown[]) => one.filter((value) => other.includes(value))],
  ["required", (one: string[], other: string[]) => [...new Set([...one, ...other])]],
  ["properties", bothByName],
  ["items", bothOf],
  ["additionalProperties", bothOf],
  ["propertyNames", bothOf],
  ["prefixItems", (one: Schema[], other: Schema[]) => bothByPlace(one, other)],
]);

/** A schema that may have several patterns. */
export interface Conjunction extends JsonSchema {
  patterns?: string[];
}

/** A schema for values that fit both schemas. */
export function conjunctionOf(one: Conjunction, other: Conjunction): Conjunction {
  const merged: Conjunction = { ...one };
  for (const [keyword, value] of Object.entries(other)) {
    const present = merged[keyword];
    const combine = COMBINE.get(keyword);
    if (present === undefined) merged[keyword] = value;
    else if (combine) merged[keyword] = combine(present as never, value as never);
  }
  const patterns = [...patternsOf(one), ...patternsOf(other)];
  return patterns.length > 1 ? { ...merged, patterns } : merged;
}

/** The patterns of a schema, all of which a text matches. */
export function patternsOf({ pattern, patterns }: Conjunction): string[] {
  return patterns ?? (pattern === undefined ? [] : [pattern]);
}

function bothOf(one: Schema, other: Schema): Schema {
  if (typeof one === "boolean") return one ? other : false;
  if (typeof other === "boolean") return other ? one : false;
  return { allOf: [one, other] };
}

function bothByName(one: Record<string, Schema>, other: Record<string, Schema>): Record<string, Schema> {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const within = (schemas: Record<string, Schema>, name: string) =>
    Object.hasOwn(schemas, name) ? schemas[name]! : true;
  return Object.fromEntries([...names].map((name) => [name, bothOf(within(one, name), within(other, name))]));
}

function bothByPlace(one: readonly Schema[], other: readonly Schema[]): Schema[] {
  const length = Math.max(one.length, other.length);
  return Array.from({ length }, (_, index) => bothOf(one[index] ?? true, other[index] ?? true));
}

function commonTypes(one: readonly string[], other: readonly string[]): string[] {
  const common = one.filter((type) => other.includes(type) || (type === "integer" && other.includes("number")));
  return [...common, ...other.filter((type) => type === "integer" && one.includes("number"))];
}
