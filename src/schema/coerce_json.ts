/** Coerces JSON, and finds numbers that no double can represent. */
import type { Issue } from "../base/errors.ts";
import { coerceString, parseBigInt, parseOneOf } from "./coerce_text.ts";
import { mapSchema, preprocess } from "./map_schema.ts";
import { isBinary, isSmall, nodeOf, NON_JSON, type Schema, type SchemaNode } from "./schema.ts";

// A cache: a lazy schema coerces its target again for each value.
const coerced = new WeakMap<SchemaNode, SchemaNode>();

/**
 * Makes a schema that accepts JSON; the same object if nothing changes. A bigint is a string of
 * digits. Arrays are refused as objects: valibot accepts them if all keys are optional.
 *
 * @param name For messages.
 * @throws {TypeError} If no JSON value can satisfy a part of the schema.
 */
export function coerceJson(schema: Schema, name: string): SchemaNode {
  return coerced.getOrInsertComputed(nodeOf(schema), (node) => coerce(node, name));
}

function coerce(node: SchemaNode, name: string): SchemaNode {
  const map = (part: SchemaNode): SchemaNode => coerceJson(part, name);
  if (node.pipe) return mapSchema(node, map);
  if (NON_JSON.has(node.type)) {
    throw new TypeError(`Cannot bind ${name}: a schema of kind "${node.type}" cannot be read from JSON${cureOf(node)}`);
  }
  if (node.type === "bigint") return coerceString(node, parseBigInt);
  const bigints = (node.options ?? [node.literal]).filter((option) => typeof option === "bigint");
  if (bigints.length > 0) return coerceString(node, parseOneOf(bigints));
  const mapped = mapSchema(node, map);
  if (node.entries === undefined && node.type !== "record") return mapped;
  const isInherited = Object.keys(node.entries ?? {}).some((key) => key in Object.prototype);
  return preprocess(mapped, isInherited ? withoutPrototype : refuseArray);
}

/** The end of a message. */
export function cureOf(node: SchemaNode): string {
  const cure = isBinary(node) ? "take files by form: Form(…)" : NON_JSON.get(node.type)?.input;
  return cure === undefined ? "" : `, ${cure}`;
}

/** No object schema accepts the string. */
function refuseArray(value: unknown): unknown {
  return Array.isArray(value) ? "array" : value;
}

/** valibot would find a missing key such as "constructor" in it. */
function withoutPrototype(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuseArray(value);
  return Object.assign(Object.create(null), value);
}

const LARGE_EXPONENT = /[eE]\+?\d{3}/;
/** Fewer digits cannot overflow with an exponent of two digits. */
const MANY_DIGITS = 200;

/**
 * Finds numbers that `JSON.parse` makes infinite: schemas accept them, and replies would have null.
 *
 * @param value The parsed value.
 * @returns All issues of a small value, else the first one.
 * @throws {RangeError} If the value is nested too deeply.
 */
export function findOverflows(text: string, value: unknown): Issue[] {
  // A search is much faster than parsing; visiting each value is not.
  if (!LARGE_EXPONENT.test(text) && !hasManyDigits(text)) return [];
  const issues: Issue[] = [];
  // One path: copies would cost their depth.
  const path: (string | number)[] = [];
  let stopsAtFirst: boolean | undefined;
  /** Returns whether to stop. */
  const visit = (part: unknown): boolean => {
    if (part === Infinity || part === -Infinity) {
      issues.push(overflowAt(path));
      return stopsAtFirst ??= !isSmall(value);
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

/** Any 200 digits include one of these characters. */
function hasManyDigits(text: string): boolean {
  for (let index = MANY_DIGITS; index < text.length; index += MANY_DIGITS) {
    const code = text.charCodeAt(index);
    const isDigit = code >= 0x30 && code <= 0x39;
    if (isDigit && /\d{200}/.test(text.slice(index - MANY_DIGITS, index + MANY_DIGITS))) return true;
  }
  return false;
}
