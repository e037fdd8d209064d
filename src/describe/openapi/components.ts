/** The components of a document: what its operations refer to. */
import { ErrorReplies, type ErrorShaping } from "./error_replies.ts";
import { Models } from "../json_schema/models.ts";
import type { OpenAPIComponents } from "./document.ts";
import { Parameters } from "./parameters.ts";
import { SecuritySchemes } from "./security.ts";

/** Takes up what operations refer to. */
export class Components {
  readonly models: Models = new Models("#/components/schemas/");
  readonly parameters: Parameters = new Parameters(this.models);
  readonly errors: ErrorReplies;
  readonly security: SecuritySchemes = new SecuritySchemes();

  /**
   * Begins without any.
   *
   * @param errors How the application's error replies are shaped.
   */
  constructor(errors: ErrorShaping) {
    this.errors = new ErrorReplies(errors);
  }

  /** All of them. To be called last, once: it names what references stand for. */
  definitions(): OpenAPIComponents {
    // The replies refer to models: they come first, and stand behind.
    const responses = this.errors.definitions(this.models);
    const schemas = this.models.definitions();
    const securitySchemes = this.security.definitions();
    return { schemas, responses, ...(securitySchemes && { securitySchemes }) };
  }
}
