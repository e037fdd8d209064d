/** Writes schemas so that every client reads them as they are meant. */
import type { JsonSchema } from "../json_schema/json_schema.ts";

/** Keywords whose values are data. */
const DATA = new Set(["const", "default", "enum", "examples"]);
/** Keywords whose values hold schemas by names that anyone chose. */
const NAMED = new Set(["$defs", "patternProperties", "properties"]);
/** Keywords that say nothing of what fits. */
const ANNOTATIONS = new Set(["default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"]);

/**
 * The same schema in words that all clients know.
 *
 * The first generation of clients validates results by draft-07. It has no `prefixItems`, and takes
 * `items`, which is about later items, to be about all: later items are left open. And some
 * providers of models know one type for a schema, not a list of them.
 */
export function toPortable(schema: JsonSchema): JsonSchema {
  return withSingleTypes(withoutRest(mapSchemas(schema)));
}

function mapSchemas(schema: JsonSchema): JsonSchema {
  const mapped = Object.entries(schema).map(([keyword, value]) => {
    if (DATA.has(keyword)) return [keyword, value];
    return [keyword, NAMED.has(keyword) ? mapNamed(value as Record<string, JsonSchema>) : mapParts(value)];
  });
  return Object.fromEntries(mapped);
}

function mapNamed(schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, toPortable(schema)]));
}

function mapParts(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map(mapParts) : toPortable(value as JsonSchema);
}

function withoutRest(schema: JsonSchema): JsonSchema {
  const { items: _, ...others } = schema;
  return schema.prefixItems ? others : schema;
}

function withSingleTypes(schema: JsonSchema): JsonSchema {
  const { type, ...others } = schema;
  if (!Array.isArray(type)) return schema;
  if (others.enum) return others;
  const entries = Object.entries(others);
  const annotations = entries.filter(([keyword]) => ANNOTATIONS.has(keyword));
  const rules = Object.fromEntries(entries.filter(([keyword]) => !ANNOTATIONS.has(keyword)));
  const options = type.map((one): JsonSchema => one === "null" ? { type: one } : { type: one, ...rules });
  return { ...Object.fromEntries(annotations), anyOf: options };
}
