import type { Schema } from "../../schema/schema.ts";
import { isAlwaysSent } from "../json_schema/optionality.ts";
import { isBinary } from "../json_schema/non_json.ts";
import type { ParameterInput } from "../route/inputs.ts";
import { annotate, type JsonSchema, type JsonType, restrict } from "../json_schema/json_schema.ts";
import { Models } from "../json_schema/models.ts";
import { parameterOf } from "../openapi/parameters.ts";
import type { ToolArgument } from "./tool_check.ts";
import type { OutputForm } from "./tool_result.ts";

/** Reads off a JSON Schema what its values are, through its references. */

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

/** Writes schemas so that every client reads them as they are meant. */

/** Keywords whose values are data. */
const DATA = new Set(["const", "default", "enum", "examples"]);
/** Keywords whose values hold schemas by names that anyone chose. */
const NAMED = new Set(["$defs", "patternProperties", "properties"]);
/** Keywords that say nothing of what fits. */
const ANNOTATIONS = new Set(["default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"]);

/**
 * The same schema in words that all clients know.
 *
 * The first generation of clients validates results by draft-07. It has no `prefixItems`, and takes
 * `items`, which is about later items, to be about all: later items are left open. And some
 * providers of models know one type for a schema, not a list of them.
 */
export function toPortable(schema: JsonSchema): JsonSchema {
  return withSingleTypes(withoutRest(mapSchemas(schema)));
}

function mapSchemas(schema: JsonSchema): JsonSchema {
  const mapped = Object.entries(schema).map(([keyword, value]) => {
    if (DATA.has(keyword)) return [keyword, value];
    return [keyword, NAMED.has(keyword) ? mapNamed(value as Record<string, JsonSchema>) : mapParts(value)];
  });
  return Object.fromEntries(mapped);
}

function mapNamed(schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, toPortable(schema)]));
}

function mapParts(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map(mapParts) : toPortable(value as JsonSchema);
}

function withoutRest(schema: JsonSchema): JsonSchema {
  const { items: _, ...others } = schema;
  return schema.prefixItems ? others : schema;
}

function withSingleTypes(schema: JsonSchema): JsonSchema {
  const { type, ...others } = schema;
  if (!Array.isArray(type)) return schema;
  if (others.enum) return others;
  const entries = Object.entries(others);
  const annotations = entries.filter(([keyword]) => ANNOTATIONS.has(keyword));
  const rules = Object.fromEntries(entries.filter(([keyword]) => !ANNOTATIONS.has(keyword)));
  const options = type.map((one): JsonSchema => one === "null" ? { type: one } : { type: one, ...rules });
  return { ...Object.fromEntries(annotations), anyOf: options };
}

/** The schemas of a tool. An object stands at the root of each: clients give up the whole list of tools over anything else. */

/** A schema that says itself that its values are objects. */
export interface ObjectSchema extends JsonSchema {
  type: "object";
}

/** What a tool declares of its results. */
export interface ToolOutput {
  readonly form: OutputForm;
  readonly schema?: ObjectSchema;
}

/** Where a schema keeps those that it refers to. */
const DEFINITIONS = "#/$defs/";

/**
 * The schema of the arguments of a tool.
 *
 * @throws {TypeError} When one of them cannot be told.
 */
export function inputSchemaOf(args: readonly ToolArgument[]): ObjectSchema {
  const models = new Models(DEFINITIONS);
  const described = args.map((argument) => [argument, propertyOf(argument, models)] as const);
  const definitions = models.definitions();
  const properties = Object.fromEntries(described.map(([{ name, input }, schema]) => {
    const isForm = !("in" in input) && input.name === "form";
    return [name, isForm ? sendable(resolve(schema, definitions)) : schema];
  }));
  const required = args.filter(({ input }) => input.isRequired).map(({ name }) => name);
  const root: ObjectSchema = {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
  return withDefinitions(root, definitions);
}

/** The names of the arguments that may be null. */
export function nullableOf({ properties = {}, $defs = {} }: ObjectSchema): ReadonlySet<string> {
  const nullable = Object.entries(properties).filter(([, schema]) => possibleTypes(schema, $defs).has("null"));
  return new Set(nullable.map(([name]) => name));
}

/**
 * What a tool declares of its results: the response as it is sent, wrapped where that is not always an object.
 *
 * @param response The model of a success, where there is one.
 * @throws {TypeError} When it cannot be told.
 */
export function outputOf(response: Schema | undefined): ToolOutput {
  if (response === undefined || isBinary(response)) return { form: "open" };
  const models = new Models(DEFINITIONS);
  const sent = models.jsonOutput(response);
  const definitions = models.definitions();
  const isSent = isAlwaysSent(response);
  const types = possibleTypes(sent, definitions);
  const isObject = isSent && types.size === 1 && types.has("object");
  const root: ObjectSchema = isObject
    ? { ...resolve(sent, definitions), type: "object" }
    : { type: "object", properties: { result: sent }, ...(isSent && { required: ["result"] }) };
  return { form: isObject ? "object" : "wrapped", schema: withDefinitions(root, definitions) };
}

function propertyOf({ name, input }: ToolArgument, models: Models): JsonSchema {
  if (!("in" in input)) return models.jsonInput(input.schema);
  const { description, deprecated, schema } = parameterOf(input, name, models);
  return annotate(mustBeSent(schema, input), {
    ...(description && { description }),
    ...(deprecated && { deprecated }),
  });
}

/** A form has no way to say that a list is there and empty. */
function sendable(form: JsonSchema): JsonSchema {
  const { properties, required = [] } = form;
  if (!properties) return form;
  const fields = Object.entries(properties).map(([name, field]) => {
    return [name, required.includes(name) && field.type === "array" ? restrict(field, { minItems: 1 }) : field];
  });
  return { ...form, properties: Object.fromEntries(fields) };
}

/** A query has no way to say it either. */
function mustBeSent(schema: JsonSchema, { isRequired }: ParameterInput): JsonSchema {
  return isRequired && schema.type === "array" ? restrict(schema, { minItems: 1 }) : schema;
}

/** The schema with what it refers to, and nothing more: an agent pays for each word. */
function withDefinitions(root: ObjectSchema, definitions: Definitions): ObjectSchema {
  const names = [...referenced(root, DEFINITIONS, definitions)];
  const $defs = Object.fromEntries(names.map((name) => [name, definitions[name]!]));
  return { ...toPortable(names.length > 0 ? { ...root, $defs } : root), type: "object" };
}
