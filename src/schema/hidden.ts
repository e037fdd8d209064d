/** Inputs that are validated and not documented. */
import { isSchema, nodeOf, type Schema, schemaFault } from "./schema.ts";

/** @ignore The mark of a schema that {@linkcode hidden} has made. */
export interface Hidden {
  /** Marks the schema. */
  readonly "~hidden": true;
}

/**
 * Hides a parameter of the query, a header or a cookie: it is validated like any other, but neither
 * the document, agents nor the types of the client have it. It is no protection: any client that
 * knows the name can send it.
 *
 * @throws {TypeError} If the argument is no schema.
 *
 * @example A switch for operators
 * ```ts
 * import { App, hidden } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * const query = { trace: hidden(v.optional(v.boolean(), false)) };
 * app.get("/books", { query }, async (_request, { trace }) => trace);
 *
 * assertEquals(await (await app.fetch(new Request("http://localhost/books?trace=true"))).json(), true);
 * assertEquals(app.openapi().paths["/books"]?.get?.parameters, undefined);
 * ```
 *
 * @category Routes
 */
// With the type of the schema itself, which the entries of `v.strictObject()` need.
export function hidden<Given extends Schema>(schema: Given): Given & Hidden {
  if (!isSchema(schema)) throw new TypeError(`Cannot hide an input: the argument ${schemaFault(schema)}`);
  return { ...schema, "~hidden": true };
}

export function isHidden(schema: Schema): boolean {
  return "~hidden" in schema;
}

/** Whether a schema around a hidden one is not hidden itself: `v.optional(hidden(…))`. */
export function wrapsHidden(schema: Schema): boolean {
  if (isHidden(schema)) return false;
  const { wrapped, item } = nodeOf(schema);
  return [wrapped, item].some((inner) => inner !== undefined && (isHidden(inner) || wrapsHidden(inner)));
}
