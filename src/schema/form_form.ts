/**
 * The form of a schema for forms: the same schema, taking a tree of named fields.
 *
 * Texts are read by the same rules as those of a query. What is left empty counts as not sent,
 * wherever a schema can do without it and does not take an empty text: browsers send every field.
 * An object, or a list of objects, may be JSON text.
 */
import * as v from "valibot";
import { isFile, orJson } from "./form_json.ts";
import { FormNode, isUnchosen } from "./form_node.ts";
import { OBJECTS } from "./parts.ts";
import { mapParts, withInput } from "./rebuild.ts";
import { type Dataset, nodeOf, type PipeAction, runSchema, type Schema, type SchemaNode } from "./schema.ts";
import { textParserOf } from "./text_form.ts";

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
