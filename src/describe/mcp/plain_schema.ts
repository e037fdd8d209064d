/** Tells schemas that can be described for certain from those that have to be tried. */
import { nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";

/** Kinds of which every value is JSON, in both directions, as far as their parts are. */
const PLAIN: ReadonlySet<string> = new Set([
  "any",
  "array",
  "bigint",
  "boolean",
  "enum",
  "exact_optional",
  "intersect",
  "literal",
  "loose_object",
  "loose_tuple",
  "non_nullable",
  "non_nullish",
  "non_optional",
  "null",
  "nullable",
  "nullish",
  "number",
  "object",
  "object_with_rest",
  "optional",
  "picklist",
  "record",
  "strict_object",
  "strict_tuple",
  "string",
  "tuple",
  "tuple_with_rest",
  "undefinedable",
  "union",
  "unknown",
  "variant",
]);

/** Whether a schema is made of such kinds alone. One look at each of its parts, where describing them takes a hundred times as long. */
export function isPlain(schema: Schema): boolean {
  return PLAIN.has(schema.type) && partsOf(nodeOf(schema)).every(isPlain);
}

/** A pipe has the parts of its first step. */
function partsOf({ pipe, entries, rest, item, items, key, value, options, wrapped }: SchemaNode): SchemaNode[] {
  if (pipe) return pipe.filter(isSchemaNode);
  const lists = [Object.values(entries ?? {}), items ?? [], options ?? [], [rest, item, key, value, wrapped]];
  return lists.flat().filter(isSchemaNode);
}

function isSchemaNode(part: unknown): part is SchemaNode {
  return typeof part === "object" && part !== null && (part as SchemaNode).kind === "schema";
}
