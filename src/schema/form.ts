/** Forms: their declaration, and the tree of named fields of a request. */
import { HTTPError } from "../base/errors.ts";
import { type GivenSchema, isSchema, type Mistake, type Schema, schemaFault } from "./schema.ts";

/** @ignore A form, made by {@linkcode Form}. */
export interface FormSchema<Value = unknown, Input = unknown> {
  /** Distinguishes forms. */
  readonly kind: "form";
  /** The schema of its fields. */
  readonly schema: Schema<Input, Value>;
}

/**
 * Declares a form as the body of a route: urlencoded or multipart. Strings are converted as in a
 * query, also `on` of a checkbox, and `.5` and `007` of a number field.
 *
 * - An empty optional field, or one without a chosen file, counts as not sent.
 * - Names nest in brackets: `address[street]`, `items[0][name]`. An array repeats its name, `tag`
 * or `tag[]`, or has indices.
 * - Objects and arrays of objects without files can be JSON: in a text field, or a part of the type
 * `application/json`.
 * - {@linkcode UploadFile} declares files, at any depth.
 *
 * @param schema An object schema. Its keys are the names of the fields.
 * @throws {TypeError} If it is not a schema.
 *
 * @example A form with an array and an object
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
 * ```
 *
 * @category Routes
 */
export function Form<Value, Input>(
  schema: GivenSchema<Input, Value> | Mistake<"Give one valibot schema, such as v.object({ … })">,
): FormSchema<Value, Input> {
  if (!isSchema(schema)) throw new TypeError(`Cannot declare a form: the argument ${schemaFault(schema)}`);
  return { kind: "form", schema };
}

export function isForm(value: unknown): value is FormSchema {
  return typeof value === "object" && value !== null && (value as Partial<FormSchema>).kind === "form" &&
    isSchema((value as Partial<FormSchema>).schema);
}

export type FormValue = string | File;

export type FormEntry = readonly [name: string, value: FormValue];

/** The limit of nested names. */
const MAX_DEPTH = 32;

/** `a[b][c]`. */
const NESTED = /^([^[\]]+)((?:\[[^[\]]+\])*)(\[\])?$/;

const INDEX = /^(?:0|[1-9]\d{0,8})$/;

interface FormJson {
  readonly text: string;
  readonly value: unknown;
}

const fileTexts = new WeakMap<File, string | HTTPError>();

/** Keeps the text of a JSON file, or the error for a large one: validation is sync. */
export function keepFileText(file: File, text: string | HTTPError): void {
  fileTexts.set(file, text);
}

/** A form, or the values and nested fields of one name. */
export class FormTree {
  #json: FormJson | null | undefined;
  /** Of the name, and of the name with `[]`. */
  readonly values: FormValue[] = [];
  /** By the next part of their names. */
  readonly children: Map<string, FormTree> = new Map();

  /** @throws {HTTPError} With 400, if a name nests too deeply. */
  static of(entries: Iterable<FormEntry>): FormTree {
    const root = new FormTree();
    for (const [name, value] of entries) {
      let tree = root;
      for (const part of fieldPath(name)) tree = tree.#child(part);
      tree.values.push(value);
    }
    return root;
  }

  /** One empty field, or no chosen file. */
  get isEmpty(): boolean {
    const [value, ...others] = this.values;
    if (others.length > 0 || this.children.size > 0) return false;
    return value === "" || (value instanceof File && isNoFileChosen(value));
  }

  /** Repeated without nested fields. */
  get isRepeated(): boolean {
    return this.values.length > 1 && this.children.size === 0;
  }

  /** The tree itself if there is not exactly one value. */
  get single(): FormValue | this {
    const [value] = this.values;
    return value === undefined || this.values.length > 1 || this.children.size > 0 ? this : value;
  }

  /** Undefined if the single value is not JSON. Throws for a file that is too large. */
  get json(): FormJson | undefined {
    if (this.#json === undefined) this.#json = parseJson(textOf(this.single)) ?? null;
    return this.#json ?? undefined;
  }

  /** Repeated or indexed values; the tree itself if it is no array. */
  get items(): readonly FormTree[] | this {
    const indexed = [...this.children];
    if (!indexed.every(([key]) => INDEX.test(key))) return this;
    const inOrder = indexed.toSorted(([one], [other]) => Number(one) - Number(other));
    return [...this.values.map(leaf), ...inOrder.map(([, child]) => child)];
  }

  /** Without a prototype; the tree itself if it has values. */
  get fields(): Record<string, FormTree> | this {
    if (this.values.length > 0) return this;
    return Object.assign(Object.create(null), Object.fromEntries(this.children));
  }

  /** Plain values, arrays and objects, without a schema. */
  toPlain(): unknown {
    const { single, items } = this;
    if (single !== this) return single;
    if (items !== this && this.#isFilled) return (items as readonly FormTree[]).map((item) => item.toPlain());
    const plain: Record<string, unknown> = Object.create(null);
    for (const [key, child] of this.children) plain[key] = child.toPlain();
    if (this.values.length > 0) plain[""] = this.values;
    return plain;
  }

  get #isFilled(): boolean {
    return this.values.length > 0 || this.children.size > 0;
  }

  #child(part: string): FormTree {
    return this.children.getOrInsertComputed(part, () => new FormTree());
  }
}

/** Browsers send a file without name and content. */
export function isNoFileChosen({ name, size }: File): boolean {
  return name === "" && size === 0;
}

/** Brackets around no name or index, such as `rows[][id]`. */
export function hasStrayBrackets(name: string): boolean {
  return /[[\]]/.test(name) && !NESTED.test(name);
}

/** With stray brackets, the name is one part. */
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

function leaf(value: FormValue): FormTree {
  const tree = new FormTree();
  tree.values.push(value);
  return tree;
}
