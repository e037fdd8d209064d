/** Functions that combine schemas of JSON Schema, dialect 2020-12. */
import type { JsonSchema, JsonType } from "../../schema/json_schema.ts";

/** The JSON that the server accepts, or that it sends. */
export type Form = "input" | "output";

/** The name of the model, and the keys from there. */
export type Place = readonly string[];

export function subjectAt(place: Place): string {
  return place.length === 0 ? "a schema" : `"${place.join(".")}"`;
}

const ALL_TYPES: readonly JsonType[] = ["array", "boolean", "null", "number", "object", "string"];

/** The stricter of two bounds wins. */
const LOWER_BOUND = /^(?:min(?:Length|Items|Properties)|(?:exclusiveM|m)inimum)$/;
const UPPER_BOUND = /^(?:max(?:Length|Items|Properties)|(?:exclusiveM|m)aximum)$/;

/** For these keywords, the last step of a pipe wins. */
const REPLACED = new Set(["type", "contentMediaType"]);

export function nothing(): JsonSchema {
  return { not: {} };
}

/** All types if the schema has none. */
export function typesOf({ type }: JsonSchema): readonly JsonType[] {
  return type === undefined ? ALL_TYPES : [type].flat();
}

export function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const options = schemas.filter(({ not }) => !not || Object.keys(not).length > 0);
  if (options.length === 0) return nothing();
  return options.length === 1 ? options[0]! : { anyOf: options };
}

/** Each schema gets a type if one is known: generators merge only schemas with one. */
export function allOf(schemas: readonly JsonSchema[], type?: JsonType): JsonSchema {
  const common = type ?? schemas.map((schema) => schema.type).find((one) => typeof one === "string");
  const parts: JsonSchema[] = [];
  for (const [index, schema] of schemas.entries()) {
    const others = [...parts, ...schemas.slice(index + 1)];
    const isImplied = Object.keys(schema).every((keyword) => keyword === "type") &&
      (schema.type === undefined || others.some((other) => other.type === schema.type));
    if (!isImplied) parts.push(withType(schema, common));
  }
  if (parts.length === 0) return {};
  return parts.length === 1 ? parts[0]! : { allOf: parts };
}

export function orNull(schema: JsonSchema): JsonSchema {
  if (Object.keys(schema).length === 0 || acceptsNull(schema)) return schema;
  const { type } = schema;
  if (typeof type === "string" && !["object", "array"].includes(type) && !isEnumerated(schema)) {
    return { ...schema, type: [type, "null"] };
  }
  return anyOf([schema, { type: "null" }]);
}

export function withoutNull(schema: JsonSchema): JsonSchema {
  const { type, anyOf: options, ...others } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((name) => name !== "null");
    return { ...schema, type: types.length === 1 ? types[0]! : types };
  }
  if (type !== undefined) return type === "null" ? nothing() : schema;
  if (options) return restrict(anyOf(options.map(withoutNull)), others);
  return restrict(schema, { not: { type: "null" } });
}

/** Adds keywords. The stricter of two bounds wins; other conflicts go to `allOf`. */
export function restrict(schema: JsonSchema, keywords: JsonSchema): JsonSchema {
  if (Object.keys(keywords).length === 0) return schema;
  if (schema.$ref !== undefined) return { allOf: [schema], ...keywords };
  const restricted: JsonSchema = { ...schema };
  const apart: JsonSchema = {};
  for (const [keyword, value] of Object.entries(keywords)) {
    const present = restricted[keyword];
    if (present === undefined || REPLACED.has(keyword)) restricted[keyword] = value;
    else if (LOWER_BOUND.test(keyword)) restricted[keyword] = Math.max(present as number, value as number);
    else if (UPPER_BOUND.test(keyword)) restricted[keyword] = Math.min(present as number, value as number);
    else if (JSON.stringify(present) !== JSON.stringify(value)) apart[keyword] = value;
  }
  if (Object.keys(apart).length > 0) restricted.allOf = [...restricted.allOf ?? [], withType(apart, restricted.type)];
  return restricted;
}

export function annotate(schema: JsonSchema, annotations: JsonSchema): JsonSchema {
  if (Object.keys(annotations).length === 0) return schema;
  // Many readers ignore keywords next to `$ref`.
  return { ...annotations, ...(schema.$ref === undefined ? schema : { allOf: [schema] }), ...annotations };
}

