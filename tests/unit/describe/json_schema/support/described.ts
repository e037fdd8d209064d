// The expected descriptions of schemas.

import type { JsonSchema } from "../../../../../src/schema/json_schema.ts";
import type { Schema } from "../../../../../src/schema/schema.ts";

/**
 * A schema, its input description, and its output description if that differs; or the reason of a
 * refusal.
 */
export type Described = readonly [schema: Schema, accepted: JsonSchema | string, sent?: JsonSchema | string];

export const text: JsonSchema = { type: "string" };
export const number: JsonSchema = { type: "number" };
export const texts: JsonSchema = { type: "array", items: text };
export const bytes: JsonSchema = { type: "string", format: "binary", contentMediaType: "application/octet-stream" };
export const bigint: JsonSchema = matching("^-?(?:0|[1-9]\\d*)$");

/** A text that matches a pattern. */
export function matching(pattern: string | undefined, format?: string): JsonSchema {
  return { type: "string", ...format === undefined ? {} : { format }, ...pattern === undefined ? {} : { pattern } };
}

/** An object whose keys are there in any case, but for those whose names end in a question mark. */
export function object(schemas: Record<string, JsonSchema>, more: JsonSchema = {}): JsonSchema {
  const keys = Object.keys(schemas);
  const required = keys.filter((key) => !key.endsWith("?"));
  const properties = Object.fromEntries(keys.map((key) => [key.replace("?", ""), schemas[key]!]));
  return { type: "object", properties, ...required.length === 0 ? {} : { required }, ...more };
}
