/** The keywords of `v.metadata`, which may contain anything. */
import { type JsonSchema, toJson } from "./json_schema.ts";

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isFlag: Check = (value) => typeof value === "boolean";
const isNumber: Check = (value) => typeof value === "number";
const isCount: Check = (value) => Number.isInteger(value) && (value as number) >= 0;
const isAnything: Check = () => true;
const isList: Check = Array.isArray;
const isObject: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isSubschema: Check = (value) => typeof value === "boolean" || isObject(value);
const isNames: Check = (value) => Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;
const isSchemaList: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(isSubschema);
const isSchemaMap: Check = (value) => isObject(value) && Object.values(value as object).every(isSubschema);
const isPattern: Check = (value) => {
  try {
    return isText(value) && new RegExp(value as string, "u") instanceof RegExp;
  } catch {
    return false;
  }
};

/**
 * The keywords of JSON Schema (2020-12) and of OpenAPI, with the values that they may have: a
 * document with another value would be invalid. `examples` add up and are read apart. References
 * and identifiers are left out, since they would mean another place in a document.
 */
const KEYWORDS: Readonly<Record<string, Check>> = {
  title: isText,
  description: isText,
  $comment: isText,
  format: isText,
  contentEncoding: isText,
  contentMediaType: isText,
  deprecated: isFlag,
  readOnly: isFlag,
  writeOnly: isFlag,
  uniqueItems: isFlag,
  default: isAnything,
  const: isAnything,
  example: isAnything,
  enum: isList,
  multipleOf: (value) => isNumber(value) && (value as number) > 0,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minContains: isCount,
  maxContains: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  pattern: isPattern,
  required: isNames,
  dependentRequired: (value) => isObject(value) && Object.values(value as object).every(isNames),
  type: (value) => TYPES.has(value) || (isNames(value) && (value as string[]).every((name) => TYPES.has(name))),
  allOf: isSchemaList,
  anyOf: isSchemaList,
  oneOf: isSchemaList,
  prefixItems: isSchemaList,
  not: isSubschema,
  if: isSubschema,
  then: isSubschema,
  else: isSubschema,
  items: isSubschema,
  contains: isSubschema,
  propertyNames: isSubschema,
  additionalProperties: isSubschema,
  unevaluatedItems: isSubschema,
  unevaluatedProperties: isSubschema,
  contentSchema: isSubschema,
  properties: isSchemaMap,
  patternProperties: isSchemaMap,
  dependentSchemas: isSchemaMap,
  externalDocs: (value) => isObject(value) && isText((value as { url?: unknown }).url),
  xml: isObject,
};

/**
 * Keywords that only count where a schema does not say them itself: metadata must not contradict
 * it.
 */
export const STRUCTURE: ReadonlySet<string> = new Set([
  "type",
  "const",
  "enum",
  "allOf",
  "anyOf",
  "oneOf",
  "items",
  "prefixItems",
  "properties",
  "patternProperties",
  "additionalProperties",
  "required",
]);

const TYPES: ReadonlySet<unknown> = new Set(["array", "boolean", "integer", "null", "number", "object", "string"]);

/** The keywords and extensions (`x-…`) among the members of metadata, as JSON. */
export function keywordsIn(metadata: Readonly<Record<string, unknown>>): JsonSchema {
  const found: JsonSchema = {};
  for (const [keyword, given] of Object.entries(metadata)) {
    const isValid = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : /^x-./.test(keyword) && isAnything;
    if (!isValid) continue;
    const value = toJson(given);
    if (value !== undefined && isValid(value)) found[keyword] = value;
  }
  return found;
}
