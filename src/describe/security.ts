/**
 * What the document says of credentials: that a route, or a dependency of it, reads the `Authorization` header. OpenAPI has a header
 * of that name ignored as a parameter, and pages and clients send it for a security scheme only.
 */
import type { ParameterInput } from "./inputs.ts";
import type { OpenAPIOperation, OpenAPISecurityScheme } from "./openapi_document.ts";

const NAME = "authorization";

/** The schemes that {@linkcode securityOf} names. */
export const SECURITY_SCHEMES: Readonly<Record<string, OpenAPISecurityScheme>> = {
  [NAME]: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "The whole value of the header, with its scheme: `Bearer …`, `Basic …`.",
  },
};

/** What a route asks for; undefined where none of its inputs tells. */
export function securityOf(inputs: readonly ParameterInput[]): OpenAPIOperation["security"] {
  const header = inputs.find(({ in: source, name }) => source === "header" && name.toLowerCase() === NAME);
  if (!header) return undefined;
  return header.isRequired ? [{ [NAME]: [] }] : [{}, { [NAME]: [] }];
}