/** Without a format, code generators assume 32 bits and single precision. */
export function withNumberFormat(schema: JsonSchema): JsonSchema {
  if (schema.format !== undefined) return schema;
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  if (types.length !== 1) return schema;
  if (types[0] === "number") return { ...schema, format: "double" };
  return types[0] === "integer" ? { ...schema, format: isInt32(schema) ? "int32" : "int64" } : schema;
}

/** Adds the bounds of safe integers, unless the schema has its own. */
export function withIntegerBounds(schema: JsonSchema): JsonSchema {
  if (![schema.type].flat().includes("integer") || schema.const !== undefined || schema.enum !== undefined) {
    return schema;
  }
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  return {
    ...schema,
    ...(minimum === undefined && exclusiveMinimum === undefined && { minimum: Number.MIN_SAFE_INTEGER }),
    ...(maximum === undefined && exclusiveMaximum === undefined && { maximum: Number.MAX_SAFE_INTEGER }),
  };
}

/** Removes the format of {@linkcode withNumberFormat}. */
export function withoutNumberFormat(schema: JsonSchema): JsonSchema {
  const { format, ...others } = schema;
  return format === "double" || format === "int32" || format === "int64" ? others : schema;
}

/** Undefined if JSON has no equivalent. */
export function toJson(value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : undefined;
    case "bigint":
      return value.toString();
    case "object":
      return value === null ? null : objectToJson(value);
    default:
      return undefined;
  }
}

/** Omits values that JSON cannot represent. */
export function oneOfValues(values: readonly unknown[]): JsonSchema {
  const json = [...new Set(values.map(toJson))].filter((value) => value !== undefined);
  if (json.length === 0) return nothing();
  const types = new Set(json.map(typeOf));
  if (types.has("number")) types.delete("integer");
  const type = types.size === 1 ? [...types][0]! : [...types];
  return { type, ...(json.length === 1 ? { const: json[0] } : { enum: json }) };
}

export function orValue(schema: JsonSchema, value: unknown): JsonSchema {
  const { type, const: constant, enum: values, ...others } = withoutNumberFormat(schema);
  const isSimple = Object.keys(others).length === 0;
  const isIn = values
    ? values.includes(value)
    : constant === undefined
    ? type === undefined || type === typeOf(value) || (type === "number" && typeof value === "number")
    : constant === value;
  return isSimple && isIn ? schema : anyOf([schema, oneOfValues([value])]);
}

function objectToJson(value: object): unknown {
  if (value instanceof Date) return Number.isNaN(value.valueOf()) ? undefined : value.toJSON();
  if (Array.isArray(value)) {
    const items = value.map(toJson);
    return items.includes(undefined) ? undefined : items;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const entries = Object.entries(value).filter(([, part]) => part !== undefined)
    .map(([key, part]) => [key, toJson(part)] as const);
  return entries.some(([, part]) => part === undefined) ? undefined : Object.fromEntries(entries);
}

function typeOf(json: unknown): JsonType {
  if (json === null) return "null";
  if (Number.isSafeInteger(json)) return "integer";
  return Array.isArray(json) ? "array" : typeof json as JsonType;
}

function isInt32(schema: JsonSchema): boolean {
  const { minimum = schema.exclusiveMinimum, maximum = schema.exclusiveMaximum, const: constant } = schema;
  const values = schema.enum ?? (constant === undefined ? [minimum, maximum] : [constant]);
  return values.every((value) => value === null || (typeof value === "number" && value === (value | 0)));
}

function withType(schema: JsonSchema, type: JsonSchema["type"]): JsonSchema {
  if (type === undefined || schema.type !== undefined || schema.$ref !== undefined) return schema;
  return { type, ...schema };
}

/** Does not follow references. */
function acceptsNull({ anyOf: options, ...others }: JsonSchema): boolean {
  if (isEnumerated(others)) return false;
  return options ? options.some(acceptsNull) : others.type !== undefined && typesOf(others).includes("null");
}

function isEnumerated(schema: JsonSchema): boolean {
  return ["const", "enum", "allOf", "anyOf", "oneOf", "not"].some((keyword) => keyword in schema);
}
