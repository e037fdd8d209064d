/** Bodies of requests in the document. */
import { BYTES } from "../json_schema/non_json.ts";
import type { BodyInput } from "../route/inputs.ts";
import { type Models, pascalCase } from "../json_schema/models.ts";
import type { OpenAPIRequestBody } from "./document.ts";
import { fieldsOf } from "./form_field.ts";

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
