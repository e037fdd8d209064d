import { lazyTarget, LISTS, nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import type { BodyInput, ParameterInput } from "../route/inputs.ts";
import { allOf, type JsonSchema } from "../json_schema/json_schema.ts";
import { type Models, pascalCase } from "../json_schema/models.ts";
import type { OpenAPIEncoding, OpenAPIParameter, OpenAPIRequestBody } from "./document.ts";
import { BYTES, isBinary, mediaTypesOf } from "../json_schema/non_json.ts";
import { takesJson } from "../../schema/coerce_form.ts";

/** Tells how the fields of a form are written, as far as OpenAPI has words for it. */

/** How the fields of a form are written. */
export interface FormFields {
  /** By their names. Where nothing is said of a field, it is written as its text, or as its bytes. */
  readonly encoding: Readonly<Record<string, OpenAPIEncoding>>;
  /** A name that nests, where there is one that the encoding does not say. */
  readonly nested: string | undefined;
  /** The names of fields that are taken as JSON text. */
  readonly json: readonly string[];
}

/** The name is sent once for each element; of objects, each time with JSON text. */
const REPEATED: OpenAPIEncoding = { style: "form", explode: true };
/** An object is sent as JSON text. */
const JSON_TEXT: OpenAPIEncoding = { contentType: "application/json" };
/** The keys stand in brackets. */
const BRACKETED: OpenAPIEncoding = { style: "deepObject", explode: true };

/** The fields of a form. */
export function fieldsOf(schema: Schema): FormFields {
  const encoding = new Map<string, OpenAPIEncoding>();
  const json: string[] = [];
  let nested: string | undefined;
  for (const [name, node] of valuesOf(nodeOf(schema)).flatMap(entriesOf)) {
    const told = encodingOf(node);
    if (told) encoding.set(name, told);
    if (takesJson(node)) json.push(name);
    nested ??= nestedName(node, name);
  }
  // Not by assignment: "__proto__" is a name like others.
  return { encoding: Object.fromEntries(encoding), nested, json };
}

/** The schemas of values among which a schema has its own: without what may be absent, and what is chosen among others. */
function valuesOf(node: SchemaNode, seen: Set<SchemaNode> = new Set()): SchemaNode[] {
  if (seen.has(node)) return [];
  seen.add(node);
  if (node.wrapped) return valuesOf(node.wrapped, seen);
  if (node.type === "lazy") {
    const target = lazyTarget(node);
    return target ? valuesOf(target, seen) : [];
  }
  const isChoice = node.type === "union" || node.type === "variant" || node.type === "intersect";
  return isChoice ? (node.options as readonly SchemaNode[]).flatMap((option) => valuesOf(option, seen)) : [node];
}

function entriesOf({ entries = {} }: SchemaNode): (readonly [name: string, node: SchemaNode])[] {
  return Object.entries(entries);
}

function encodingOf(node: SchemaNode): OpenAPIEncoding | undefined {
  const values = valuesOf(node);
  const lists = values.filter(isList);
  const parts = [...values, ...lists.flatMap(itemsOf)];
  const types = new Set(parts.filter(isBinary).flatMap(mediaTypesOf));
  if (types.size > 0) return { contentType: [...types].join(", ") };
  // Of a list, the page would send JSON text of the JSON texts.
  if (takesJson(node)) return lists.length === 0 ? JSON_TEXT : REPEATED;
  if (values.some(isObject)) return BRACKETED;
  // Files come by themselves, each under the name.
  return lists.length > 0 && !parts.some(isBinary) && !parts.some(isObject) ? REPEATED : undefined;
}

/** A name within a field that nests, or undefined where that is told by its encoding. */
function nestedName(node: SchemaNode, name: string): string | undefined {
  const first = takesJson(node) ? firstObject(valuesOf(node)) : undefined;
  if (first) return `${name}[${keyOf(first)}]`;
  for (const value of valuesOf(node)) {
    const inner = isList(value) ? firstObject(itemsOf(value)) : undefined;
    if (inner) return `${name}[0][${keyOf(inner)}]`;
    for (const [key, part] of entriesOf(value)) {
      const values = valuesOf(part);
      const object = firstObject(values);
      if (object) return `${name}[${key}][${keyOf(object)}]`;
      const item = firstObject(values.filter(isList).flatMap(itemsOf));
      if (item) return `${name}[${key}][0][${keyOf(item)}]`;
    }
  }
  return undefined;
}

function firstObject(nodes: readonly SchemaNode[]): SchemaNode | undefined {
  return nodes.find(isObject);
}

/** A key of an object, be it one that the client chooses. */
function keyOf({ entries = {} }: SchemaNode): string {
  return Object.keys(entries)[0] ?? "name";
}

function itemsOf({ item, items = [], rest }: SchemaNode): SchemaNode[] {
  return [item, ...items, rest].flatMap((part) => part ? valuesOf(part) : []);
}

function isList({ type }: SchemaNode): boolean {
  return LISTS.has(type);
}

function isObject({ type, entries }: SchemaNode): boolean {
  return entries !== undefined || type === "record";
}

/** Bodies of requests in the document. */

/**
 * The body of an operation.
 *
 * @param input What is taken.
 * @param operationId Names a model that has no title.
 * @param models Takes up the models that are met.
 */
export function requestBodyOf(input: BodyInput, operationId: string, models: Models): OpenAPIRequestBody {
  const { mediaType, schema, isRequired: required } = input;
  switch (mediaType) {
    case "application/octet-stream":
      return { required, content: { [mediaType]: { schema: BYTES } } };
    case "application/json":
      return {
        required,
        content: { [mediaType]: { schema: models.jsonInput(schema, `${pascalCase(operationId)}Body`) } },
      };
  }
  const { encoding, nested, json } = fieldsOf(schema);
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

/** Parameters of the document: what a route takes from the path, the query, headers and cookies. */

/** A segment of a path is never empty. */
const SEGMENT: JsonSchema = { type: "string", minLength: 1 };

/** OpenAPI 3.1.0, section 4.8.12.1, has these ignored as parameters: they are described by other means. */
const DESCRIBED_ELSEWHERE = new Set(["accept", "content-type", "authorization"]);

/** Whether an input is a header that OpenAPI describes by something else than a parameter. */
export function isDescribedElsewhere({ in: source, name }: ParameterInput): boolean {
  return source === "header" && DESCRIBED_ELSEWHERE.has(name.toLowerCase());
}

/** The parameters of a document. What several routes take alike is one object. */
export class Parameters {
  readonly #models: Models;
  readonly #known = new Map<Schema | undefined, Map<string, OpenAPIParameter>>();

  /**
   * Begins without any.
   *
   * @param models Takes up the models that are met.
   */
  constructor(models: Models) {
    this.#models = models;
  }

  /**
   * The parameter of an input.
   *
   * @param input What is taken.
   * @param name What the document calls it.
   */
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

/**
 * The parameter of an input.
 *
 * @param input What is taken.
 * @param name What it is to be called.
 * @param models Takes up the models that are met.
 */
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

/** What the text may stand for: everything that was declared of it, each once. */
function schemaOf({ in: source, schemas }: ParameterInput, models: Models): JsonSchema {
  const described = schemas.map((schema) => models.jsonInput(schema));
  const [first = SEGMENT, ...others] = described.length < 2 ? described : distinct(described);
  if (others.length > 0) return allOf([first, ...others]);
  const isFree = first.type === "string" && first.enum === undefined && first.const === undefined;
  return source === "path" && isFree ? { ...SEGMENT, ...first } : first;
}

/** Each of the schemas once. Those that refer to models get the references later, once all models have names: they stay apart. */
function distinct(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  const known = new Map(schemas.map((schema) => {
    const text = JSON.stringify(schema);
    return [text.includes('"$ref"') ? schema : text, schema];
  }));
  return [...known.values()];
}

/** Pages and clients read what is said of a parameter, rather than of its schema. */
function liftAnnotations(whole: JsonSchema): Pick<OpenAPIParameter, "description" | "deprecated" | "schema"> {
  // A reference is filled in later: a copy of it would stay empty.
  if ("$ref" in whole) return { schema: whole };
  const { description, deprecated, ...schema } = whole;
  return { ...(description !== undefined && { description }), ...(deprecated && { deprecated }), schema };
}
