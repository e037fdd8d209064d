import * as v from "valibot";
import {
  type Dataset,
  type GivenSchema,
  isSchema,
  LISTS,
  type Mistake,
  nodeOf,
  OBJECTS,
  partsOf,
  type PipeAction,
  runSchema,
  type Schema,
  schemaFault,
  type SchemaIssue,
  type SchemaNode,
} from "./schema.ts";
import { mapParts, withInput } from "./rebuild.ts";
import { textParserOf } from "./text_form.ts";
import { HTTPError, type Issue } from "../errors.ts";
import { toJsonForm } from "./json_form.ts";
import { findOverflows } from "./json_number.ts";
import { lazyTarget } from "./lazy_schema.ts";
import { explaining, type RunConfig } from "./run_config.ts";

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
export function keepText(file: File, text: string | HTTPError): void {
  fileTexts.set(file, text);
}

/** What was sent under one name: values, and what nests in it. */
export class FormNode {
  #json: FormJson | null | undefined;
  /** What was sent under the very name, and under the name followed by `[]`. */
  readonly values: FormValue[] = [];
  /** What was sent below it, by the next part of the name. */
  readonly parts: Map<string, FormNode> = new Map();

  /**
   * Makes the tree of a form.
   *
   * @param entries The fields, in the order in which they were sent.
   * @throws {HTTPError} With 400, when a name nests too deeply.
   */
  static of(entries: Iterable<FormEntry>): FormNode {
    const root = new FormNode();
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
    return value === "" || (value instanceof File && isUnchosen(value));
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
  get items(): readonly FormNode[] | this {
    const indexed = [...this.parts];
    if (!indexed.every(([key]) => INDEX.test(key))) return this;
    const inOrder = indexed.toSorted(([one], [other]) => Number(one) - Number(other));
    return [...this.values.map(nodeOfValue), ...inOrder.map(([, node]) => node)];
  }

  /** What was sent as an object, whose keys are the client's choice; the node itself where it is none. */
  get fields(): Record<string, FormNode> | this {
    if (this.values.length > 0) return this;
    return Object.assign(Object.create(null), Object.fromEntries(this.parts));
  }

  /** What was sent, where nothing tells what it should be: a value, a list, or an object. */
  toPlain(): unknown {
    const { single, items } = this;
    if (single !== this) return single;
    if (items !== this && this.#isFilled) return (items as readonly FormNode[]).map((item) => item.toPlain());
    const plain: Record<string, unknown> = Object.create(null);
    for (const [key, node] of this.parts) plain[key] = node.toPlain();
    if (this.values.length > 0) plain[""] = this.values;
    return plain;
  }

  get #isFilled(): boolean {
    return this.values.length > 0 || this.parts.size > 0;
  }

  #open(part: string): FormNode {
    let node = this.parts.get(part);
    if (!node) this.parts.set(part, node = new FormNode());
    return node;
  }
}

