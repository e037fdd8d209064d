/** The tool of a route: its name, description, schemas, hints, and checks of its arguments. */
import * as v from "valibot";
import type { Issue } from "../../base/errors.ts";
import type { ResolvedLimits } from "../../http/limits.ts";
import type { ToolAnnotations } from "../../http/route_info.ts";
import type { Route } from "../../routing/route.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { coerceJson } from "../../schema/coerce_json.ts";
import { type Dataset, isBinary, type Schema } from "../../schema/schema.ts";
import { toIssue } from "../../schema/issues.ts";
import { documentationOf } from "../route/docstring.ts";
import { securityOf } from "../route/inputs.ts";
import { argumentsOf, type ToolArgument, toolOptionsOf } from "./tool_check.ts";
import type { OutputForm } from "./tool_result.ts";
import { isDeclaredReply } from "../../http/replies/declared_reply.ts";
import { annotate, restrict } from "../json_schema/json_schema.ts";
import type { JsonSchema, JsonType } from "../../schema/json_schema.ts";
import { Models } from "../json_schema/models.ts";
import { isAlwaysSent } from "../json_schema/optionality.ts";
import { parameterOf } from "../openapi/parameters.ts";

interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema;
  readonly annotations: ToolAnnotations;
}

export interface CheckedArgument extends ToolArgument {
  readonly isNullable: boolean;
  readonly check: (value: unknown) => Issue[];
}

export interface Tool {
  readonly route: Route;
  readonly definition: ToolDefinition;
  readonly arguments: readonly CheckedArgument[];
  /** The query parameters with API keys, copied from the URL of the caller. */
  readonly queryKeys: readonly string[];
  readonly outputForm: OutputForm;
  /** In bytes. */
  readonly maxBody: number;
}

const MAX_NAME_LENGTH = 64;
/** RFC 9110, section 9.2.1. */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
/** RFC 9110, section 9.2.2. */
const IDEMPOTENT = new Set([...SAFE, "PUT", "DELETE"]);
/** For path parameters without a schema. */
const TEXT: readonly Schema[] = [v.string()];

export function assignToolNames(routes: readonly Route[]): Map<Route, string> {
  const taken = new Set(routes.map((route) => toolOptionsOf(route).name));
  const names = new Map<Route, string>();
  for (const route of routes) {
    const name = toolOptionsOf(route).name ?? freeName(toToolName(route.operationId), taken);
    taken.add(name);
    names.set(route, name);
  }
  return names;
}

export function toTool(route: Route, name: string, limits: ResolvedLimits): Tool {
  const { summary, description } = documentationOf(route);
  const { annotations, ...options } = toolOptionsOf(route);
  const args = argumentsOf(route);
  const inputSchema = inputSchemaOf(args);
  const nullable = nullableArguments(inputSchema);
  const output = outputOf(route.options.response);
  const title = annotations?.title ?? summary?.replace(/\.$/, "");
  const text = [summary, description].filter((part) => part !== undefined).join("\n\n");
  return {
    route,
    definition: {
      name,
      ...(title !== undefined && { title }),
      description: options.description ?? (text === "" ? route.name : text),
      inputSchema,
      ...(output.schema && { outputSchema: output.schema }),
      annotations: annotationsOf(route, title, annotations),
    },
    arguments: args.map((argument) => {
      return { ...argument, isNullable: nullable.has(argument.name), check: compileArgumentCheck(argument) };
    }),
    queryKeys: queryKeysOf(route, args),
    outputForm: output.form,
    maxBody: route.limitsOver(limits).body,
  };
}

/** Query parameters with API keys, except those that are arguments. */
function queryKeysOf(route: Route, args: readonly ToolArgument[]): string[] {
  const schemes = securityOf(route).flatMap(({ security }) => security.flatMap((way) => [...way.values()]));
  const keys = schemes.flatMap(({ scheme }) => scheme.type === "apiKey" && scheme.in === "query" ? [scheme.name] : []);
  return [...new Set(keys)].filter((key) => !args.some(({ name }) => name === key));
}

function toToolName(operationId: string): string {
  const ascii = operationId.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^A-Za-z0-9_-]+/g, "_");
  return /[A-Za-z0-9]/.test(ascii) ? ascii.slice(0, MAX_NAME_LENGTH) : "tool";
}

