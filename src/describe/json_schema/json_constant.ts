/** Constants as JSON carries them: the values of literals, defaults and examples. */
import { anyOf, type JsonSchema, type JsonType, nothing, withoutNumberFormat } from "./json_schema.ts";

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
