/** Schemas whose values are not JSON as they are: bytes, dates, and kinds that are refused. */
import { isBinary, lazyTarget, nodeOf, NON_JSON, partsOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { type Form, type JsonSchema, type Place, subjectAt } from "./json_schema.ts";
import { DATE } from "./transformation.ts";

/** A stream of bytes. Generators know it by the format, which is a word of OpenAPI 3.0. */
export const BYTES: JsonSchema = { type: "string", format: "binary" };

/** A file: a field of a form, or a whole reply. */
export const FILE: JsonSchema = { ...BYTES, contentMediaType: "application/octet-stream" };

/** What `JSON.stringify` writes for them: a class decides what it writes for its instances. */
const SENT: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ["date", DATE],
  ["instance", {}],
  ["nan", { type: "null" }],
]);

/**
 * The schema of a kind that JSON does not carry as it is; undefined for all others.
 *
 * @throws {TypeError} If JSON cannot carry it at all.
 */
export function describeNonJson(node: SchemaNode, form: Form, place: Place): JsonSchema | undefined {
  if (form === "input" && isBinary(node)) return FILE;
  const cure = NON_JSON.get(node.type)?.[form];
  if (cure !== undefined) {
    const way = form === "input" ? "read from" : "written to";
    throw new TypeError(`Cannot describe ${subjectAt(place)}: the kind "${node.type}" cannot be ${way} JSON, ${cure}`);
  }
  return form === "output" ? SENT.get(node.type) : undefined;
}

/** Whether JSON may have to refuse values of a kind. */
export function isRefused({ type }: SchemaNode, form: Form): boolean {
  return NON_JSON.get(type)?.[form] !== undefined;
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
