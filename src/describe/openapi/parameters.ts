/** Parameters of the document: what a route takes from the path, the query, headers and cookies. */
import type { Schema } from "../../schema/schema.ts";
import type { ParameterInput } from "../route/inputs.ts";
import { allOf, type JsonSchema } from "../json_schema/json_schema.ts";
import type { Models } from "../json_schema/models.ts";
import type { OpenAPIParameter } from "./document.ts";

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
  const described = schemas.map((schema) => models.textInput(schema));
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
