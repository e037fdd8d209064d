// The document of an application, and ways to look into one.

import type { App } from "@webfw/core";
import type { ErrorShape } from "../../src/describe/error_replies.ts";
import { openapiDocument } from "../../src/describe/openapi.ts";
import type {
  OpenAPIDocument,
  OpenAPIMethod,
  OpenAPIOperation,
  OpenAPIReference,
} from "../../src/describe/openapi_document.ts";
import { registryOf } from "../../src/router.ts";
import { assignOperationIds } from "../../src/routing/operation_id.ts";

/** The document of an application. */
export function documentOf<State>(app: App<State>, errors?: ErrorShape): OpenAPIDocument {
  const { title, version, description } = app;
  return openapiDocument({ title, version, description, routes: assignOperationIds(registryOf(app).routes), errors });
}

/** An operation, which has to be there. */
export function operationAt(document: OpenAPIDocument, method: OpenAPIMethod, path: string): OpenAPIOperation {
  const operation = document.paths[path]?.[method];
  if (!operation) throw new Error(`The document has no operation ${method} ${path}`);
  return operation;
}

/** What a reference points to, and anything else as it is. */
export function resolve<T>(document: OpenAPIDocument, value: T | OpenAPIReference): T {
  if (typeof value !== "object" || value === null || !("$ref" in value)) return value as T;
  const steps = value.$ref.replace(/^#\//, "").split("/");
  let target: unknown = document;
  for (const step of steps) {
    target = (target as Record<string, unknown>)[decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  if (target === undefined) throw new Error(`Nothing is at ${value.$ref}`);
  return resolve(document, target as T | OpenAPIReference);
}
