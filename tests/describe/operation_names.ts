// What clients that are generated have to have of a document.

import type { OpenAPIDocument } from "../../src/describe/openapi/document.ts";

const METHODS: ReadonlySet<string> = new Set(["get", "put", "post", "delete", "options", "head", "patch", "trace"]);

/**
 * The names of all operations as letters and digits in lower case: the generators write them in
 * ways of their own.
 */
export function operationNames(document: OpenAPIDocument): string[] {
  const names = Object.values(document.paths).flatMap((item) =>
    Object.entries(item).flatMap(([key, value]) => METHODS.has(key) ? [value.operationId] : [])
  );
  return names.map(plainName).sort();
}

/** A name without what differs between languages. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}
