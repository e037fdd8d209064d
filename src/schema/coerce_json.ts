import { mapSchema, preprocess } from "./map_schema.ts";
import { isExplainable, nodeOf, type Schema, type SchemaNode } from "./schema.ts";
import { parseBigInt, parseOneOf } from "./coerce_text.ts";
import type { Issue } from "../errors.ts";

/**
 * Finds the numbers of a JSON body that no double can hold. `JSON.parse` makes infinities of them,
 * which no schema tells from numbers, and which would be sent back as null.
 */

const LARGE_EXPONENT = /[eE]\+?\d{3}/;
/** Fewer digits make no such number, with an exponent of two digits neither. */
const MANY_DIGITS = 200;

/**
 * Finds the numbers that are too large: all of them where the value is small, else the first one.
 *
 * @param text The body.
 * @param value What it was parsed to.
 * @throws {RangeError} When the value is nested more deeply than the stack holds.
 */
export function findOverflows(text: string, value: unknown): Issue[] {
  // A search of the text takes a fraction of the time to parse it, a visit of each value as long
  // again.
  if (!LARGE_EXPONENT.test(text) && !hasManyDigits(text)) return [];
  const issues: Issue[] = [];
  // One path for the whole walk: a copy for each value would cost the depth each time.
  const path: (string | number)[] = [];
  let stopsAtFirst: boolean | undefined;
  /** Returns true when the search is over. */
  const visit = (part: unknown): boolean => {
    if (part === Infinity || part === -Infinity) {
      issues.push(overflowAt(path));
      return stopsAtFirst ??= !isExplainable(value);
    }
    if (typeof part !== "object" || part === null) return false;
    if (Array.isArray(part)) {
      for (let index = 0; index < part.length; index++) {
        path.push(index);
        if (visit(part[index])) return true;
        path.pop();
      }
      return false;
    }
    for (const key of Object.keys(part)) {
      path.push(key);
      if (visit((part as Record<string, unknown>)[key])) return true;
      path.pop();
    }
    return false;
  };
  visit(value);
  return issues;
}

function overflowAt(path: readonly (string | number)[]): Issue {
  const message = "Invalid number: too large";
  return { in: "body", path: [...path], code: "invalid", message, expected: "a finite number" };
}

/**
 * Whether there may be so many digits in a row; one of them stands at a multiple of their number.
 */
function hasManyDigits(text: string): boolean {
  for (let index = MANY_DIGITS; index < text.length; index += MANY_DIGITS) {
    const code = text.charCodeAt(index);
    const isDigit = code >= 0x30 && code <= 0x39;
    if (isDigit && /\d{200}/.test(text.slice(index - MANY_DIGITS, index + MANY_DIGITS))) return true;
  }
  return false;
}

/**
 * The JSON form of a schema: the same schema, taking what JSON can carry.
 *
 * A bigint comes as a string of digits; an array is no object, although valibot takes one where every key is optional. What no
 * JSON can satisfy is refused when it is declared.
 */

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
export function coerceJson(schema: Schema, name: string): Schema {
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
  if (node.pipe) return mapSchema(node, map);
  if (FOREIGN.has(node.type)) {
    const cure = node.type === "date" ? ", use v.pipe(v.string(), v.isoTimestamp(), v.toDate())" : "";
    throw new TypeError(
      `Cannot bind ${name}: a schema of kind "${node.type}" cannot be read from JSON${cure}`,
    );
  }
  if (node.type === "bigint") {
    return preprocess(
      node,
      (value) => typeof value === "string" ? parseBigInt(value) : value,
    );
  }
  const bigints = (node.options ?? [node.literal]).filter((option) => typeof option === "bigint");
  if (bigints.length > 0) {
    const parse = parseOneOf(bigints);
    return preprocess(node, (value) => typeof value === "string" ? parse(value) : value);
  }
  const form = mapSchema(node, map);
  if (node.entries === undefined && node.type !== "record") return form;
  const isInherited = Object.keys(node.entries ?? {}).some((key) => key in Object.prototype);
  return preprocess(form, isInherited ? withoutPrototype : refuseArray);
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
