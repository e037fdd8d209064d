/** Tells how the fields of a form are written, as far as OpenAPI has words for it. */
import { nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { isBinary, mediaTypesOf } from "../json_schema/non_json.ts";
import { takesJson } from "../../schema/form_json.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";
import { LISTS } from "../../schema/parts.ts";
import type { OpenAPIEncoding } from "./document.ts";

/** How the fields of a form are written. */
export interface FormFields {
  /** By their names. Where nothing is said of a field, it is written as its text, or as its bytes. */
  readonly encoding: Readonly<Record<string, OpenAPIEncoding>>;
  /** A name that nests, where there is one that the encoding does not say. */
  readonly nested: string | undefined;
  /** The names of fields that are taken as JSON text. */
  readonly json: readonly string[];
}

/** The name is sent once for each element; of objects, each time with JSON text. */
const REPEATED: OpenAPIEncoding = { style: "form", explode: true };
/** An object is sent as JSON text. */
const JSON_TEXT: OpenAPIEncoding = { contentType: "application/json" };
/** The keys stand in brackets. */
const BRACKETED: OpenAPIEncoding = { style: "deepObject", explode: true };

/** The fields of a form. */
export function fieldsOf(schema: Schema): FormFields {
  const encoding = new Map<string, OpenAPIEncoding>();
  const json: string[] = [];
  let nested: string | undefined;
  for (const [name, node] of valuesOf(nodeOf(schema)).flatMap(entriesOf)) {
    const told = encodingOf(node);
    if (told) encoding.set(name, told);
    if (takesJson(node)) json.push(name);
    nested ??= nestedName(node, name);
  }
  // Not by assignment: "__proto__" is a name like others.
  return { encoding: Object.fromEntries(encoding), nested, json };
}

/** The schemas of values among which a schema has its own: without what may be absent, and what is chosen among others. */
function valuesOf(node: SchemaNode, seen: Set<SchemaNode> = new Set()): SchemaNode[] {
  if (seen.has(node)) return [];
  seen.add(node);
  if (node.wrapped) return valuesOf(node.wrapped, seen);
  if (node.type === "lazy") {
    const target = lazyTarget(node);
    return target ? valuesOf(target, seen) : [];
  }
  const isChoice = node.type === "union" || node.type === "variant" || node.type === "intersect";
  return isChoice ? (node.options as readonly SchemaNode[]).flatMap((option) => valuesOf(option, seen)) : [node];
}

function entriesOf({ entries = {} }: SchemaNode): (readonly [name: string, node: SchemaNode])[] {
  return Object.entries(entries);
}

function encodingOf(node: SchemaNode): OpenAPIEncoding | undefined {
  const values = valuesOf(node);
  const lists = values.filter(isList);
  const parts = [...values, ...lists.flatMap(itemsOf)];
  const types = new Set(parts.filter(isBinary).flatMap(mediaTypesOf));
  if (types.size > 0) return { contentType: [...types].join(", ") };
  // Of a list, the page would send JSON text of the JSON texts.
  if (takesJson(node)) return lists.length === 0 ? JSON_TEXT : REPEATED;
  if (values.some(isObject)) return BRACKETED;
  // Files come by themselves, each under the name.
  return lists.length > 0 && !parts.some(isBinary) && !parts.some(isObject) ? REPEATED : undefined;
}

/** A name within a field that nests, or undefined where that is told by its encoding. */
function nestedName(node: SchemaNode, name: string): string | undefined {
  const first = takesJson(node) ? firstObject(valuesOf(node)) : undefined;
  if (first) return `${name}[${keyOf(first)}]`;
  for (const value of valuesOf(node)) {
    const inner = isList(value) ? firstObject(itemsOf(value)) : undefined;
    if (inner) return `${name}[0][${keyOf(inner)}]`;
    for (const [key, part] of entriesOf(value)) {
      const values = valuesOf(part);
      const object = firstObject(values);
      if (object) return `${name}[${key}][${keyOf(object)}]`;
      const item = firstObject(values.filter(isList).flatMap(itemsOf));
      if (item) return `${name}[${key}][0][${keyOf(item)}]`;
    }
  }
  return undefined;
}

function firstObject(nodes: readonly SchemaNode[]): SchemaNode | undefined {
  return nodes.find(isObject);
}

/** A key of an object, be it one that the client chooses. */
function keyOf({ entries = {} }: SchemaNode): string {
  return Object.keys(entries)[0] ?? "name";
}

function itemsOf({ item, items = [], rest }: SchemaNode): SchemaNode[] {
  return [item, ...items, rest].flatMap((part) => part ? valuesOf(part) : []);
}

function isList({ type }: SchemaNode): boolean {
  return LISTS.has(type);
}

function isObject({ type, entries }: SchemaNode): boolean {
  return entries !== undefined || type === "record";
}
