/**
 * Coerces forms: makes a schema that accepts a tree of named fields.
 *
 * Strings are converted as in a query, and from the forms of HTML controls. An empty field of an
 * optional schema that refuses an empty string counts as not sent: browsers send each field.
 * Objects, and arrays of objects, can be JSON.
 */
import * as v from "valibot";
import type { Issue } from "../base/errors.ts";
import { coerceJson, cureOf, findOverflows } from "./coerce_json.ts";
import { FORM, refusesNull, textParserOf } from "./coerce_text.ts";
import { FormTree, isNoFileChosen } from "./form.ts";
import { mapSchema, preprocess } from "./map_schema.ts";
import {
  type Dataset,
  isBinary,
  lazyTarget,
  listingIssues,
  LISTS,
  nodeOf,
  OBJECTS,
  partsOf,
  PASSING,
  type PipeAction,
  type RunConfig,
  runSchema,
  type Schema,
  type SchemaIssue,
  type SchemaNode,
} from "./schema.ts";

/** They accept named fields. */
const FIELDS = new Set([...OBJECTS, "any", "unknown", "custom"]);

// A cache: a lazy schema coerces its target again for each value.
const coerced = new WeakMap<SchemaNode, SchemaNode>();

/**
 * Makes a schema that accepts a {@linkcode FormTree}.
 *
 * @param name For messages.
 * @throws {TypeError} If no form can satisfy a part of the schema.
 */
export function coerceForm(schema: Schema, name: string): Schema {
  const node = nodeOf(schema);
  if (!takesFields(node)) throw new TypeError(`Cannot bind ${name}: a form has named fields, declare an object`);
  return coerceField(node, name);
}

export function isRepeated(input: unknown): boolean {
  return input instanceof FormTree && input.isRepeated;
}

function coerceField(node: SchemaNode, name: string): SchemaNode {
  return coerced.getOrInsertComputed(node, () => coerce(node, name));
}

function coerce(node: SchemaNode, name: string, takesNull = true): SchemaNode {
  const map = (part: SchemaNode): SchemaNode => coerceField(part, name);
  const mayTakeNull = takesNull && !refusesNull(node);
  const mapSame = mayTakeNull ? map : (part: SchemaNode): SchemaNode => coerce(part, name, false);
  if (node.pipe) return mapSchema(node, mapSame);
  const parse = textParserOf(node, FORM);
  if (parse) {
    return preprocess(node, (value) => {
      const single = toSingle(value);
      return typeof single === "string" ? parse(single) : single;
    });
  }
  if (PASSING.has(node.type)) return mapSchema(node, mapSame);
  if (OBJECTS.has(node.type)) return orJson(coerceFields(mapSchema(node, map), name), node, name);
  if (LISTS.has(node.type)) return orJson(coerceItems(mapSchema(node, map)), node, name);
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
      if (isBinary(node)) return preprocess(node, toFile);
      break;
    case "nullable":
    case "nullish":
      if (!takesNull) return mapSchema(node, mapSame);
      return preprocess(mapSchema(node, map), (value) => toSingle(value) === "null" ? null : value);
    case "lazy":
      return mapSchema(node, map);
  }
  throw new TypeError(`Cannot bind ${name}: a schema of kind "${node.type}" cannot be read from a form${cureOf(node)}`);
}

function toSingle(value: unknown): unknown {
  return value instanceof FormTree ? value.single : value;
}

function toPlain(value: unknown): unknown {
  return value instanceof FormTree ? value.toPlain() : value;
}

function toFile(value: unknown): unknown {
  const single = toSingle(value);
  return single instanceof File && isNoFileChosen(single) ? undefined : single;
}

function coerceItems(list: SchemaNode): SchemaNode {
  if (list.type !== "loose_tuple") return preprocess(list, toItems);
  const described = list.items!.length;
  return preprocess(list, (value) => {
    const items = toItems(value);
    return Array.isArray(items) ? items.map((item, index) => index < described ? item : toPlain(item)) : items;
  });
}

function toItems(value: unknown): unknown {
  if (!(value instanceof FormTree)) return value;
  const { items } = value;
  if (items === value) return value;
  // Without a chosen file, a field for several files has one empty file.
  return (items as readonly FormTree[]).filter(({ isEmpty, single }) => !(isEmpty && single instanceof File));
}

