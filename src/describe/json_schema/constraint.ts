/**
 * What the checks of valibot say in JSON Schema. A check that says nothing there leaves more described than is accepted.
 *
 * Lengths and dates mean what JSON Schema says: `src/schema/standard_check.ts` sees to it.
 */
import { toJsonSchemaDefs } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { toJson } from "./json_constant.ts";
import { type JsonSchema, type JsonType, restrict, typesOf } from "./json_schema.ts";
import { literalPattern, patternOf } from "./pattern.ts";
import type { Step } from "./transformation.ts";

/**
 * Formats, which stand in place of patterns.
 *
 * A format that would refuse what the check accepts is left out: a `time` has an offset, which the
 * check of that name refuses.
 */
const FORMATS: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ["base64", { contentEncoding: "base64" }],
  ["email", { format: "email" }],
  ["rfc_email", { format: "email" }],
  ["domain", { format: "hostname" }],
  ["ipv4", { format: "ipv4" }],
  ["ipv6", { format: "ipv6" }],
  ["iso_date", { format: "date" }],
  ["iso_timestamp", { format: "date-time" }],
  ["url", { format: "uri" }],
  ["uuid", { format: "uuid" }],
]);

/** What a check that is a function accepts is within these. */
const PATTERNS: ReadonlyMap<string, string> = new Map<string, string>([
  ["credit_card", "^[\\d -]+$"],
  ["imei", "^[\\d-]+$"],
  ["isbn", "^[\\dX -]+$"],
]);

/** The bounds of a text's length that follow from those of something else that is counted in it. */
const COUNTS: ReadonlyMap<string, (count: number) => JsonSchema> = new Map<string, (count: number) => JsonSchema>([
  ["code_points", (count) => ({ minLength: count, maxLength: count })],
  ["min_code_points", (count) => ({ minLength: count })],
  ["max_code_points", (count) => ({ maxLength: count })],
  ["graphemes", (count) => ({ minLength: count })],
  ["min_graphemes", (count) => ({ minLength: count })],
  ["words", (count) => ({ minLength: count })],
  ["min_words", (count) => ({ minLength: count })],
  ["bytes", (count) => ({ minLength: Math.ceil(count / 4), maxLength: count })],
  ["min_bytes", (count) => ({ minLength: Math.ceil(count / 4) })],
  ["max_bytes", (count) => ({ maxLength: count })],
]);

/** The keywords of what has to be or to hold a value, by that value. */
const VALUES: ReadonlyMap<string, (value: unknown) => JsonSchema> = new Map<string, (value: unknown) => JsonSchema>([
  ["value", (value) => ({ const: value })],
  ["not_value", (value) => ({ not: { const: value } })],
  ["includes", (value) => ({ contains: { const: value } })],
  ["excludes", (value) => ({ not: { type: "array", contains: { const: value } } })],
]);

/** The keywords of checks of a text, by their requirement. */
const TEXTS: ReadonlyMap<string, (text: string) => JsonSchema> = new Map<string, (text: string) => JsonSchema>([
  ["starts_with", (text) => ({ pattern: `^${literalPattern(text)}` })],
  ["ends_with", (text) => ({ pattern: `${literalPattern(text)}$` })],
  ["includes", (text) => ({ pattern: literalPattern(text) })],
  ["excludes", (text) => ({ not: { type: "string", pattern: literalPattern(text) } })],
]);

/** A check that says something only of values of one JSON type is described once for each type that the schema has. */
const STUBS: readonly JsonType[] = ["string", "array", "number", "object"];

/** What was found for checks, by the types that values have: both forms of a schema have the same checks. */
const found = new WeakMap<Step, Map<string, JsonSchema>>();

/** The keywords that a check adds to a schema. */
export function constraintOf(check: Step, schema: JsonSchema): JsonSchema {
  let byTypes = found.get(check);
  if (!byTypes) found.set(check, byTypes = new Map());
  const types = String(schema.type);
  let constraint = byTypes.get(types);
  if (!constraint) byTypes.set(types, constraint = find(check, typesOf(schema)));
  return constraint;
}

function find(check: Step, types: readonly JsonType[]): JsonSchema {
  const { type, requirement } = check;
  const format = FORMATS.get(type) ?? {};
  // A format says enough: what is made by the pattern of an e-mail address is hardly one.
  if (format.format !== undefined) return format;
  const pattern = requirement instanceof RegExp ? patternOf(requirement) : PATTERNS.get(type);
  if (pattern !== undefined) return { ...format, pattern };
  if (requirement instanceof RegExp || FORMATS.has(type)) return format;
  const count = COUNTS.get(type);
  if (count) return count(requirement as number);
  const isText = types.includes("string") && !types.includes("array");
  const text = isText ? TEXTS.get(type) : undefined;
  if (text) return text(requirement as string);
  const value = VALUES.get(type);
  if (value) return isComparable(requirement) ? value(requirement) : {};
  if (type === "mime_type") return mediaTypeOf(requirement as readonly string[]);
  if (type === "values" || type === "not_values") return valuesConstraint(type, requirement as readonly unknown[]);
  return types.map((name) => fromLibrary(check, name === "integer" ? "number" : name)).reduce(restrict, {});
}

/**
 * What a check of a rewritten text says of the text before and after.
 *
 * The pattern may hold only for the text after: capitals are accepted where they are made small.
 */
export function hintOf(check: Step): JsonSchema {
  const { minLength, maxLength, format, contentEncoding } = constraintOf(check, { type: "string" });
  return {
    ...(format !== undefined ? { format } : {}),
    ...(contentEncoding !== undefined ? { contentEncoding } : {}),
    ...(minLength !== undefined ? { minLength } : {}),
    ...(maxLength !== undefined ? { maxLength } : {}),
  };
}

function mediaTypeOf(types: readonly string[]): JsonSchema {
  return types.length === 1 ? { contentMediaType: types[0]! } : {};
}

function valuesConstraint(type: string, values: readonly unknown[]): JsonSchema {
  if (!values.every(isComparable)) return {};
  if (type === "values") return values.length === 0 ? { not: {} } : { enum: [...new Set(values)] };
  return values.length === 0 ? {} : { not: { enum: [...new Set(values)] } };
}

/** Whether a value is the same in JSON, where it is compared. */
function isComparable(value: unknown): boolean {
  return typeof value !== "object" && toJson(value) === value;
}

/** What the library says of a check where values have a type; nothing where it cannot tell. */
function fromLibrary(check: Step, type: JsonType): JsonSchema {
  if (!STUBS.includes(type)) return {};
  const stub = { kind: "schema", type: "any" };
  const described = toJsonSchemaDefs(
    { part: { ...stub, pipe: [stub, check] } as unknown as GenericSchema },
    {
      target: "draft-2020-12",
      overrideSchema: () => ({ type }),
      overrideAction: ({ errors, jsonSchema }) => errors ? { type } : jsonSchema,
    },
  ).part as JsonSchema;
  const { type: narrowed, ...keywords } = described;
  const isJson = Object.values(keywords).every((value) => typeof value === "number" && Number.isFinite(value));
  if (!isJson) return {};
  return narrowed === type ? keywords : { type: narrowed!, ...keywords };
}