/** Whether a file stands for none: browsers send an empty one for a field in which nothing was chosen. */
export function isUnchosen({ name, size }: File): boolean {
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

function nodeOfValue(value: FormValue): FormNode {
  const node = new FormNode();
  node.values.push(value);
  return node;
}

/**
 * The form of a schema for forms: the same schema, taking a tree of named fields.
 *
 * Texts are read by the same rules as those of a query. What is left empty counts as not sent,
 * wherever a schema can do without it and does not take an empty text: browsers send every field.
 * An object, or a list of objects, may be JSON text.
 */

/** Kinds that take named fields, or may. */
const FIELDS = new Set([...OBJECTS, "any", "unknown", "custom"]);

/** Forms that were made: a lazy schema asks for the same ones at every value. */
const forms = new WeakMap<SchemaNode, SchemaNode>();

/**
 * Makes the form for forms of a schema. It takes a {@linkcode FormNode}.
 *
 * @param schema What was declared.
 * @param name What it was declared for, for the message.
 * @throws {TypeError} When no form can satisfy a part of the schema.
 */
export function toFormForm(schema: Schema, name: string): Schema {
  const node = nodeOf(schema);
  if (!takesFields(node)) throw new TypeError(`Cannot bind ${name}: a form has named fields, declare an object`);
  return formOf(node, name);
}

/** Whether an input is one name that was sent several times, where a single value was wanted. */
export function isRepeated(input: unknown): boolean {
  return input instanceof FormNode && input.isRepeated;
}

function formOf(node: SchemaNode, name: string): SchemaNode {
  const known = forms.get(node);
  if (known) return known;
  const form = makeForm(node, name);
  forms.set(node, form);
  return form;
}

/** A schema that is there to refuse null has none made of text, which it would not see: a default within would stand in for it. */
function makeForm(node: SchemaNode, name: string, takesNull = true): SchemaNode {
  const map = (part: SchemaNode): SchemaNode => formOf(part, name);
  const mayTakeNull = takesNull && node.type !== "non_nullable" && node.type !== "non_nullish";
  const mapSame = mayTakeNull ? map : (part: SchemaNode): SchemaNode => makeForm(part, name, false);
  if (node.pipe) return mapParts(node, mapSame);
  const parse = textParserOf(node);
  if (parse) return withInput(node, (value) => onText(toSingle(value), parse));
  switch (node.type) {
    case "string":
    case "undefined":
    case "never":
      return withInput(node, toSingle);
    case "any":
    case "unknown":
    case "custom":
      return withInput(node, toPlain);
    case "file":
    case "blob":
    case "instance":
      if (isFile(node)) return withInput(node, toFile);
      break;
    case "object":
    case "loose_object":
    case "strict_object":
    case "object_with_rest":
    case "record":
    case "variant":
      return orJson(fieldsForm(mapParts(node, map), name), node, name);
    case "array":
    case "tuple":
    case "loose_tuple":
    case "strict_tuple":
    case "tuple_with_rest":
      return orJson(withInput(mapParts(node, map), toItems), node, name);
    case "nullable":
    case "nullish":
      if (!takesNull) return mapParts(node, mapSame);
      return withInput(mapParts(node, map), (value) => toSingle(value) === "null" ? null : value);
    case "optional":
    case "undefinedable":
    case "exact_optional":
    case "non_optional":
    case "non_nullable":
    case "non_nullish":
    case "union":
    case "intersect":
      return mapParts(node, mapSame);
    case "lazy":
      return mapParts(node, map);
  }
  const cure = node.type === "date" ? ", use v.pipe(v.string(), v.isoTimestamp(), v.toDate())" : "";
  throw new TypeError(`Cannot bind ${name}: a schema of kind "${node.type}" cannot be read from a form${cure}`);
}

/** The text or file of a field that was sent once. */
function toSingle(value: unknown): unknown {
  return value instanceof FormNode ? value.single : value;
}

/** What was sent, where the schema does not tell what it should be. */
function toPlain(value: unknown): unknown {
  return value instanceof FormNode ? value.toPlain() : value;
}

function toFile(value: unknown): unknown {
  const single = toSingle(value);
  return single instanceof File && isUnchosen(single) ? undefined : single;
}

function onText(value: unknown, parse: (text: string) => unknown): unknown {
  return typeof value === "string" ? parse(value) : value;
}

/** A field of several files in which none was chosen holds none. */
function toItems(value: unknown): unknown {
  if (!(value instanceof FormNode)) return value;
  const { items } = value;
  return items === value ? value : (items as readonly FormNode[]).filter((item) => !isNoFile(item));
}

function isNoFile({ isEmpty, single }: FormNode): boolean {
  return isEmpty && single instanceof File;
}

/** An object has its empty fields taken out, which an option of a variant does by itself. */
function fieldsForm(form: SchemaNode, name: string): SchemaNode {
  const optional = Object.entries(form.entries ?? {}).filter(([key, entry]) => {
    if (/[[\]]/.test(key)) {
      throw new TypeError(`Cannot bind ${name}: brackets nest, a field cannot be named "${key}"`);
    }
    return ["optional", "exact_optional", "nullish"].includes(entry.type);
  });
  return withInput(form, (value) => {
    const fields = value instanceof FormNode ? value.fields : value;
    // An object schema would take any object, this one too.
    if (fields instanceof FormNode) return "a single value";
    if (typeof fields !== "object" || fields === null) return fields;
    const filled: Record<string, unknown> = Object.assign(Object.create(null), fields);
    for (const [key, entry] of optional) {
      const field = filled[key];
      if (field instanceof FormNode && field.isEmpty && refuses(entry.wrapped!, field)) delete filled[key];
    }
    if (form.type !== "loose_object") return filled;
    for (const key of Object.keys(filled)) {
      if (!Object.hasOwn(form.entries!, key)) filled[key] = toPlain(filled[key]);
    }
    return filled;
  });
}

/** Whether a schema refuses a value; of one that is async, whether what comes before it has to be waited for does. */
function refuses(node: SchemaNode, value: unknown): boolean {
  if (!node.async) return (runSchema(node, value, "first") as Dataset).issues !== undefined;
  if (!node.pipe) return node.wrapped !== undefined && refuses(node.wrapped, value);
  const steps = node.pipe as readonly (PipeAction & { readonly async: boolean })[];
  const isSync = steps.findIndex((step) => step.async);
  const pipe = v.pipe as unknown as (...steps: readonly unknown[]) => SchemaNode;
  return isSync > 0 && refuses(pipe(...steps.slice(0, isSync)), value);
}

/** Whether a schema may take named fields. A lazy one is told when it is run. */
function takesFields(node: SchemaNode): boolean {
  if (node.type === "lazy") return true;
  if (node.wrapped) return takesFields(node.wrapped);
  if (node.type === "union" || node.type === "intersect") return (node.options as SchemaNode[]).some(takesFields);
  return FIELDS.has(node.type);
}

/**
 * Objects of forms, and lists of them, that were sent as JSON text in place of names in brackets.
 */

/** The answers of {@linkcode takesJson}: a form asks for them at every request. */
const answers = new WeakMap<SchemaNode, boolean>();

/**
 * Whether every value of a schema is an object or a list of objects, and JSON can carry it. A form
 * takes such a value as JSON text, too.
 */
export function takesJson(node: SchemaNode): boolean {
  let answer = answers.get(node);
  if (answer === undefined) answers.set(node, answer = holdsObjects(node, new Set()) && isJson(node, new Set()));
  return answer;
}

/** Whether a schema takes JSON text somewhere within its values. */
export function holdsJson(node: SchemaNode, seen: Set<SchemaNode> = new Set()): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  return partsBehind(node).some((part) => takesJson(part) || holdsJson(part, seen));
}

