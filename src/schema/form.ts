import { HTTPError } from "../errors.ts";
import { type GivenSchema, isSchema, type Mistake, type Schema, schemaFault } from "./schema.ts";

/** Forms as routes declare them. */

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

/** The fields of a form as a tree: a name may nest, as `address[street]` and `items[0][name]` do. */

/** What one field holds. */
export type FormValue = string | File;

/** One field, with the name under which it was sent. */
export type FormEntry = readonly [name: string, value: FormValue];

/** More than any form nests; a name could be made of nothing but brackets. */
const MAX_DEPTH = 32;

/** A name and what nests in it: `a[b][c]`. */
const NESTED = /^([^[\]]+)((?:\[[^[\]]+\])*)(\[\])?$/;

/** A place in a list. */
const INDEX = /^(?:0|[1-9]\d{0,8})$/;

/** JSON, with the text that it was parsed from. */
export interface FormJson {
  readonly text: string;
  readonly value: unknown;
}

/** The texts of files that hold JSON, or why they were not read. */
const fileTexts = new WeakMap<File, string | HTTPError>();

/**
 * Keeps what a file of JSON holds, since a form is validated without waiting for its files.
 *
 * @param file The file.
 * @param text Its text, or the error that stands for one that is not read.
 */
export function keepFileText(file: File, text: string | HTTPError): void {
  fileTexts.set(file, text);
}

/** What was sent under one name: values, and what nests in it. */
export class FormTree {
  #json: FormJson | null | undefined;
  /** What was sent under the very name, and under the name followed by `[]`. */
  readonly values: FormValue[] = [];
  /** What was sent below it, by the next part of the name. */
  readonly parts: Map<string, FormTree> = new Map();

  /**
   * Makes the tree of a form.
   *
   * @param entries The fields, in the order in which they were sent.
   * @throws {HTTPError} With 400, when a name nests too deeply.
   */
  static of(entries: Iterable<FormEntry>): FormTree {
    const root = new FormTree();
    for (const [name, value] of entries) {
      let node = root;
      for (const part of fieldPath(name)) node = node.#open(part);
      node.values.push(value);
    }
    return root;
  }

  /** Whether it is one field that was left empty: no text, or no file chosen, for which browsers send one without name and content. */
  get isEmpty(): boolean {
    const [value, ...others] = this.values;
    if (others.length > 0 || this.parts.size > 0) return false;
    return value === "" || (value instanceof File && isNoFileChosen(value));
  }

  /** Whether it is one name that was sent several times. */
  get isRepeated(): boolean {
    return this.values.length > 1 && this.parts.size === 0;
  }

  /** The one value that was sent; the node itself where there is not just that. */
  get single(): FormValue | this {
    const [value] = this.values;
    return value === undefined || this.values.length > 1 || this.parts.size > 0 ? this : value;
  }

  /**
   * The JSON that was sent as the one value; undefined where it is none.
   *
   * @throws {HTTPError} When it is in a file that was not read.
   */
  get json(): FormJson | undefined {
    if (this.#json === undefined) this.#json = parseJson(textOf(this.single)) ?? null;
    return this.#json ?? undefined;
  }

  /** What was sent as a list, by repeated names or by indices, the node itself where it is none. */
  get items(): readonly FormTree[] | this {
    const indexed = [...this.parts];
    if (!indexed.every(([key]) => INDEX.test(key))) return this;
    const inOrder = indexed.toSorted(([one], [other]) => Number(one) - Number(other));
    return [...this.values.map(nodeOfValue), ...inOrder.map(([, node]) => node)];
  }

  /** What was sent as an object, whose keys are the client's choice; the node itself where it is none. */
  get fields(): Record<string, FormTree> | this {
    if (this.values.length > 0) return this;
    return Object.assign(Object.create(null), Object.fromEntries(this.parts));
  }

  /** What was sent, where nothing tells what it should be: a value, a list, or an object. */
  toPlain(): unknown {
    const { single, items } = this;
    if (single !== this) return single;
    if (items !== this && this.#isFilled) return (items as readonly FormTree[]).map((item) => item.toPlain());
    const plain: Record<string, unknown> = Object.create(null);
    for (const [key, node] of this.parts) plain[key] = node.toPlain();
    if (this.values.length > 0) plain[""] = this.values;
    return plain;
  }

  get #isFilled(): boolean {
    return this.values.length > 0 || this.parts.size > 0;
  }

  #open(part: string): FormTree {
    let node = this.parts.get(part);
    if (!node) this.parts.set(part, node = new FormTree());
    return node;
  }
}

/** Whether a file stands for none: browsers send an empty one for a field in which nothing was chosen. */
export function isNoFileChosen({ name, size }: File): boolean {
  return name === "" && size === 0;
}

/** The parts of a name; one that is not written so is a part as it stands. */
function fieldPath(name: string): readonly string[] {
  const [, first, rest] = NESTED.exec(name) ?? [];
  if (first === undefined || !rest) return [first ?? name];
  const parts = [first, ...rest.slice(1, -1).split("][")];
  if (parts.length > MAX_DEPTH) throw new HTTPError(400, `The form nests more than ${MAX_DEPTH} names`);
  return parts;
}

function textOf(value: unknown): string | undefined {
  const text = value instanceof File ? fileTexts.get(value) : value;
  if (text instanceof HTTPError) throw text;
  return typeof text === "string" ? text : undefined;
}

function parseJson(text: string | undefined): FormJson | undefined {
  try {
    return text === undefined ? undefined : { text, value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function nodeOfValue(value: FormValue): FormTree {
  const node = new FormTree();
  node.values.push(value);
  return node;
}
