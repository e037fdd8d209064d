/** JSON Schema, dialect 2020-12: its type, and functions that combine schemas. */

/** @ignore The name of a JSON type, as the keyword `type` takes it. */
export type JsonType = "array" | "boolean" | "integer" | "null" | "number" | "object" | "string";

/**
 * A schema of the dialect 2020-12. The members are the keywords that webfw writes; others may be
 * added.
 *
 * See https://json-schema.org/draft/2020-12
 */
export interface JsonSchema {
  /** A URI reference to the schema that applies. */
  $ref?: string;
  /** Schemas by name, for references. */
  $defs?: Record<string, JsonSchema>;
  /** A name for people. */
  title?: string;
  /** What the values mean, in Markdown. */
  description?: string;
  /** Values that fit. */
  examples?: unknown[];
  /** The value that is used where none is sent. */
  default?: unknown;
  /** Whether it should not be used any more. */
  deprecated?: boolean;
  /** Whether only the server sends it. */
  readOnly?: boolean;
  /** Whether only clients send it. */
  writeOnly?: boolean;
  /** The types that a value may have. */
  type?: JsonType | JsonType[];
  /** The only value. */
  const?: unknown;
  /** The only values. */
  enum?: unknown[];
  /** A value fits all of these. */
  allOf?: JsonSchema[];
  /** A value fits one of these, or several. */
  anyOf?: JsonSchema[];
  /** A value fits exactly one of these. */
  oneOf?: JsonSchema[];
  /** A value does not fit this. */
  not?: JsonSchema;
  /** Schemas of an object's values, by key. */
  properties?: Record<string, JsonSchema>;
  /** The keys that an object must have. */
  required?: string[];
  /** The schema of an object's other values, or whether others are allowed. */
  additionalProperties?: JsonSchema | boolean;
  /** The schema of an object's keys. */
  propertyNames?: JsonSchema;
  /** The least number of keys. */
  minProperties?: number;
  /** The greatest number of keys. */
  maxProperties?: number;
  /** Schemas of an array's first items, by position. */
  prefixItems?: JsonSchema[];
  /** The schema of an array's other items, or whether others are allowed. */
  items?: JsonSchema | boolean;
  /** The schema of at least one item of an array. */
  contains?: JsonSchema;
  /** The least number of items. */
  minItems?: number;
  /** The greatest number of items. */
  maxItems?: number;
  /** The least length of a string, in code points. */
  minLength?: number;
  /** The greatest length of a string, in code points. */
  maxLength?: number;
  /** A regular expression (ECMA-262, Unicode mode) that matches some part of a string. */
  pattern?: string;
  /** The format of a string or a number, such as `date-time` or `int64`. */
  format?: string;
  /** How a string encodes bytes, such as `base64`. */
  contentEncoding?: string;
  /** The media type of the content of a string. */
  contentMediaType?: string;
  /** The schema of the content of a string. */
  contentSchema?: JsonSchema;
  /** The least number. */
  minimum?: number;
  /** The greatest number. */
  maximum?: number;
  /** A bound that a number is above. */
  exclusiveMinimum?: number;
  /** A bound that a number is below. */
  exclusiveMaximum?: number;
  /** A number is a multiple of this. */
  multipleOf?: number;
  /** Selects one of several schemas by the value of a key; a keyword of OpenAPI. */
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  /** Any other keyword. */
  [keyword: string]: unknown;
}

/** The form of a value that is described: what the server accepts, or what it sends. */
export type Form = "input" | "output";

/** The way to a part of a schema: the name of the model that holds it, and the keys from there. */
export type Place = readonly string[];

/** A part of a schema, as messages call it. */
export function subjectAt(place: Place): string {
  return place.length === 0 ? "a schema" : `"${place.join(".")}"`;
}

const ALL_TYPES: readonly JsonType[] = ["array", "boolean", "null", "number", "object", "string"];

