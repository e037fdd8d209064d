/** Tells where a value may be left out: in what is accepted, and in what is sent. */
import { fallsBack, nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";
import { isSchemaStep, keepsValue, mayFindNothing, type Step } from "./transformation.ts";

/**
 * Whether a parameter or a body has to be sent.
 *
 * A schema of kind `custom` is taken to need one: whether its check takes `undefined` cannot be told.
 */
export function isRequired(schema: Schema): boolean {
  return onUndefined(nodeOf(schema), new Set()) === "refused";
}

/** Whether a response always has a value. Where it has none, nothing is sent. */
export function isAlwaysSent(schema: Schema): boolean {
  return !givesUndefined(nodeOf(schema));
}

/** Whether an entry of an object may be missing from what is accepted. */
export function mayBeMissing(entry: SchemaNode): boolean {
  return isOptionalEntry(entry) || entry.fallback !== undefined;
}

/** Whether an entry of an object may be missing from what is sent. */
export function mayBeUnsent(entry: SchemaNode): boolean {
  const isFilled = entry.default !== undefined || entry.fallback !== undefined;
  return (isOptionalEntry(entry) && !isFilled) || givesUndefined(entry);
}

/** Whether a schema may give `undefined` for what it takes. Its JSON is then left out, or null within an array. */
export function givesUndefined(node: SchemaNode): boolean {
  return gives(node, new Set());
}

function isOptionalEntry({ type }: SchemaNode): boolean {
  return type === "optional" || type === "exact_optional" || type === "nullish";
}

/** What becomes of `undefined`. */
function onUndefined(node: SchemaNode, seen: Set<SchemaNode>): "refused" | "kept" | "replaced" {
  if (fallsBack(node)) return "replaced";
  if (node.pipe) return throughPipe(node.pipe as readonly SchemaNode[], seen);
  switch (node.type) {
    case "any":
    case "unknown":
    case "undefined":
    case "void":
      return "kept";
    case "optional":
    case "undefinedable":
    case "nullish":
      return node.default === undefined ? "kept" : "replaced";
    case "nullable":
    case "exact_optional":
    case "non_nullable":
      return onUndefined(node.wrapped!, seen);
    case "union":
      return optionsOf(node).map((option) => onUndefined(option, seen)).find((fate) => fate !== "refused") ?? "refused";
    case "intersect": {
      const fates = optionsOf(node).map((option) => onUndefined(option, seen));
      return fates.length === 0 || fates.includes("refused") ? "refused" : fates[0]!;
    }
    case "lazy": {
      const target = lazyTarget(node);
      if (target === undefined || seen.has(node)) return "refused";
      return onUndefined(target, seen.add(node));
    }
    default:
      return "refused";
  }
}

function throughPipe(steps: readonly SchemaNode[], seen: Set<SchemaNode>): "refused" | "kept" | "replaced" {
  let fate: "refused" | "kept" | "replaced" = "kept";
  for (const step of steps) {
    if (step.kind === "schema") fate = onUndefined(step, seen);
    if (fate !== "kept" || !keepsValue(step)) return fate;
  }
  return fate;
}

function gives(node: SchemaNode, seen: Set<SchemaNode>): boolean {
  if (fallsBack(node) && node.fallback === undefined) return true;
  if (node.pipe) {
    return (node.pipe as readonly (SchemaNode | Step)[]).reduce(
      (given, step) => isSchemaStep(step) ? gives(step, seen) : (given && keepsValue(step)) || mayFindNothing(step),
      false,
    );
  }
  switch (node.type) {
    case "any":
    case "unknown":
    case "undefined":
    case "void":
    case "custom":
      return true;
    case "optional":
    case "undefinedable":
    case "nullish":
      return node.default === undefined || gives(node.wrapped!, seen);
    case "nullable":
    case "exact_optional":
    case "non_nullable":
      return gives(node.wrapped!, seen);
    case "union":
      return optionsOf(node).some((option) => gives(option, seen));
    case "intersect":
      return optionsOf(node).length > 0 && optionsOf(node).every((option) => gives(option, seen));
    case "lazy": {
      const target = lazyTarget(node);
      return target === undefined || (!seen.has(node) && gives(target, seen.add(node)));
    }
    default:
      return false;
  }
}

function optionsOf(node: SchemaNode): readonly SchemaNode[] {
  return node.options as readonly SchemaNode[];
}
