/**
 * Coerces text: makes a schema that takes what a path, query, header or cookie can hold.
 *
 * It accepts what the document describes: numbers in JSON's grammar, `true false 1 0` as booleans,
 * and `null` if the schema is nullable. All other text is passed on unchanged, for the schema to
 * refuse.
 */
import { mapSchema, preprocess } from "./map_schema.ts";
import { LISTS, nodeOf, NON_JSON, PASSING, type Schema, type SchemaNode } from "./schema.ts";

/** A schema that takes text. */
interface CoercedText {
  /** Takes a string, or a list of strings if `isList`. */
  readonly schema: Schema;
  readonly isList: boolean;
}

/**
 * Makes a schema that takes text.
 *
 * @param schema The declared schema.
 * @param name The name of the input, for the message.
 * @throws {TypeError} If no text can satisfy the schema.
 */
export function coerceText(schema: Schema, name: string): CoercedText {
  const node = nodeOf(schema);
  const isList = takesList(node, name);
  const toScalar = (part: SchemaNode): SchemaNode => coerceScalar(part, name);
  const toList = (part: SchemaNode): SchemaNode => {
    if (part.type === "lazy" && !part.pipe) return toList(requireLazyTarget(part));
    return mapSchema(part, LISTS.has(part.type) && !part.pipe ? toScalar : toList);
  };
  return { schema: isList ? toList(node) : toScalar(node), isList };
}

/** Like {@linkcode preprocess}, but only for strings. */
export function coerceString(node: SchemaNode, parse: (text: string) => unknown): SchemaNode {
  return preprocess(node, (value) => typeof value === "string" ? parse(value) : value);
}

/**
 * Below `nonNullable` and `nonNullish`, the text "null" stays text. Otherwise a default inside
 * would replace it before the outer schema sees it.
 */
function coerceScalar(node: SchemaNode, name: string, takesNull = true): SchemaNode {
  const refusesNull = node.type === "non_nullable" || node.type === "non_nullish";
  const map = (part: SchemaNode): SchemaNode => coerceScalar(part, name, takesNull && !refusesNull);
  if (node.pipe) return mapSchema(node, map);
  const parse = textParserOf(node);
  if (parse) return coerceString(node, parse);
  if (PASSING.has(node.type)) return mapSchema(node, map);
  switch (node.type) {
    case "string":
    case "any":
    case "unknown":
    case "custom":
    case "undefined":
    case "never":
      return node;
    case "nullable":
    case "nullish":
      return takesNull ? coerceString(mapSchema(node, map), parseNull) : mapSchema(node, map);
    case "lazy":
      return map(requireLazyTarget(node));
    default:
      throw new TypeError(`Cannot bind ${name}: ${refusal(node.type)}`);
  }
}

function refusal(type: string): string {
  if (type === "date") return `a text cannot be read as a date, ${NON_JSON.get(type)!.input}`;
  if (LISTS.has(type)) return "a list within a list cannot be written as text";
  return `a schema of kind "${type}" cannot be read from text`;
}

function requireLazyTarget(node: SchemaNode): SchemaNode {
  const target = node.getter?.(undefined);
  if (!target || target instanceof Promise) {
    throw new TypeError("Cannot read text by a lazy schema that is async");
  }
  return target;
}

/**
 * Whether a schema takes a list: all values that are sent under its name.
 *
 * @param schema The declared schema.
 * @param name The name of the input, for the message.
 * @throws {TypeError} If it takes both lists and single values.
 */
export function takesList(schema: Schema, name: string): boolean {
  const node = nodeOf(schema);
  if (LISTS.has(node.type)) return true;
  if (node.type === "lazy") return takesList(requireLazyTarget(node), name);
  if (node.wrapped) return takesList(node.wrapped, name);
  if (node.type !== "union" && node.type !== "intersect") return false;
  const answers = new Set(
    (node.options as SchemaNode[]).map((option) => takesList(option, name)),
  );
  if (answers.size > 1) {
    throw new TypeError(
      `Cannot bind ${name}: declare a list or a single value, not either of them`,
    );
  }
  return answers.has(true);
}

/** The elements of a list in one text, as in headers: RFC 9110, section 5.6.1. */
export function splitList(value: string): string[] {
  return value.split(",").map((element) => element.trim()).filter((element) => element !== "");
}

/** RFC 8259, section 6. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BIGINT = /^-?(?:0|[1-9]\d*)$/;

/** Returns a number in the grammar of JSON, or the text unchanged. */
export function parseNumber(text: string): number | string {
  if (!NUMBER.test(text)) return text;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

/** Returns an integer of any size, or the text unchanged. */
export function parseBigInt(text: string): bigint | string {
  return BIGINT.test(text) ? BigInt(text) : text;
}

function parseBoolean(text: string): boolean | string {
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : text;
}

function parseNull(text: string): null | string {
  return text === "null" ? null : text;
}

/** Makes a parser that returns the value that a text stands for, or the text unchanged. */
export function parseOneOf(options: readonly unknown[]): (text: string) => unknown {
  const parsers = new Map<string, (text: string) => unknown>([
    ["number", parseNumber],
    ["bigint", parseBigInt],
    ["boolean", parseBoolean],
  ]);
  const kinds = new Set(options.map((option) => typeof option));
  return (text) => {
    if (options.includes(text)) return text;
    for (const kind of kinds) {
      const value = parsers.get(kind)?.(text);
      if (value !== undefined && options.includes(value)) return value;
    }
    return text;
  };
}

/** Returns the parser for a kind of schema; undefined if the kind has none. */
export function textParserOf(node: SchemaNode): ((text: string) => unknown) | undefined {
  switch (node.type) {
    case "number":
      return parseNumber;
    case "bigint":
      return parseBigInt;
    case "boolean":
      return parseBoolean;
    case "null":
      return parseNull;
    case "literal":
      return parseOneOf([node.literal]);
    case "picklist":
    case "enum":
      return parseOneOf(node.options ?? []);
    default:
      return undefined;
  }
}
