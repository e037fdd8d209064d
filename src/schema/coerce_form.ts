import * as v from "valibot";
import {
  type Dataset,
  explaining,
  lazyTarget,
  LISTS,
  nodeOf,
  OBJECTS,
  partsOf,
  type PipeAction,
  type RunConfig,
  runSchema,
  type Schema,
  type SchemaIssue,
  type SchemaNode,
} from "./schema.ts";
import { FormTree, isNoFileChosen } from "./form.ts";
import { mapSchema, preprocess } from "./map_schema.ts";
import { textParserOf } from "./coerce_text.ts";
import type { Issue } from "../errors.ts";
import { coerceJson, findOverflows } from "./coerce_json.ts";

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
 * Makes the form for forms of a schema. It takes a {@linkcode FormTree}.
 *
 * @param schema What was declared.
 * @param name What it was declared for, for the message.
 * @throws {TypeError} When no form can satisfy a part of the schema.
 */
export function coerceForm(schema: Schema, name: string): Schema {
  const node = nodeOf(schema);
  if (!takesFields(node)) throw new TypeError(`Cannot bind ${name}: a form has named fields, declare an object`);
  return formOf(node, name);
}

/** Whether an input is one name that was sent several times, where a single value was wanted. */
export function isRepeated(input: unknown): boolean {
  return input instanceof FormTree && input.isRepeated;
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
  if (node.pipe) return mapSchema(node, mapSame);
  const parse = textParserOf(node);
  if (parse) return preprocess(node, (value) => onText(toSingle(value), parse));
  switch (node.type) {
    case "string":
    case "undefined":
    case "never":
      return preprocess(node, toSingle);
    case "any":
    case "unknown":
    case "custom":
      return preprocess(node, toPlain);
    case "file":
    case "blob":
    case "instance":
      if (isFile(node)) return preprocess(node, toFile);
      break;
    case "object":
    case "loose_object":
    case "strict_object":
    case "object_with_rest":
    case "record":
    case "variant":
      return orJson(fieldsForm(mapSchema(node, map), name), node, name);
    case "array":
    case "tuple":
    case "loose_tuple":
    case "strict_tuple":
    case "tuple_with_rest":
      return orJson(preprocess(mapSchema(node, map), toItems), node, name);
    case "nullable":
    case "nullish":
      if (!takesNull) return mapSchema(node, mapSame);
      return preprocess(mapSchema(node, map), (value) => toSingle(value) === "null" ? null : value);
    case "optional":
    case "undefinedable":
    case "exact_optional":
    case "non_optional":
    case "non_nullable":
    case "non_nullish":
    case "union":
    case "intersect":
      return mapSchema(node, mapSame);
    case "lazy":
      return mapSchema(node, map);
  }
  const cure = node.type === "date" ? ", use v.pipe(v.string(), v.isoTimestamp(), v.toDate())" : "";
  throw new TypeError(`Cannot bind ${name}: a schema of kind "${node.type}" cannot be read from a form${cure}`);
}

/** The text or file of a field that was sent once. */
function toSingle(value: unknown): unknown {
  return value instanceof FormTree ? value.single : value;
}

/** What was sent, where the schema does not tell what it should be. */
function toPlain(value: unknown): unknown {
  return value instanceof FormTree ? value.toPlain() : value;
}

function toFile(value: unknown): unknown {
  const single = toSingle(value);
  return single instanceof File && isNoFileChosen(single) ? undefined : single;
}

function onText(value: unknown, parse: (text: string) => unknown): unknown {
  return typeof value === "string" ? parse(value) : value;
}

/** A field of several files in which none was chosen holds none. */
function toItems(value: unknown): unknown {
  if (!(value instanceof FormTree)) return value;
  const { items } = value;
  return items === value ? value : (items as readonly FormTree[]).filter((item) => !isNoFile(item));
}

function isNoFile({ isEmpty, single }: FormTree): boolean {
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
  return preprocess(form, (value) => {
    const fields = value instanceof FormTree ? value.fields : value;
    // An object schema would take any object, this one too.
    if (fields instanceof FormTree) return "a single value";
    if (typeof fields !== "object" || fields === null) return fields;
    const filled: Record<string, unknown> = Object.assign(Object.create(null), fields);
    for (const [key, entry] of optional) {
      const field = filled[key];
      if (field instanceof FormTree && field.isEmpty && refuses(entry.wrapped!, field)) delete filled[key];
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
  if (!node.async) return (runSchema(node, value, true) as Dataset).issues !== undefined;
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
      const json = dataset.value instanceof FormTree ? dataset.value.json : undefined;
      const isWanted = json !== undefined && Array.isArray(json.value) === isList && takesJson(declared);
      if (!isWanted) return form["~run"](dataset, config);
      const overflows = findOverflows(json.text, json.value);
      if (overflows.length > 0) return tooLarge(json.value, overflows, config);
      return nodeOf(coerceJson(declared, name))["~run"]({ value: json.value }, bothOf(config, explaining(json.value)));
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
