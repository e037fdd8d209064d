/** Parameters and request bodies of the document. */
import { takesJson } from "../../schema/coerce_form.ts";
import { isBinary, lazyTarget, LISTS, nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { allOf, type JsonSchema } from "../json_schema/json_schema.ts";
import { pascalCase } from "../json_schema/model_names.ts";
import type { Models } from "../json_schema/models.ts";
import { BYTES, mediaTypesOf } from "../json_schema/values.ts";
import type { Idempotency } from "../../idempotency/options.ts";
import type { BodyInput, ParameterInput } from "../route/inputs.ts";
import type { OpenAPIEncoding, OpenAPIParameter, OpenAPIRequestBody } from "./document.ts";

/** A segment of a path is never empty. */
const SEGMENT: JsonSchema = { type: "string", minLength: 1 };

/** OpenAPI 3.1.0, section 4.8.12.1, ignores parameters for these headers. */
const IGNORED_HEADERS = new Set(["accept", "content-type", "authorization"]);

/** The name is sent once for each element; an element that is an object is JSON text. */
const REPEATED: OpenAPIEncoding = { style: "form", explode: true };
/** An object is sent as JSON text. */
const JSON_TEXT: OpenAPIEncoding = { contentType: "application/json" };
/** The keys of an object are sent in brackets. */
const BRACKETED: OpenAPIEncoding = { style: "deepObject", explode: true };

/** Whether an input is a header that OpenAPI does not describe as a parameter. */
export function isDescribedElsewhere({ in: source, name }: ParameterInput): boolean {
  return source === "header" && IGNORED_HEADERS.has(name.toLowerCase());
}

/** The parameters of a document. Equal schemas with equal names share one object. */
export class Parameters {
  readonly #models: Models;
  readonly #known = new Map<Schema | undefined, Map<string, OpenAPIParameter>>();

  constructor(models: Models) {
    this.#models = models;
  }

  /** The parameter of an input, under its name in the document. */
  of(input: ParameterInput, name: string): OpenAPIParameter {
    if (input.schemas.length > 1) return parameterOf(input, name, this.#models);
    const [schema] = input.schemas;
    let known = this.#known.get(schema);
    if (!known) this.#known.set(schema, known = new Map());
    const key = `${input.in} ${name}`;
    let parameter = known.get(key);
    if (!parameter) known.set(key, parameter = parameterOf(input, name, this.#models));
    return parameter;
  }
}

/** Describes an input as a parameter. `models` collects its models. */
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

/** The schema of the parsed value, to which all declared schemas apply. */
function schemaOf({ in: source, schemas }: ParameterInput, models: Models): JsonSchema {
  const described = schemas.map((schema) => models.jsonInput(schema));
  const [first = SEGMENT, ...others] = described.length < 2 ? described : distinct(described);
  if (others.length > 0) return allOf([first, ...others]);
  const isAnyText = first.type === "string" && first.enum === undefined && first.const === undefined;
  return source === "path" && isAnyText ? { ...SEGMENT, ...first } : first;
}

/** Removes duplicates, except for schemas with references: models get their names later. */
function distinct(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  const known = new Map(schemas.map((schema) => {
    const text = JSON.stringify(schema);
    return [text.includes('"$ref"') ? schema : text, schema];
  }));
  return [...known.values()];
}

/** Moves annotations to the parameter or header, for the page and clients. */
export function liftAnnotations(whole: JsonSchema): Pick<OpenAPIParameter, "description" | "deprecated" | "schema"> {
  // A reference is completed later, so it must not be copied.
  if ("$ref" in whole) return { schema: whole };
  const { description, deprecated, ...schema } = whole;
  return { ...(description !== undefined && { description }), ...(deprecated && { deprecated }), schema };
}

/** The request body of an operation. The `operationId` names a model without title. */
export function requestBodyOf(input: BodyInput, operationId: string, models: Models): OpenAPIRequestBody {
  const { mediaType, schema, isRequired: required } = input;
  if (mediaType === "application/octet-stream") return { required, content: { [mediaType]: { schema: BYTES } } };
  if (mediaType === "application/json") {
    const body = models.jsonInput(schema, `${pascalCase(operationId)}Body`);
    return { required, content: { [mediaType]: { schema: body } } };
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
        ...(Object.keys(encoding).length > 0 && { encoding }),
      },
    },
  };
}

interface FormFields {
  /** By name. By default, fields are sent as text or bytes. */
  readonly encoding: Readonly<Record<string, OpenAPIEncoding>>;
  /** An example of a nested name, if the encoding cannot express it. */
  readonly nested: string | undefined;
  /** The names of fields that accept JSON text. */
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

/** A nested name of a field; undefined if there is none, or if the encoding expresses it. */
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

/** The alternatives of a value: without wrappers such as `optional`, and each option of a union. */
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

/** The client chooses the keys of a record: `name` is an example. */
function firstKey({ entries = {} }: SchemaNode): string {
  return Object.keys(entries)[0] ?? "name";
}

function isList({ type }: SchemaNode): boolean {
  return LISTS.has(type);
}

function isObject({ type, entries }: SchemaNode): boolean {
  return entries !== undefined || type === "record";
}

const KEY_HEADER = "Idempotency-Key";

const KEY_DESCRIPTION =
  "Identifies the request: a random text, the same for each repetition of it. A repetition gets the reply of the first request again, with the header `Idempotency-Replayed`.";

/** The parameter for the key, unless the route declares the header itself. */
export function keyParameter(
  idempotency: Idempotency | undefined,
  declared: readonly OpenAPIParameter[],
): OpenAPIParameter[] {
  const isDeclared = declared.some(({ in: source, name }) =>
    source === "header" && name.toLowerCase() === KEY_HEADER.toLowerCase()
  );
  if (!idempotency || isDeclared) return [];
  const schema = { type: "string", minLength: 1, maxLength: 255 } as const;
  return [{ name: KEY_HEADER, in: "header", required: idempotency.isRequired, description: KEY_DESCRIPTION, schema }];
}