/** Shortens the name if necessary. */
function freeName(wanted: string, taken: ReadonlySet<string | undefined>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number++) {
    name = `${wanted.slice(0, MAX_NAME_LENGTH - String(number).length)}${number}`;
  }
  return name;
}

/** By the method and the option `idempotent`; hints of the route take precedence. */
function annotationsOf(
  { method, idempotency }: Route,
  title: string | undefined,
  declared: ToolAnnotations = {},
): ToolAnnotations {
  const readOnlyHint = declared.readOnlyHint ?? SAFE.has(method);
  return {
    ...(title !== undefined && { title }),
    destructiveHint: !readOnlyHint,
    idempotentHint: readOnlyHint || IDEMPOTENT.has(method) || idempotency !== undefined,
    openWorldHint: false,
    ...declared,
    readOnlyHint,
  };
}

/**
 * Checks JSON against the documented schema: in a path or query, `5` and `"5"` are equal, and so
 * are a value and an array of it. Async schemas are left to the binder.
 */
function compileArgumentCheck({ name, input }: ToolArgument): CheckedArgument["check"] {
  const isParameter = "in" in input;
  const schemas = !isParameter ? [input.schema] : input.schemas.length > 0 ? input.schemas : TEXT;
  const [source, path] = isParameter ? [input.in, [name]] : [input.name, []];
  // Compiled at the first call: most tools are only listed.
  let validators: readonly Validator[] | undefined;
  return (value) => {
    validators ??= schemas.map((schema) => toValidator(coerceJson(schema, `the argument "${name}"`)));
    return validators.filter(({ isAsync }) => !isAsync).flatMap(({ validate }) => {
      const { issues = [] } = validate(value) as Dataset;
      return issues.map((issue) => toIssue(issue, source, path));
    });
  };
}

export interface ObjectSchema extends JsonSchema {
  type: "object";
}

interface ToolOutput {
  readonly form: OutputForm;
  readonly schema?: ObjectSchema;
}

type Definitions = Readonly<Record<string, JsonSchema>>;

const DEFINITIONS = "#/$defs/";
const ALL_TYPES: ReadonlySet<JsonType> = new Set<JsonType>(["array", "boolean", "null", "number", "object", "string"]);

/** Their values are data. */
const DATA = new Set(["const", "default", "enum", "example", "examples", "externalDocs", "xml"]);
/** Their values are schemas by name. */
const NAMED = new Set(["$defs", "patternProperties", "properties"]);
/** They do not restrict values. */
const ANNOTATIONS = new Set(["default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"]);

/** @throws {TypeError} If JSON Schema cannot express an argument. */
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

/** The schema of the response, wrapped if it may be no object. */
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

/** Undefined if one of several successes is not JSON. */
function singleOf(declared: Schema | undefined): Schema | undefined {
  if (!isDeclaredReply(declared) || declared.type !== "replies") return declared;
  const models = [...new Set(declared.entries.values())];
  if (models.some((model) => isBinary(model) || isDeclaredReply(model))) return undefined;
  return models.length === 1 ? models[0] : v.union(models as v.GenericSchema[]);
}

/**
 * Removes keywords that clients misread. The first MCP clients validate by draft-07, which lacks
 * `prefixItems` and applies `items` to all items. Some model providers accept only one type.
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

/** Queries and forms cannot express a required empty array. */
function notEmpty(schema: JsonSchema): JsonSchema {
  return schema.type === "array" ? restrict(schema, { minItems: 1 }) : schema;
}

/** Adds only definitions that are used: agents pay for each word. */
function withDefinitions(root: ObjectSchema, definitions: Definitions): ObjectSchema {
  const names = [...referencedNames(root, definitions)];
  const $defs = Object.fromEntries(names.map((name) => [name, definitions[name]!]));
  return { ...draft07Compatible(names.length > 0 ? { ...root, $defs } : root), type: "object" };
}

/** Follows references. */
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

/** Integers are numbers. Includes a type in doubt. */
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

/** Follows chains of references. */
function resolve(schema: JsonSchema, definitions: Definitions): JsonSchema {
  const target = schema.$ref === undefined ? undefined : definitions[nameOf(schema.$ref)];
  return target === undefined ? schema : resolve(target, definitions);
}

/** A token of a JSON pointer (RFC 6901, section 6). */
function nameOf(reference: string): string {
  const token = decodeURIComponent(reference.slice(reference.lastIndexOf("/") + 1));
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}