/** Lower bounds, of which the higher one wins, and upper bounds, of which the lower one does. */
const LOWER_BOUND = /^(?:min(?:Length|Items|Properties)|(?:exclusiveM|m)inimum)$/;
const UPPER_BOUND = /^(?:max(?:Length|Items|Properties)|(?:exclusiveM|m)aximum)$/;

/** Keywords that a later step of a pipe only makes more specific. */
const REPLACED = new Set(["type", "contentMediaType"]);

/** The schema that no value fits. */
export function nothing(): JsonSchema {
  return { not: {} };
}

/** The types that a schema names; all types where it names none. */
export function typesOf({ type }: JsonSchema): readonly JsonType[] {
  return type === undefined ? ALL_TYPES : [type].flat();
}

/** What fits one of the schemas, or several. */
export function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const options = schemas.filter(({ not }) => !not || Object.keys(not).length > 0);
  if (options.length === 0) return nothing();
  return options.length === 1 ? options[0]! : { anyOf: options };
}

/**
 * What fits all of the schemas.
 *
 * Each of them gets a type where one is known: code generators merge only members that have one.
 *
 * @param schemas The schemas.
 * @param type A type that all of them have, where the caller knows one.
 */
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

/** What fits the schema, or null. */
export function orNull(schema: JsonSchema): JsonSchema {
  if (Object.keys(schema).length === 0 || acceptsNull(schema)) return schema;
  const { type } = schema;
  if (typeof type === "string" && !["object", "array"].includes(type) && !isEnumerated(schema)) {
    return { ...schema, type: [type, "null"] };
  }
  return anyOf([schema, { type: "null" }]);
}

/** What fits the schema and is not null. */
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

/** Adds keywords. Of two bounds the stricter one stays. Others that differ go to `allOf`. */
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

/** Adds annotations, which replace those that are there. */
export function annotate(schema: JsonSchema, annotations: JsonSchema): JsonSchema {
  if (Object.keys(annotations).length === 0) return schema;
  // Many readers ignore other keywords next to a reference.
  return { ...annotations, ...(schema.$ref === undefined ? schema : { allOf: [schema] }), ...annotations };
}

/**
 * The schema with a format for its numbers: `double`, or for integers `int32` if their bounds fit,
 * else `int64`. Without one, generators assume integers of 32 bits and single precision.
 */
export function withNumberFormat(schema: JsonSchema): JsonSchema {
  if (schema.format !== undefined) return schema;
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  if (types.length !== 1) return schema;
  if (types[0] === "number") return { ...schema, format: "double" };
  return types[0] === "integer" ? { ...schema, format: isInt32(schema) ? "int32" : "int64" } : schema;
}

/** The schema with the bounds of the integers that are accepted, where it has none of its own. */
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

/** The schema without a format that {@linkcode withNumberFormat} gave it. */
export function withoutNumberFormat(schema: JsonSchema): JsonSchema {
  const { format, ...others } = schema;
  return format === "double" || format === "int32" || format === "int64" ? others : schema;
}

/** The value in JSON; undefined where JSON has no value that means the same. */
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

/** The schema of a list of values, without those that JSON cannot carry. */
export function oneOfValues(values: readonly unknown[]): JsonSchema {
  const json = [...new Set(values.map(toJson))].filter((value) => value !== undefined);
  if (json.length === 0) return nothing();
  const types = new Set(json.map(typeOf));
  if (types.has("number")) types.delete("integer");
  const type = types.size === 1 ? [...types][0]! : [...types];
  return { type, ...(json.length === 1 ? { const: json[0] } : { enum: json }) };
}

/** The schema with one more value. */
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

/** Whether the schema itself says that it accepts null; references are not followed. */
function acceptsNull({ anyOf: options, ...others }: JsonSchema): boolean {
  if (isEnumerated(others)) return false;
  return options ? options.some(acceptsNull) : others.type !== undefined && typesOf(others).includes("null");
}

/** Whether more than the type of a schema limits its values to some. */
function isEnumerated(schema: JsonSchema): boolean {
  return ["const", "enum", "allOf", "anyOf", "oneOf", "not"].some((keyword) => keyword in schema);
}
