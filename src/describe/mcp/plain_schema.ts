/** Tells schemas that can be described for certain from those that have to be tried. */
import { partsOf } from "../../schema/parts.ts";
import { nodeOf, type Schema } from "../../schema/schema.ts";

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
