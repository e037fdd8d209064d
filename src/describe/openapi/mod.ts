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

export type { JsonSchema, JsonType } from "../../schema/json_schema.ts";
export type {
  OpenAPIComponents,
  OpenAPIContact,
  OpenAPIDocument,
  OpenAPIInfo,
  OpenAPILicense,
  OpenAPIPathItem,
  OpenAPITag,
} from "./document.ts";
export type {
  OpenAPICallback,
  OpenAPICallbackItem,
  OpenAPIEncoding,
  OpenAPIExample,
  OpenAPIExtensions,
  OpenAPIExternalDocs,
  OpenAPIHeader,
  OpenAPILink,
  OpenAPIMediaType,
  OpenAPIMethod,
  OpenAPIOperation,
  OpenAPIParameter,
  OpenAPIReference,
  OpenAPIRequestBody,
  OpenAPIResponse,
  OpenAPIServer,
  OpenAPIServerVariable,
} from "../../http/operation.ts";
export type { DocumentModels, DocumentOptions } from "./document_options.ts";
