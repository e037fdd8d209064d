/** Bodies of requests in the document. */
import type { BodyInput } from "../route/inputs.ts";
import type { Models } from "../json_schema/models.ts";
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
    // OpenAPI 3.1 describes bytes by no schema.
    case "application/octet-stream":
      return { required, content: { [mediaType]: {} } };
    case "application/json":
      return { required, content: { [mediaType]: { schema: models.jsonInput(schema, `${operationId}Body`) } } };
  }
  const { encoding, nested } = fieldsOf(schema);
  return {
    ...(nested !== undefined && { description: `Names nest in brackets, as in \`${nested}\`.` }),
    required,
    content: {
      [mediaType]: {
        schema: models.jsonInput(schema, `${operationId}Form`),
        ...(Object.keys(encoding).length > 0 && { encoding }),
      },
    },
  };
}
