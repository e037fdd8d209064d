/** The types of JSON Schema, dialect 2020-12. */

/** @ignore The name of a JSON type, as the keyword `type` takes it. */
export type JsonType = "array" | "boolean" | "integer" | "null" | "number" | "object" | "string";

/** A schema of the dialect 2020-12, https://json-schema.org/draft/2020-12. */
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
  /** The only allowed value. */
  const?: unknown;
  /** The allowed values. */
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
