/** Reads off a JSON Schema what its values are, through its references. */
import type { JsonSchema, JsonType } from "../json_schema/json_schema.ts";

/** Schemas by the names that references end in. */
export type Definitions = Readonly<Record<string, JsonSchema>>;

const ALL: ReadonlySet<JsonType> = new Set<JsonType>(["array", "boolean", "null", "number", "object", "string"]);

/** The schema that a reference, or a chain of them, leads to. */
export function resolve(schema: JsonSchema, definitions: Definitions): JsonSchema {
  const target = schema.$ref === undefined ? undefined : definitions[nameOf(schema.$ref)];
  return target === undefined ? schema : resolve(target, definitions);
}

/**
 * The types that values of a schema may have, integers being numbers. When in doubt, it is one more.
 *
 * @param schema The schema.
 * @param definitions What it refers to.
 */
export function possibleTypes(schema: JsonSchema, definitions: Definitions): ReadonlySet<JsonType> {
  return typesOf(schema, definitions, new Set());
}

function typesOf(schema: JsonSchema, definitions: Definitions, seen: ReadonlySet<string>): ReadonlySet<JsonType> {
  const { $ref, type, const: constant, enum: values, anyOf, oneOf, allOf = [] } = schema;
  const within = (part: JsonSchema) => typesOf(part, definitions, seen);
  let types = ALL;
  if ($ref !== undefined) {
    const name = nameOf($ref);
    const target = definitions[name];
    if (target && !seen.has(name)) types = typesOf(target, definitions, new Set([...seen, name]));
  }
  if (type !== undefined) types = types.intersection(new Set([type].flat().map(wide)));
  if (constant !== undefined) types = types.intersection(new Set([typeOf(constant)]));
  if (values) types = types.intersection(new Set(values.map(typeOf)));
  for (const options of [anyOf, oneOf]) {
    if (options) types = types.intersection(new Set(options.flatMap((option) => [...within(option)])));
  }
  return allOf.reduce<ReadonlySet<JsonType>>((common, part) => common.intersection(within(part)), types);
}

/**
 * The names of all definitions that a schema refers to, be it through others.
 *
 * @param root The schema.
 * @param base What stands before the names in references.
 * @param definitions All of them.
 */
export function referenced(root: JsonSchema, base: string, definitions: Definitions): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const { $ref } = part as JsonSchema;
    const name = typeof $ref === "string" && $ref.startsWith(base) ? nameOf($ref) : undefined;
    if (name !== undefined && !names.has(name) && Object.hasOwn(definitions, name)) {
      names.add(name);
      visit(definitions[name]);
    }
    Object.values(part).forEach(visit);
  };
  visit(root);
  return names;
}

/** The name that a reference ends in: a token of a JSON pointer in a URI fragment (RFC 6901 section 6). */
function nameOf(reference: string): string {
  const token = decodeURIComponent(reference.slice(reference.lastIndexOf("/") + 1));
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

function wide(type: JsonType): JsonType {
  return type === "integer" ? "number" : type;
}

function typeOf(value: unknown): JsonType {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value as JsonType;
}
