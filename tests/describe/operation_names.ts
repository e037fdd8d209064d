// What every generated client must have.

import type { OpenAPIDocument } from "../../src/describe/openapi/document.ts";

const METHODS: ReadonlySet<string> = new Set(["get", "put", "post", "delete", "options", "head", "patch", "trace"]);

/**
 * The names of all operations as lower-case letters and digits, since generators write them
 * differently.
 */
export function operationNames(document: OpenAPIDocument): string[] {
  const names = Object.values(document.paths).flatMap((item) =>
    Object.entries(item).flatMap(([key, value]) => METHODS.has(key) ? [value.operationId] : [])
  );
  return names.map(plainName).sort();
}

/** A name without the differences between languages. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}
