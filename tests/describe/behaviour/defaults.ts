// The defaults that the document declares for missing values.

import type { Schema, Schemas } from "./schemas.ts";

/**
 * The value with all defaults that the schema declares for it and its parts, unless a choice of
 * schemas is in between.
 */
export function withDefaults(value: unknown, schema: Schema, schemas: Schemas): unknown {
  const settled = settle(schema, schemas);
  if (typeof settled === "boolean" || typeof value !== "object" || value === null) return value;
  const { properties = {}, items = true } = settled;
  if (Array.isArray(value)) {
    return settled.prefixItems ? value : value.map((item) => withDefaults(item, items, schemas));
  }
  const filled = new Map(Object.entries(value));
  for (const [name, property] of Object.entries(properties)) {
    const given = filled.has(name) ? filled.get(name) : defaultOf(property, schemas);
    if (given !== undefined) filled.set(name, withDefaults(given, property, schemas));
  }
  return Object.fromEntries(filled);
}

/** The default of a value; undefined if there is none. */
export function defaultOf(schema: Schema, schemas: Schemas): unknown {
  const settled = typeof schema === "object" && schema.default === undefined ? settle(schema, schemas) : schema;
  return typeof settled === "boolean" ? undefined : settled.default;
}

/** The target of a reference that has no other keywords. */
function settle(schema: Schema, schemas: Schemas): Schema {
  if (typeof schema === "boolean") return schema;
  const { $ref, allOf } = schema;
  if ($ref !== undefined) return settle(schemas.resolve($ref) as Schema, schemas);
  return allOf?.length === 1 ? settle(allOf[0]!, schemas) : schema;
}