/** Removes empty optional fields. Options of a variant do it themselves. */
function coerceFields(object: SchemaNode, name: string): SchemaNode {
  const optional = Object.entries(object.entries ?? {}).filter(([key, entry]) => {
    if (/[[\]]/.test(key)) {
      throw new TypeError(`Cannot bind ${name}: brackets nest, a field cannot be named "${key}"`);
    }
    return ["optional", "exact_optional", "nullish"].includes(entry.type);
  });
  return preprocess(object, (value) => {
    const fields = value instanceof FormTree ? value.fields : value;
    // valibot would accept the tree itself as an object.
    if (fields instanceof FormTree) return "a single value";
    if (typeof fields !== "object" || fields === null) return fields;
    const filled: Record<string, unknown> = Object.assign(Object.create(null), fields);
    for (const [key, entry] of optional) {
      const field = filled[key];
      if (field instanceof FormTree && field.isEmpty && refuses(entry.wrapped!, field)) delete filled[key];
    }
    if (object.type !== "loose_object") return filled;
    for (const key of Object.keys(filled)) {
      if (!Object.hasOwn(object.entries!, key)) filled[key] = toPlain(filled[key]);
    }
    return filled;
  });
}

/** Runs an async schema up to its first async step. */
function refuses(node: SchemaNode, value: unknown): boolean {
  if (!node.async) return (runSchema(node, value, true) as Dataset).issues !== undefined;
  if (!node.pipe) return node.wrapped !== undefined && refuses(node.wrapped, value);
  const steps = node.pipe as readonly (PipeAction & { readonly async: boolean })[];
  const isSync = steps.findIndex((step) => step.async);
  const pipe = v.pipe as unknown as (...steps: readonly unknown[]) => SchemaNode;
  return isSync > 0 && refuses(pipe(...steps.slice(0, isSync)), value);
}

/** A lazy schema is checked when it runs. */
function takesFields(node: SchemaNode): boolean {
  if (node.type === "lazy") return true;
  if (node.wrapped) return takesFields(node.wrapped);
  if (node.type === "union" || node.type === "intersect") return (node.options as SchemaNode[]).some(takesFields);
  return FIELDS.has(node.type);
}

const takesJsonCache = new WeakMap<SchemaNode, boolean>();

/** Whether each value is an object or an array of objects, without files. */
export function takesJson(node: SchemaNode): boolean {
  return takesJsonCache.getOrInsertComputed(node, () => holdsObjects(node, new Set()) && isJson(node, new Set()));
}

/** Whether a part of a schema accepts JSON. */
export function holdsJson(node: SchemaNode, seen: Set<SchemaNode> = new Set()): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  return partsBehind(node).some((part) => takesJson(part) || holdsJson(part, seen));
}

/**
 * Also accepts a single value of JSON, whose values have the types of JSON: `"5"` is no number,
 * unlike in a field of its own.
 *
 * @param form The coerced schema, for names in brackets.
 * @param node The declared schema: an object or an array.
 */
function orJson(form: SchemaNode, node: SchemaNode, name: string): SchemaNode {
  const isList = LISTS.has(node.type);
  return {
    ...form,
    "~run"(dataset, config) {
      const json = dataset.value instanceof FormTree ? dataset.value.json : undefined;
      const isWanted = json !== undefined && Array.isArray(json.value) === isList && takesJson(node);
      if (!isWanted) return form["~run"](dataset, config);
      const overflows = findOverflows(json.text, json.value);
      if (overflows.length > 0) return overflowDataset(json.value, overflows, config);
      return coerceJson(node, name)["~run"]({ value: json.value }, stricterOf(config, listingIssues(json.value)));
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

/** No files, and no lazy schema that depends on the value. */
function isJson(node: SchemaNode, seen: Set<SchemaNode>): boolean {
  if (seen.has(node)) return true;
  seen.add(node);
  if (isBinary(node) || (node.type === "lazy" && lazyTarget(node) === undefined)) return false;
  return partsBehind(node).every((part) => isJson(part, seen));
}

function partsBehind(node: SchemaNode): readonly SchemaNode[] {
  const target = node.type === "lazy" ? lazyTarget(node) : undefined;
  return target ? [target] : partsOf(node);
}

/** A form can be small, and its JSON file large. */
function stricterOf(one: RunConfig, other: RunConfig): RunConfig {
  return {
    lang: undefined,
    message: undefined,
    abortPipeEarly: undefined,
    get abortEarly() {
      return one.abortEarly || other.abortEarly;
    },
  };
}

function overflowDataset(value: unknown, overflows: readonly Issue[], config: RunConfig): Dataset {
  const issues: SchemaIssue[] = [];
  for (const { path, message, expected = null } of overflows) {
    issues.push({
      kind: "validation",
      type: "finite",
      input: Infinity,
      expected,
      received: "Infinity",
      message,
      // valibot prepends to this array, or sets it if it is undefined.
      path: path.length > 0 ? path.map((key) => ({ key })) : undefined,
    });
    if (config.abortEarly) break;
  }
  return { typed: false, value, issues: issues as [SchemaIssue, ...SchemaIssue[]] };
}
