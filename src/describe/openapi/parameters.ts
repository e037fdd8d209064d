/** Parameters and request bodies of the document. */
import { type PreparedDependency, withNeeded } from "../../binding/dependency.ts";
import { takesJson } from "../../schema/coerce_form.ts";
import { isBinary, lazyTarget, LISTS, nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { allOf, toJson } from "../json_schema/json_schema.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";
import { type Models, pascalCase } from "../json_schema/models.ts";
import { BYTES, mediaTypesOf } from "../json_schema/values.ts";
import type { NamedExamples, RequestExamples } from "../../http/documented.ts";
import type { RouteDeclaration } from "../../http/route_info.ts";
import type { Idempotency } from "../../idempotency/options.ts";
import type { BodyInput, ParameterInput } from "../route/inputs.ts";
import type { OpenAPIEncoding, OpenAPIExample, OpenAPIParameter, OpenAPIRequestBody } from "../../http/operation.ts";

/** A segment of a path is never empty. */
const SEGMENT: JsonSchema = { type: "string", minLength: 1 };

/** Ignored as parameters: OpenAPI 3.1.0, section 4.8.12.1. */
const IGNORED_HEADERS = new Set(["accept", "content-type", "authorization"]);

/** An element that is an object is JSON text. */
const REPEATED: OpenAPIEncoding = { style: "form", explode: true };
/** An object is sent as JSON text. */
const JSON_TEXT: OpenAPIEncoding = { contentType: "application/json" };
/** The keys of an object are sent in brackets. */
const BRACKETED: OpenAPIEncoding = { style: "deepObject", explode: true };

/** OpenAPI does not describe these headers as parameters. */
export function isDescribedElsewhere({ in: source, name }: ParameterInput): boolean {
  return source === "header" && IGNORED_HEADERS.has(name.toLowerCase());
}

/** Equal schemas with equal names share one object. */
export class Parameters {
  readonly #models: Models;
  readonly #known = new Map<Schema | undefined, Map<string, OpenAPIParameter>>();

  constructor(models: Models) {
    this.#models = models;
  }

  of(input: ParameterInput, name: string): OpenAPIParameter {
    if (input.schemas.length > 1) return parameterOf(input, name, this.#models);
    const [schema] = input.schemas;
    return this.#known.getOrInsertComputed(schema, () => new Map())
      .getOrInsertComputed(`${input.in} ${name}`, () => parameterOf(input, name, this.#models));
  }
}

export function parameterOf(input: ParameterInput, name: string, models: Models): OpenAPIParameter {
  const { in: source, isRequired, isRepeated } = input;
  return {
    name,
    in: source,
    required: isRequired,
    ...(isRepeated && { style: "form", explode: true }),
    ...liftAnnotations(schemaOf(input, models)),
  };
}

/** All declared schemas apply. */
function schemaOf({ in: source, schemas }: ParameterInput, models: Models): JsonSchema {
  const described = schemas.map((schema) => models.jsonInput(schema));
  const [first = SEGMENT, ...others] = described.length < 2 ? described : distinct(described);
  if (others.length > 0) return allOf([first, ...others]);
  const isAnyText = first.type === "string" && first.enum === undefined && first.const === undefined;
  return source === "path" && isAnyText ? { ...SEGMENT, ...first } : first;
}

/** Keeps schemas with references: models get their names later. */
function distinct(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  const known = new Map(schemas.map((schema) => {
    const text = JSON.stringify(schema);
    return [text.includes('"$ref"') ? schema : text, schema];
  }));
  return [...known.values()];
}

/** The page and clients read annotations there, not in the schema. */
export function liftAnnotations(whole: JsonSchema): Pick<OpenAPIParameter, "description" | "deprecated" | "schema"> {
  // A copy would not get the name of the model.
  if ("$ref" in whole) return { schema: whole };
  const { description, deprecated, ...schema } = whole;
  return { ...(description !== undefined && { description }), ...(deprecated && { deprecated }), schema };
}

export function examplesOf(examples: NamedExamples | undefined): Record<string, OpenAPIExample> | undefined {
  const entries = Object.entries(examples ?? {}).map(([name, { summary, description, value }]) => {
    return [name, {
      ...(summary !== undefined && { summary }),
      ...(description !== undefined && { description }),
      value: toJson(value),
    }] as const;
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

/** `operationId` names a model without title. */
export function requestBodyOf(
  input: BodyInput,
  operationId: string,
  models: Models,
  given: RequestExamples = {},
): OpenAPIRequestBody {
  const { name, mediaType, schema, isRequired: required } = input;
  const named = examplesOf(given[name]);
  const examples = named && { examples: named };
  if (mediaType === "application/octet-stream") {
    return { required, content: { [mediaType]: { schema: BYTES, ...examples } } };
  }
  if (mediaType === "application/json") {
    const body = models.jsonInput(schema, `${pascalCase(operationId)}Body`);
    return { required, content: { [mediaType]: { schema: body, ...examples } } };
  }
  const { encoding, nested, json } = formFields(schema);
  const sentences: string[] = [];
  if (json.length > 0) {
    const names = json.map((name) => `\`${name}\``).join(", ");
    sentences.push(`JSON text is taken for ${names}; a list is one text, or one for each item.`);
  }
  if (nested !== undefined) {
    sentences.push(`Names ${json.length > 0 ? "may " : ""}nest in brackets, as in \`${nested}\`.`);
  }
  return {
    ...(sentences.length > 0 && { description: sentences.join(" ") }),
    required,
    content: {
      [mediaType]: {
        schema: models.jsonInput(schema, `${pascalCase(operationId)}Form`),
        ...examples,
        ...(Object.keys(encoding).length > 0 && { encoding }),
      },
    },
  };
}

interface FormFields {
  /** By name; by default text or bytes. */
  readonly encoding: Readonly<Record<string, OpenAPIEncoding>>;
  /** An example of a name that the encoding cannot express. */
  readonly nested: string | undefined;
  /** The fields that accept JSON text. */
  readonly json: readonly string[];
}

function formFields(schema: Schema): FormFields {
  const encoding = new Map<string, OpenAPIEncoding>();
  const json: string[] = [];
  let nested: string | undefined;
  for (const [name, node] of alternatives(nodeOf(schema)).flatMap(entriesOf)) {
    const fieldEncoding = encodingOf(node);
    if (fieldEncoding) encoding.set(name, fieldEncoding);
    if (takesJson(node)) json.push(name);
    nested ??= nestedName(node, name);
  }
  // An assignment would lose a field named "__proto__".
  return { encoding: Object.fromEntries(encoding), nested, json };
}

function encodingOf(node: SchemaNode): OpenAPIEncoding | undefined {
  const values = alternatives(node);
  const lists = values.filter(isList);
  const parts = [...values, ...lists.flatMap(itemsOf)];
  const types = new Set(parts.filter(isBinary).flatMap(mediaTypesOf));
  if (types.size > 0) return { contentType: [...types].join(", ") };
  // With JSON_TEXT for an array, the page would encode JSON twice.
  if (takesJson(node)) return lists.length === 0 ? JSON_TEXT : REPEATED;
  if (values.some(isObject)) return BRACKETED;
  // Files are repeated by default.
  return lists.length > 0 && !parts.some(isBinary) && !parts.some(isObject) ? REPEATED : undefined;
}

/** Undefined if none is nested, or the encoding expresses it. */
function nestedName(node: SchemaNode, name: string): string | undefined {
  const values = alternatives(node);
  const object = takesJson(node) ? values.find(isObject) : undefined;
  if (object) return `${name}[${firstKey(object)}]`;
  for (const value of values) {
    const item = isList(value) ? itemsOf(value).find(isObject) : undefined;
    if (item) return `${name}[0][${firstKey(item)}]`;
    for (const [key, part] of entriesOf(value)) {
      const inner = alternatives(part);
      const object = inner.find(isObject);
      if (object) return `${name}[${key}][${firstKey(object)}]`;
      const item = inner.filter(isList).flatMap(itemsOf).find(isObject);
      if (item) return `${name}[${key}][0][${firstKey(item)}]`;
    }
  }
  return undefined;
}

/** Unwraps `optional` and the like, and lists the options of unions. */
function alternatives(node: SchemaNode, seen: Set<SchemaNode> = new Set()): SchemaNode[] {
  if (seen.has(node)) return [];
  seen.add(node);
  if (node.wrapped) return alternatives(node.wrapped, seen);
  if (node.type === "lazy") {
    const target = lazyTarget(node);
    return target ? alternatives(target, seen) : [];
  }
  const isChoice = node.type === "union" || node.type === "variant" || node.type === "intersect";
  return isChoice ? (node.options as readonly SchemaNode[]).flatMap((option) => alternatives(option, seen)) : [node];
}

function entriesOf({ entries = {} }: SchemaNode): (readonly [name: string, node: SchemaNode])[] {
  return Object.entries(entries);
}

function itemsOf({ item, items = [], rest }: SchemaNode): SchemaNode[] {
  return [item, ...items, rest].flatMap((part) => part ? alternatives(part) : []);
}

/** The client chooses the keys of a record. */
function firstKey({ entries = {} }: SchemaNode): string {
  return Object.keys(entries)[0] ?? "name";
}

function isList({ type }: SchemaNode): boolean {
  return LISTS.has(type);
}

function isObject({ type, entries }: SchemaNode): boolean {
  return entries !== undefined || type === "record";
}

const KEY_DESCRIPTION =
  "Identifies the request: a random text, the same for each repetition of it. A repetition gets the reply of the first request again, with the header `Idempotency-Replayed`.";

/** The headers that options of the route read, unless it declares them itself. */
export function headersOfOptions(
  { ifMatch }: RouteDeclaration,
  idempotency: Idempotency | undefined,
  declared: readonly OpenAPIParameter[],
): OpenAPIParameter[] {
  const headers: OpenAPIParameter[] = [];
  if (idempotency) {
    const schema = { type: "string", minLength: 1, maxLength: 255 } as const;
    const { isRequired: required } = idempotency;
    headers.push({ name: "Idempotency-Key", in: "header", required, description: KEY_DESCRIPTION, schema });
  }
  if (ifMatch) {
    const description = "The `ETag` of the version that the request changes.";
    const required = ifMatch === "required";
    headers.push({ name: "If-Match", in: "header", required, description, schema: { type: "string" } });
  }
  const names = declared.filter((each) => each.in === "header").map(({ name }) => name.toLowerCase());
  return headers.filter(({ name }) => !names.includes(name.toLowerCase()));
}

const SIGNED_DESCRIPTION = "A part of what is signed.";

/**
 * The headers that guards read beside those of their security schemes, unless they are declared.
 * Without the headers of a guard that another one runs, a request may still be accepted.
 */
export function headersOfGuards(
  dependencies: readonly PreparedDependency[],
  declared: readonly OpenAPIParameter[],
): OpenAPIParameter[] {
  const known = new Set(declared.filter((each) => each.in === "header").map(({ name }) => name.toLowerCase()));
  const headers: OpenAPIParameter[] = [];
  for (const dependency of withNeeded<PreparedDependency>(dependencies, "inner")) {
    for (const name of (dependency as PreparedDependency).readHeaders ?? []) {
      if (known.has(name.toLowerCase())) continue;
      known.add(name.toLowerCase());
      const required = dependencies.includes(dependency as PreparedDependency);
      headers.push({ name, in: "header", required, description: SIGNED_DESCRIPTION, schema: { type: "string" } });
    }
  }
  return headers;
}
