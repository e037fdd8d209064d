import type { SchemaNode } from "../../schema/schema.ts";

/** JSON Schema, dialect 2020-12: its type, and how schemas are put together from others. */

/** The name of a JSON type, as the keyword `type` takes it. */
export type JsonType = "array" | "boolean" | "integer" | "null" | "number" | "object" | "string";

/**
 * A schema of the dialect 2020-12, as far as webfw writes it. Any other keyword may stand beside these.
 *
 * See https://json-schema.org/draft/2020-12
 */
export interface JsonSchema {
  /** Where the schema stands instead, as a URI reference. */
  $ref?: string;
  /** Schemas by name, which references point to. */
  $defs?: Record<string, JsonSchema>;
  /** A name for people. */
  title?: string;
  /** What it stands for. */
  description?: string;
  /** Values that fit. */
  examples?: unknown[];
  /** What stands in for a value that is left out. */
  default?: unknown;
  /** Whether it should not be used any more. */
  deprecated?: boolean;
  /** Whether it is only ever sent by the server. */
  readOnly?: boolean;
  /** Whether it is only ever sent to the server. */
  writeOnly?: boolean;
  /** The types that a value may have. */
  type?: JsonType | JsonType[];
  /** The one value. */
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
  /** The keys that an object has in any case. */
  required?: string[];
  /** The schema of an object's other values, or whether there may be any. */
  additionalProperties?: JsonSchema | boolean;
  /** The schema of an object's keys. */
  propertyNames?: JsonSchema;
  /** The least number of keys. */
  minProperties?: number;
  /** The greatest number of keys. */
  maxProperties?: number;
  /** Schemas of an array's first items, by position. */
  prefixItems?: JsonSchema[];
  /** The schema of an array's other items, or whether there may be any. */
  items?: JsonSchema | boolean;
  /** What at least one item of an array fits. */
  contains?: JsonSchema;
  /** The least number of items. */
  minItems?: number;
  /** The greatest number of items. */
  maxItems?: number;
  /** The least length of a string, in code points. */
  minLength?: number;
  /** The greatest length of a string, in code points. */
  maxLength?: number;
  /** A regular expression of ECMA-262, in Unicode mode, that a string matches somewhere. */
  pattern?: string;
  /** What a string stands for, such as `date-time`. */
  format?: string;
  /** How a string encodes bytes. */
  contentEncoding?: string;
  /** The media type of what a string holds. */
  contentMediaType?: string;
  /** The least number. */
  minimum?: number;
  /** The greatest number. */
  maximum?: number;
  /** What a number is above. */
  exclusiveMinimum?: number;
  /** What a number is below. */
  exclusiveMaximum?: number;
  /** What a number is a multiple of. */
  multipleOf?: number;
  /** Tells by a key which of several schemas a value fits; a keyword of OpenAPI. */
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  /** Any other keyword. */
  [keyword: string]: unknown;
}

const ALL_TYPES: readonly JsonType[] = ["array", "boolean", "null", "number", "object", "string"];

/** Keywords whose stricter value wins; any others that meet are kept apart. */
const STRICTER: ReadonlyMap<string, (one: number, other: number) => number> = new Map<
  string,
  (one: number, other: number) => number
>([
  ["minLength", Math.max],
  ["maxLength", Math.min],
  ["minItems", Math.max],
  ["maxItems", Math.min],
  ["minProperties", Math.max],
  ["maxProperties", Math.min],
  ["minimum", Math.max],
  ["maximum", Math.min],
  ["exclusiveMinimum", Math.max],
  ["exclusiveMaximum", Math.min],
]);

/** Keywords that are never given but to say more than was said before. */
const REPLACED = new Set(["type", "contentMediaType"]);

/** What no value fits. */
export function nothing(): JsonSchema {
  return { not: {} };
}

/** Whether it is known that no value fits. */
export function isNothing(schema: JsonSchema): boolean {
  return schema.not !== undefined && Object.keys(schema.not).length === 0;
}

