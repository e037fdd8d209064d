/**
 * The types of the OpenAPI document that `app.openapi()` returns.
 *
 * @example Reading the document
 * ```ts
 * import { App } from "@webfw/core";
 * import type { OpenAPIOperation } from "@webfw/core/openapi";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/books", { operationId: "listBooks" }, async () => []);
 *
 * const operation: OpenAPIOperation | undefined = app.openapi().paths["/books"]?.get;
 * assertEquals(operation?.operationId, "listBooks");
 * ```
 *
 * @module
 */

export type { JsonSchema, JsonType } from "../json_schema/json_schema.ts";
export type {
  OpenAPICallback,
  OpenAPICallbackItem,
  OpenAPIComponents,
  OpenAPIContact,
  OpenAPIDocument,
  OpenAPIEncoding,
  OpenAPIExample,
  OpenAPIExtensions,
  OpenAPIExternalDocs,
  OpenAPIHeader,
  OpenAPIInfo,
  OpenAPILicense,
  OpenAPILink,
  OpenAPIMediaType,
  OpenAPIMethod,
  OpenAPIOperation,
  OpenAPIParameter,
  OpenAPIPathItem,
  OpenAPIReference,
  OpenAPIRequestBody,
  OpenAPIResponse,
  OpenAPIServer,
  OpenAPIServerVariable,
  OpenAPITag,
} from "./document.ts";
export type { DocumentOptions } from "./document_options.ts";
