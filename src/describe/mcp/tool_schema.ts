/**
 * The schemas of tools. The root of each is an object: clients give up the whole list of tools
 * because of any other.
 */
import * as v from "valibot";
import { isDeclaredReply } from "../../http/replies/declared_reply.ts";
import { isBinary, type Schema } from "../../schema/schema.ts";
import { annotate, type JsonSchema, type JsonType, restrict } from "../json_schema/json_schema.ts";
import { Models } from "../json_schema/models.ts";
import { isAlwaysSent } from "../json_schema/optionality.ts";
import { parameterOf } from "../openapi/parameters.ts";
import type { ToolArgument } from "./tool_check.ts";
import type { OutputForm } from "./tool_result.ts";

export interface ObjectSchema extends JsonSchema {
  type: "object";
}

interface ToolOutput {
  readonly form: OutputForm;
  readonly schema?: ObjectSchema;
}

/** Schemas by the names at the end of references. */
type Definitions = Readonly<Record<string, JsonSchema>>;

const DEFINITIONS = "#/$defs/";
const ALL_TYPES: ReadonlySet<JsonType> = new Set<JsonType>(["array", "boolean", "null", "number", "object", "string"]);

/** Keywords whose values are data. */
const DATA = new Set(["const", "default", "enum", "example", "examples", "externalDocs", "xml"]);
/** Keywords whose values hold schemas by arbitrary names. */
const NAMED = new Set(["$defs", "patternProperties", "properties"]);
/** Keywords that do not restrict values. */
const ANNOTATIONS = new Set(["default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"]);

/**
 * The schema of the arguments of a tool.
 *
 * @throws {TypeError} If JSON Schema cannot describe an argument.
 */
