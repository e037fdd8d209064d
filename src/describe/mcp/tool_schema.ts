/** The schemas of a tool. An object stands at the root of each: clients give up the whole list of tools over anything else. */
import type { Schema } from "../../schema/schema.ts";
import { isAlwaysSent } from "../json_schema/optionality.ts";
import { isBinary } from "../json_schema/non_json.ts";
import type { ParameterInput } from "../route/inputs.ts";
import { annotate, type JsonSchema, restrict } from "../json_schema/json_schema.ts";
import { Models } from "../json_schema/models.ts";
import { parameterOf } from "../openapi/parameters.ts";
import { toPortable } from "./portable_schema.ts";
import { type Definitions, possibleTypes, referenced, resolve } from "./schema_types.ts";
import type { ToolArgument } from "./tool_arguments.ts";
import type { OutputForm } from "./tool_result.ts";

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
