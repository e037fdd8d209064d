/** Forms as routes declare them. */
import type { GivenSchema, Mistake } from "./declared.ts";
import { isSchema, type Schema, schemaFault } from "./schema.ts";

/** A form, made by {@linkcode Form}. */
export interface FormSchema<Value = unknown> {
  /** Marks a form. */
  readonly kind: "form";
  /** What its fields are. */
  readonly schema: Schema<unknown, Value>;
}

/**
 * Declares a form as the body of a route, under `form`: urlencoded or multipart, whichever the client sends.
 *
 * - Texts are read as those of a query are: numbers, booleans and so on, by the schema.
 * - Names nest in brackets: `address[street]`, `items[0][name]`. A list takes a name that is sent several times, as `tag`, as
 *   `tag[]`, or with its places, `tag[0]`.
 * - An object, or a list of objects, may be JSON text as well, as most clients send it: as a text,
 *   or as a part of type `application/json`. A list is one text, or one for each object. The values
 *   in it have the types of JSON, and the bounds of JSON bodies hold. Objects with files are sent
 *   in brackets only.
 * - A field that is left empty counts as not sent where the schema makes it optional and does not take an empty text; so does a
 *   field for files in which none was chosen.
 * - Files are declared with {@linkcode UploadFile}, at any depth.
 *
 * @param schema An object, whose keys are the names of the fields.
 * @throws {TypeError} When it is no schema.
 *
 * @example A form with a list and an object
 * ```ts
 * import { App, Form } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const Order = v.object({
 *   title: v.string(),
 *   copies: v.optional(v.number(), 1),
 *   tags: v.optional(v.array(v.string()), []),
 *   address: v.object({ city: v.string() }),
 * });
 *
 * const app = new App();
 * app.post("/orders", { form: Form(Order) }, async (_request, { form }) => form);
 * const body = new URLSearchParams("title=Emma&copies=&tags=new&tags=used&address[city]=Bath");
 * const response = await app.fetch(new Request("http://localhost/orders", { method: "POST", body }));
 * const order = { title: "Emma", copies: 1, tags: ["new", "used"], address: { city: "Bath" } };
 * assertEquals(await response.json(), order);
 *
 * body.delete("address[city]");
 * body.set("address", '{ "city": "Bath" }');
 * const again = await app.fetch(new Request("http://localhost/orders", { method: "POST", body }));
 * assertEquals(await again.json(), order);
 * ```
 */
export function Form<Value>(
  schema: GivenSchema<unknown, Value> | Mistake<"Give one valibot schema, such as v.object({ … })">,
): FormSchema<Value> {
  if (!isSchema(schema)) throw new TypeError(`Cannot declare a form: the argument ${schemaFault(schema)}`);
  return { kind: "form", schema };
}

/** Whether a value was made by {@linkcode Form}. */
export function isForm(value: unknown): value is FormSchema {
  return typeof value === "object" && value !== null && (value as Partial<FormSchema>).kind === "form" &&
    isSchema((value as Partial<FormSchema>).schema);
}