export function inputSchemaOf(args: readonly ToolArgument[]): ObjectSchema {
  const models = new Models(DEFINITIONS);
  const described = args.map((argument) => [argument, argumentSchema(argument, models)] as const);
  const definitions = models.definitions();
  const properties = Object.fromEntries(described.map(([{ name, input }, schema]) => {
    const isForm = !("in" in input) && input.name === "form";
    return [name, isForm ? withoutEmptyLists(resolve(schema, definitions)) : schema];
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

export function nullableArguments({ properties = {}, $defs = {} }: ObjectSchema): ReadonlySet<string> {
  const nullable = Object.entries(properties).filter(([, schema]) => possibleTypes(schema, $defs).has("null"));
  return new Set(nullable.map(([name]) => name));
}

/**
 * What a tool declares of its results: the response as it is sent, wrapped if it may be no object.
 *
 * @throws {TypeError} If JSON Schema cannot describe it.
 */
export function outputOf(declared: Schema | undefined): ToolOutput {
  const response = singleOf(declared);
  if (response === undefined || isBinary(response) || isDeclaredReply(response)) return { form: "open" };
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

/** One schema of all successes; undefined if one of them is not JSON. */
function singleOf(declared: Schema | undefined): Schema | undefined {
  if (!isDeclaredReply(declared) || declared.type !== "replies") return declared;
  const models = [...new Set(declared.entries.values())];
  if (models.some((model) => isBinary(model) || isDeclaredReply(model))) return undefined;
  return models.length === 1 ? models[0] : v.union(models as v.GenericSchema[]);
}

/**
 * The same schema without what some clients misread. The first clients of the protocol validate
 * results by draft-07: it has no `prefixItems`, and applies `items` to all items, so `items` goes
 * where it is about later items. Some model providers accept one type for a schema, not a list.
 */
export function draft07Compatible(schema: JsonSchema): JsonSchema {
  const mapped = Object.entries(schema).map(([keyword, value]) => {
    if (DATA.has(keyword) || keyword.startsWith("x-")) return [keyword, value];
    return [keyword, NAMED.has(keyword) ? mapNamed(value as Record<string, JsonSchema>) : mapParts(value)];
  });
  const whole: JsonSchema = Object.fromEntries(mapped);
  if (whole.prefixItems) delete whole.items;
  return withSingleTypes(whole);
}

function mapNamed(schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, draft07Compatible(schema)]));
}

function mapParts(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map(mapParts) : draft07Compatible(value as JsonSchema);
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

function argumentSchema({ name, input }: ToolArgument, models: Models): JsonSchema {
  if (!("in" in input)) return models.jsonInput(input.schema);
  const { description, deprecated, schema } = parameterOf(input, name, models);
  const sent = input.isRequired ? notEmpty(schema) : schema;
  return annotate(sent, { ...(description && { description }), ...(deprecated && { deprecated }) });
}

function withoutEmptyLists(form: JsonSchema): JsonSchema {
  const { properties, required = [] } = form;
  if (!properties) return form;
  const fields = Object.entries(properties).map(([name, field]) => {
    return [name, required.includes(name) ? notEmpty(field) : field];
  });
  return { ...form, properties: Object.fromEntries(fields) };
}

/** Queries and forms cannot say that a required list is there and empty. */
function notEmpty(schema: JsonSchema): JsonSchema {
  return schema.type === "array" ? restrict(schema, { minItems: 1 }) : schema;
}

/** Adds the definitions that the schema refers to, and no more: agents pay for each word. */
function withDefinitions(root: ObjectSchema, definitions: Definitions): ObjectSchema {
  const names = [...referencedNames(root, definitions)];
  const $defs = Object.fromEntries(names.map((name) => [name, definitions[name]!]));
  return { ...draft07Compatible(names.length > 0 ? { ...root, $defs } : root), type: "object" };
}

/** The names of the definitions that a schema refers to, directly or through others. */
function referencedNames(root: JsonSchema, definitions: Definitions): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    const { $ref } = part as JsonSchema;
    const name = typeof $ref === "string" && $ref.startsWith(DEFINITIONS) ? nameOf($ref) : undefined;
    if (name !== undefined && !names.has(name) && Object.hasOwn(definitions, name)) {
      names.add(name);
      visit(definitions[name]);
    }
    Object.values(part).forEach(visit);
  };
  visit(root);
  return names;
}

/**
 * The types that values of a schema may have. Integers are numbers. In doubt, there is one more.
 */
function possibleTypes(
  schema: JsonSchema,
  definitions: Definitions,
  seen: ReadonlySet<string> = new Set(),
): ReadonlySet<JsonType> {
  const { $ref, type, const: constant, enum: values, anyOf, oneOf, allOf = [] } = schema;
  const within = (part: JsonSchema) => possibleTypes(part, definitions, seen);
  let types = ALL_TYPES;
  if ($ref !== undefined) {
    const name = nameOf($ref);
    const target = definitions[name];
    if (target && !seen.has(name)) types = possibleTypes(target, definitions, new Set([...seen, name]));
  }
  if (type !== undefined) {
    types = types.intersection(new Set([type].flat().map((one) => one === "integer" ? "number" : one)));
  }
  if (constant !== undefined) types = types.intersection(new Set([typeOf(constant)]));
  if (values) types = types.intersection(new Set(values.map(typeOf)));
  for (const options of [anyOf, oneOf]) {
    if (options) types = types.intersection(new Set(options.flatMap((option) => [...within(option)])));
  }
  return allOf.reduce<ReadonlySet<JsonType>>((common, part) => common.intersection(within(part)), types);
}

function typeOf(value: unknown): JsonType {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value as JsonType;
}

/** The schema that a reference, or a chain of them, leads to. */
function resolve(schema: JsonSchema, definitions: Definitions): JsonSchema {
  const target = schema.$ref === undefined ? undefined : definitions[nameOf(schema.$ref)];
  return target === undefined ? schema : resolve(target, definitions);
}

/** The name at the end of a reference: a token of a JSON pointer (RFC 6901 section 6). */
function nameOf(reference: string): string {
  const token = decodeURIComponent(reference.slice(reference.lastIndexOf("/") + 1));
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}