/** The types that a value may have, as far as the schema itself tells. */
export function typesOf({ type }: JsonSchema): readonly JsonType[] {
  if (type === undefined) return ALL_TYPES;
  return typeof type === "string" ? [type] : type;
}

/** What fits one of the schemas, or several. */
export function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const options = schemas.filter((schema) => !isNothing(schema));
  if (options.length === 0) return nothing();
  return options.length === 1 ? options[0]! : { anyOf: options };
}

/**
 * What fits all of the schemas.
 *
 * Each of them gets a type where one is known, since generators merge only members that have one.
 *
 * @param schemas The schemas.
 * @param type A type that all of them have, where the caller knows one.
 */
export function allOf(schemas: readonly JsonSchema[], type?: JsonType): JsonSchema {
  const common = type ?? schemas.map((schema) => schema.type).find((one) => typeof one === "string");
  const parts = schemas.reduce<JsonSchema[]>(
    (parts, schema, index) =>
      isImplied(schema, [...parts, ...schemas.slice(index + 1)]) ? parts : [...parts, withType(schema, common)],
    [],
  );
  if (parts.length === 0) return {};
  return parts.length === 1 ? parts[0]! : { allOf: parts };
}

/** What fits the schema, or null. */
export function orNull(schema: JsonSchema): JsonSchema {
  if (Object.keys(schema).length === 0 || takesNull(schema)) return schema;
  const { type } = schema;
  if (typeof type === "string" && !["object", "array"].includes(type) && !isEnumerated(schema)) {
    return { ...schema, type: [type, "null"] };
  }
  return anyOf([schema, { type: "null" }]);
}

/** What fits the schema and is not null. */
export function withoutNull(schema: JsonSchema): JsonSchema {
  const { type, anyOf: options } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((name) => name !== "null");
    return { ...schema, type: types.length === 1 ? types[0]! : types };
  }
  if (type !== undefined) return type === "null" ? nothing() : schema;
  if (options) {
    const { anyOf: _, ...rest } = schema;
    return restrict(anyOf(options.map(withoutNull)), rest);
  }
  return restrict(schema, { not: { type: "null" } });
}

/** Adds keywords, none of which loosens what is there. */
export function restrict(schema: JsonSchema, keywords: JsonSchema): JsonSchema {
  if (Object.keys(keywords).length === 0) return schema;
  if (schema.$ref !== undefined) return { allOf: [schema], ...keywords };
  const restricted: JsonSchema = { ...schema };
  const apart: JsonSchema = {};
  for (const [keyword, value] of Object.entries(keywords)) {
    const present = restricted[keyword];
    const stricter = STRICTER.get(keyword);
    if (present === undefined) restricted[keyword] = value;
    else if (stricter) restricted[keyword] = stricter(present as number, value as number);
    else if (REPLACED.has(keyword)) restricted[keyword] = value;
    else if (present !== value) apart[keyword] = value;
  }
  if (Object.keys(apart).length > 0) restricted.allOf = [...restricted.allOf ?? [], withType(apart, restricted.type)];
  return restricted;
}

/** Adds annotations, which say nothing of what fits; they replace those that are there. */
export function annotate(schema: JsonSchema, annotations: JsonSchema): JsonSchema {
  if (Object.keys(annotations).length === 0) return schema;
  // Many readers overlook what stands beside a reference.
  return { ...annotations, ...(schema.$ref === undefined ? schema : { allOf: [schema] }), ...annotations };
}

/**
 * The schema with a format for its numbers: `double`, for integers `int32` if their bounds fit,
 * else `int64`.
 *
 * Without one, generators take integers of 32 bits, and numbers of single precision.
 */
export function withNumberFormat(schema: JsonSchema): JsonSchema {
  if (schema.format !== undefined) return schema;
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  if (types.length !== 1) return schema;
  if (types[0] === "number") return { ...schema, format: "double" };
  return types[0] === "integer" ? { ...schema, format: isInt32(schema) ? "int32" : "int64" } : schema;
}