/** Whether a schema of files takes those of the platform. */
export function isFile(node: SchemaNode): boolean {
  if (node.type === "file" || node.type === "blob") return true;
  const { class: Class } = node as SchemaNode & { readonly class?: unknown };
  return node.type === "instance" && (Class === File || Class === Blob);
}

/**
 * Lets a form take JSON text where that is the one value that was sent.
 *
 * The values in the text have the types of JSON: `"5"` is no number, as it is where it was sent
 * under a name of its own.
 *
 * @param form The form for names in brackets.
 * @param declared What the form was made of: an object or a list.
 * @param name What it was declared for, for messages.
 */
export function orJson(form: SchemaNode, declared: SchemaNode, name: string): SchemaNode {
  const isList = LISTS.has(declared.type);
  return {
    ...form,
    "~run"(dataset, config) {
      const json = dataset.value instanceof FormNode ? dataset.value.json : undefined;
      const isWanted = json !== undefined && Array.isArray(json.value) === isList && takesJson(declared);
      if (!isWanted) return form["~run"](dataset, config);
      const overflows = findOverflows(json.text, json.value);
      if (overflows.length > 0) return tooLarge(json.value, overflows, config);
      return nodeOf(toJsonForm(declared, name))["~run"]({ value: json.value }, bothOf(config, explaining(json.value)));
    },
  };
}

function holdsObjects(node: SchemaNode, seen: Set<SchemaNode>): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  const isIn = (part: SchemaNode): boolean => holdsObjects(part, seen);
  if (OBJECTS.has(node.type)) return true;
  if (LISTS.has(node.type)) {
    const { item, items = [], rest } = node;
    const parts = [item, ...items, rest].filter((part) => part !== undefined);
    return parts.length > 0 && parts.every(isIn);
  }
  if (node.wrapped) return isIn(node.wrapped);
  const options = (node.options ?? []) as readonly SchemaNode[];
  if (node.type === "intersect") return options.some(isIn);
  if (node.type === "union") {
    const values = options.filter(({ type }) => type !== "null" && type !== "undefined");
    return values.length > 0 && values.every(isIn);
  }
  const target = node.type === "lazy" ? lazyTarget(node) : undefined;
  return target !== undefined && isIn(target);
}

/**
 * Whether JSON can carry the values: not where a file is among them, or a schema is only known by
 * its value.
 */
function isJson(node: SchemaNode, seen: Set<SchemaNode>): boolean {
  if (seen.has(node)) return true;
  seen.add(node);
  if (isFile(node) || (node.type === "lazy" && lazyTarget(node) === undefined)) return false;
  return partsBehind(node).every((part) => isJson(part, seen));
}

function partsBehind(node: SchemaNode): readonly SchemaNode[] {
  const target = node.type === "lazy" ? lazyTarget(node) : undefined;
  return target ? [target] : partsOf(node);
}

/**
 * Stops at the first fault where one of the two does: the form may be small beside a file of JSON.
 */
function bothOf(one: RunConfig, other: RunConfig): RunConfig {
  return {
    lang: undefined,
    message: undefined,
    abortPipeEarly: undefined,
    get abortEarly() {
      return one.abortEarly || other.abortEarly;
    },
  };
}

function tooLarge(value: unknown, overflows: readonly Issue[], config: RunConfig): Dataset {
  const issues: SchemaIssue[] = [];
  for (const { path, message, expected = null } of overflows) {
    issues.push({
      kind: "validation",
      type: "finite",
      input: Infinity,
      expected,
      received: "Infinity",
      message,
      // A list that valibot adds to; undefined where it is empty.
      path: path.length > 0 ? path.map((key) => ({ key })) : undefined,
    });
    if (config.abortEarly) break;
  }
  return { typed: false, value, issues: issues as [SchemaIssue, ...SchemaIssue[]] };
}
