/** Takes schemas apart. */
import type { SchemaNode } from "./schema.ts";

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
