// Ways to look into an OpenAPI document.

import type { OpenAPIDocument } from "../../src/describe/openapi/document.ts";
import type { OpenAPIMethod, OpenAPIOperation, OpenAPIReference } from "../../src/http/operation.ts";

/** An operation, which has to be there. */
export function operationAt(document: OpenAPIDocument, method: OpenAPIMethod, path: string): OpenAPIOperation {
  const operation = document.paths[path]?.[method];
  if (!operation) throw new Error(`The document has no operation ${method} ${path}`);
  return operation;
}

/** The target of a reference, or any other value unchanged. */
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
