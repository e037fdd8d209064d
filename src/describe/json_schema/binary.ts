/** Schemas of bytes: files and blobs. */
import { nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { partsOf } from "../../schema/parts.ts";
import type { JsonSchema } from "./json_schema.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";

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
