import { nodeOf, partsOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { type Form, type JsonSchema, type Place, subjectAt } from "./json_schema.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";
import { DATE } from "./transformation.ts";

/** Schemas of bytes: files and blobs. */

/** A stream of bytes. Generators know it by the format, which is a word of OpenAPI 3.0. */
export const BYTES: JsonSchema = { type: "string", format: "binary" };

/** A file: a field of a form, or a whole reply. */
export const BINARY: JsonSchema = { ...BYTES, contentMediaType: "application/octet-stream" };

/** Whether values of a schema are bytes. */
export function isBinary(schema: Schema): boolean {
  if (schema.type === "file" || schema.type === "blob") return true;
  const { class: Class } = schema as Schema & { readonly class?: unknown };
  return schema.type === "instance" && (Class === File || Class === Blob);
}

/** Whether a schema holds bytes, at whatever depth. */
export function holdsBinary(schema: Schema): boolean {
  const seen = new Set<SchemaNode>();
  const isIn = (node: SchemaNode): boolean => {
    if (seen.has(node)) return false;
    seen.add(node);
    if (isBinary(node)) return true;
    const target = node.type === "lazy" ? lazyTarget(node) : undefined;
    return target ? isIn(target) : partsOf(node).some(isIn);
  };
  return isIn(nodeOf(schema));
}

/** The media types that a schema asks of bytes; none where it takes any. */
export function mediaTypesOf({ pipe = [] }: SchemaNode): readonly string[] {
  const steps = pipe as readonly (SchemaNode & { readonly requirement?: unknown })[];
  const step = steps.find(({ type }) => type === "mime_type");
  return step ? step.requirement as readonly string[] : [];
}

/** Kinds of schemas whose values JSON does not carry as they are. */

/** Kinds that no text or JSON can satisfy, with what to write instead. */
const UNREADABLE: ReadonlyMap<string, string> = new Map<string, string>([
  ["date", "use v.pipe(v.string(), v.isoTimestamp(), v.toDate())"],
  ["map", "use v.record() and v.transform()"],
  ["set", "use v.array() and v.transform()"],
  ["instance", "use v.object() and v.transform()"],
  ["nan", "leave it out"],
  ["promise", "leave it out"],
  ["function", "leave it out"],
  ["symbol", "leave it out"],
]);

/** Kinds that `JSON.stringify` loses: a map is sent as an empty object, a function not at all. */
const UNSENDABLE: ReadonlyMap<string, string> = new Map<string, string>([
  ["map", "follow it by v.transform(Object.fromEntries) and v.record()"],
  ["set", "follow it by v.transform((set) => [...set]) and v.array()"],
  ["promise", "await it in the handler"],
  ["function", "leave it out"],
  ["symbol", "leave it out"],
  ["file", "reply with the file alone"],
  ["blob", "reply with the blob alone"],
]);

/** What is written for other kinds: a date as its text, what is no number as null, an instance as its class pleases. */
const SENT: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ["date", DATE],
  ["nan", { type: "null" }],
  ["instance", {}],
]);

/**
 * The schema of a kind that JSON does not carry as it is; undefined for all others.
 *
 * @throws {TypeError} When JSON cannot carry it at all.
 */
export function foreignKind(node: SchemaNode, form: Form, place: Place): JsonSchema | undefined {
  const { type } = node;
  if (form === "input" && isBinary(node)) return BINARY;
  const cure = (form === "input" ? UNREADABLE : UNSENDABLE).get(type);
  if (cure !== undefined) {
    const way = form === "input" ? "read from" : "written to";
    throw new TypeError(`Cannot describe ${subjectAt(place)}: the kind "${type}" cannot be ${way} JSON, ${cure}`);
  }
  return form === "output" ? SENT.get(type) : undefined;
}
