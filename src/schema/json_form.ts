/**
 * The JSON form of a schema: the same schema, taking what JSON can carry.
 *
 * A bigint comes as a string of digits; an array is no object, although valibot takes one where every key is optional. What no
 * JSON can satisfy is refused when it is declared.
 */
import { mapParts, withInput } from "./rebuild.ts";
import { nodeOf, type Schema, type SchemaNode } from "./schema.ts";
import { parseBigInt, parseOneOf } from "./text_form.ts";

/** Kinds without a JSON value. */
const FOREIGN = new Set([
  "date",
  "map",
  "set",
  "instance",
  "file",
  "blob",
  "function",
  "promise",
  "symbol",
  "nan",
]);

/** Forms that were made: a lazy schema asks for the same ones at every value. */
const forms = new WeakMap<SchemaNode, SchemaNode>();

/**
 * Makes the JSON form of a schema; the very same object where nothing has to change.
 *
 * @param schema What was declared.
 * @param name What it was declared for, for the message.
 * @throws {TypeError} When no JSON value can satisfy a part of the schema.
 */
export function toJsonForm(schema: Schema, name: string): Schema {
  return jsonForm(nodeOf(schema), name);
}

function jsonForm(node: SchemaNode, name: string): SchemaNode {
  const known = forms.get(node);
  if (known) return known;
  const form = makeForm(node, name);
  forms.set(node, form);
  return form;
}

function makeForm(node: SchemaNode, name: string): SchemaNode {
  const map = (part: SchemaNode): SchemaNode => jsonForm(part, name);
  if (node.pipe) return mapParts(node, map);
  if (FOREIGN.has(node.type)) {
    const cure = node.type === "date" ? ", use v.pipe(v.string(), v.isoTimestamp(), v.toDate())" : "";
    throw new TypeError(
      `Cannot bind ${name}: a schema of kind "${node.type}" cannot be read from JSON${cure}`,
    );
  }
  if (node.type === "bigint") {
    return withInput(
      node,
      (value) => typeof value === "string" ? parseBigInt(value) : value,
    );
  }
  const bigints = (node.options ?? [node.literal]).filter((option) => typeof option === "bigint");
  if (bigints.length > 0) {
    const parse = parseOneOf(bigints);
    return withInput(node, (value) => typeof value === "string" ? parse(value) : value);
  }
  const form = mapParts(node, map);
  if (node.entries === undefined && node.type !== "record") return form;
  const isInherited = Object.keys(node.entries ?? {}).some((key) => key in Object.prototype);
  return withInput(form, isInherited ? withoutPrototype : refuseArray);
}

/** Stands in for an array with something that no object schema takes: valibot would take it where its keys fit. */
function refuseArray(value: unknown): unknown {
  return Array.isArray(value) ? "array" : value;
}

/** valibot finds a key such as "constructor" in the prototype of every object, so it is given one without. */
function withoutPrototype(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuseArray(value);
  return Object.assign(Object.create(null), value);
}
