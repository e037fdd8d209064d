/** The schema of the results of a schema, which validates stored results again. */
import * as v from "valibot";
import { keepFallback, mapSchema } from "./map_schema.ts";
import { type Dataset, isSchemaNode, type PipeAction, REPEATABLE, runSchema, type SchemaNode } from "./schema.ts";

/** Their keys may be absent. */
const OPTIONAL: ReadonlySet<string> = new Set(["optional", "exact_optional", "nullish"]);

/** They accept `undefined`. */
const VOID: ReadonlySet<string> = new Set(["any", "unknown", "undefined", "undefinedable", "void"]);

/** For the results of transformations. */
const PRESENT = v.custom((value) => value !== undefined) as unknown as SchemaNode;

type Step = SchemaNode | PipeAction;
type Build = (...parts: readonly unknown[]) => SchemaNode;

const outputs = new WeakMap<SchemaNode, SchemaNode>();

/**
 * The same object if the schema accepts its own results.
 *
 * A result of a transformation must only be present, unless a schema follows in the pipe. Async
 * checks are omitted: they depend on more than the value.
 */
export function outputSchema(node: SchemaNode): SchemaNode {
  return outputs.getOrInsertComputed(node, derive);
}

function derive(node: SchemaNode): SchemaNode {
  if (node.pipe) return derivePipe(node, node.pipe);
  const map = node.entries ? (part: SchemaNode) => toEntry(outputSchema(part)) : outputSchema;
  const options = node.type === "variant" ? (node.options as readonly SchemaNode[]).map(outputSchema) : [];
  // A variant looks for its key in the entries of each option.
  if (options.some(({ entries, type }) => !entries && type !== "variant")) return toUnion(options, node.async);
  const mapped = mapSchema(node, map);
  if (mapped === node || node.wrapped === undefined || node.default === undefined) return mapped;
  // The default is input, and the wrapped schema now takes output.
  return node.async ? mapped.reference(mapped.wrapped) : mapped.reference(mapped.wrapped, () => defaultOutput(node));
}

function defaultOutput(node: SchemaNode): unknown {
  return (runSchema(node, node.type === "nullable" ? null : undefined) as Dataset).value;
}

function toUnion(options: readonly SchemaNode[], isAsync: boolean): SchemaNode {
  return ((isAsync ? v.unionAsync : v.union) as unknown as Build)(options);
}

/** JSON omits a key whose value is undefined. */
function toEntry(node: SchemaNode): SchemaNode {
  if (OPTIONAL.has(node.type) || !takesUndefined(node)) return node;
  return ((node.async ? v.optionalAsync : v.optional) as unknown as Build)(node);
}

function takesUndefined({ type, wrapped, options }: SchemaNode): boolean {
  if (type === "union") return (options as readonly SchemaNode[]).some(takesUndefined);
  return VOID.has(type) || (type === "nullable" && takesUndefined(wrapped!));
}

function derivePipe(node: SchemaNode, pipe: readonly Step[]): SchemaNode {
  const mapped = pipe.map((step) => isSchemaNode(step) && step !== node ? outputSchema(step) : step);
  const changed = pipe.findLastIndex((step, index) => {
    return mapped[index] !== step || (step.kind === "transformation" && !REPEATABLE.has(step.type));
  });
  const begin = changed < 0 ? 0 : mapped.findIndex((step, index) => index >= changed && step.kind === "schema");
  if (begin < 0) return PRESENT;
  const steps = mapped.slice(begin).filter((step) => step.kind === "schema" || !("async" in step && step.async));
  if (steps.length === pipe.length && steps.every((step, index) => step === pipe[index])) return node;
  const isAsync = steps.some((step) => "async" in step && step.async === true);
  return keepFallback(node, ((isAsync ? v.pipeAsync : v.pipe) as unknown as Build)(...steps));
}
