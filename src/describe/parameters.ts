/** Parameters of the document: what a route takes from the path, the query, headers and cookies. */
import type { ParameterInput } from "./inputs.ts";
import type { JsonSchema } from "./json_schema.ts";
import type { Models } from "./models.ts";
import type { OpenAPIParameter } from "./openapi_document.ts";

/** A segment of a path is never empty. */
const SEGMENT: JsonSchema = { type: "string", minLength: 1 };

/** OpenAPI 3.1.0, section 4.8.12.1, has these ignored as parameters: they are described by other means. */
const DESCRIBED_ELSEWHERE = new Set(["accept", "content-type", "authorization"]);

/** Whether an input is a header that OpenAPI describes by something else than a parameter. */
export function isDescribedElsewhere({ in: source, name }: ParameterInput): boolean {
  return source === "header" && DESCRIBED_ELSEWHERE.has(name.toLowerCase());
}

/**
 * The parameter of an input.
 *
 * @param input What is taken.
 * @param pathNames What the document calls the names in the path.
 * @param models Takes up the models that are met.
 */
export function parameterOf(
  input: ParameterInput,
  pathNames: ReadonlyMap<string, string>,
  models: Models,
): OpenAPIParameter {
  const { in: source, isRequired, isRepeated } = input;
  const schema = schemaOf(input, models);
  return {
    name: source === "path" ? pathNames.get(input.name)! : input.name,
    in: source,
    required: isRequired,
    ...(isRepeated && { style: "form", explode: true }),
    ...liftAnnotations(schema),
  };
}

/** What the text may stand for: everything that was declared of it, each once. */
function schemaOf({ in: source, schemas }: ParameterInput, models: Models): JsonSchema {
  const distinct = new Map(schemas.map((schema) => {
    const described = models.textInput(schema);
    const text = JSON.stringify(described);
    return [isSettled(text) ? text : described, described];
  }));
  const [first = SEGMENT, ...others] = distinct.values();
  if (others.length > 0) return { allOf: [first, ...others] };
  const isFree = first.type === "string" && first.enum === undefined && first.const === undefined;
  return source === "path" && isFree ? { ...SEGMENT, ...first } : first;
}

/** Pages and clients read what is said of a parameter, rather than of its schema. */
function liftAnnotations(whole: JsonSchema): Pick<OpenAPIParameter, "description" | "deprecated" | "schema"> {
  // A reference is filled in later: a copy of it would stay empty.
  if ("$ref" in whole) return { schema: whole };
  const { description, deprecated, ...schema } = whole;
  return { ...(description !== undefined && { description }), ...(deprecated && { deprecated }), schema };
}

/** Whether a schema can be told from another by its text: references get theirs once all models have names. */
function isSettled(text: string): boolean {
  return !text.includes('"$ref"');
}
