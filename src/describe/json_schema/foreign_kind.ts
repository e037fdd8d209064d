/** Kinds of schemas whose values JSON does not carry as they are. */
import type { SchemaNode } from "../../schema/schema.ts";
import { BINARY, isBinary } from "./binary.ts";
import type { JsonSchema } from "./json_schema.ts";
import { type Form, type Place, subjectAt } from "./model_scope.ts";
import { DATE } from "./transformation.ts";

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