/** The schema without a format that {@linkcode withNumberFormat} gave it. */
export function withoutNumberFormat(schema: JsonSchema): JsonSchema {
  const { format, ...others } = schema;
  return format === "double" || format === "int32" || format === "int64" ? others : schema;
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

/** Whether a schema says nothing, or nothing but the type that another one says. */
function isImplied({ type, ...others }: JsonSchema, schemas: readonly JsonSchema[]): boolean {
  if (Object.keys(others).length > 0) return false;
  return type === undefined || schemas.some((schema) => schema.type === type);
}

/** Whether a schema is seen to take null at one look. */
function takesNull({ anyOf: options, ...others }: JsonSchema): boolean {
  if (isEnumerated(others)) return false;
  return options ? options.some(takesNull) : typesOf(others).includes("null") && others.type !== undefined;
}

/** Whether values are told by more than their type. */
function isEnumerated(schema: JsonSchema): boolean {
  return ["const", "enum", "allOf", "anyOf", "oneOf", "not"].some((keyword) => keyword in schema);
}

/** What the description of a schema asks of whoever keeps the models of a document. */

/** Whether what is accepted is described, or what is sent. */
export type Form = "input" | "output";

/** The way to a part of a schema: the name of the model that holds it, and the keys from there. */
export type Place = readonly string[];

/** Decides for each schema whether it is described where it stands, or as a model of its own. */
export interface ModelScope {
  /**
   * Whether generators of code read the description. If so, numbers have formats, and the options
   * of variants are models, so that a discriminator can name them.
   */
  readonly isForGenerators: boolean;
  /** Gives what the body describes, or a reference to it. */
  part(form: Form, node: SchemaNode, place: Place, body: (place: Place) => JsonSchema): JsonSchema;
  /** Makes a schema a model, of a name made of words, unless it has a name. */
  name(node: SchemaNode, words: readonly string[]): void;
  /** Hands on the reference, as a text, to what a schema refers to. */
  refer(reference: JsonSchema, settle: (ref: string) => void): void;
}

/** A part of a schema, as messages call it. */
export function subjectAt(place: Place): string {
  return place.length === 0 ? "a schema" : `"${place.join(".")}"`;
}

/** Constants as JSON carries them: the values of literals, defaults and examples. */

/** The value in JSON; undefined where JSON has none that says the same. */
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

/** The schema of a list of values. Those that JSON cannot carry are left out. */
export function oneOfValues(values: readonly unknown[]): JsonSchema {
  const known = [...new Set(values.map(toJson))].filter((value) => value !== undefined);
  if (known.length === 0) return nothing();
  const types = typesOfAll(known);
  const type = types.length === 1 ? types[0]! : types;
  return { type, ...(known.length === 1 ? { const: known[0] } : { enum: known }) };
}

/** The schema with one more value. */
export function orValue(schema: JsonSchema, value: unknown): JsonSchema {
  return admits(schema, value) ? schema : anyOf([schema, oneOfValues([value])]);
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

/** The types of values: integers are numbers where one of the values is no integer. */
function typesOfAll(values: readonly unknown[]): JsonType[] {
  const types = new Set(values.map(typeOf));
  if (types.has("number")) types.delete("integer");
  return [...types];
}

function typeOf(json: unknown): JsonType {
  if (json === null) return "null";
  if (Number.isSafeInteger(json)) return "integer";
  return Array.isArray(json) ? "array" : typeof json as JsonType;
}

/** Whether a schema is seen to take a value at one look. */
function admits(schema: JsonSchema, value: unknown): boolean {
  const { type, const: constant, enum: values, ...others } = withoutNumberFormat(schema);
  if (Object.keys(others).length > 0) return false;
  if (values) return values.includes(value);
  if (constant !== undefined) return constant === value;
  return type === undefined || type === typeOf(value) || (type === "number" && typeof value === "number");
}
