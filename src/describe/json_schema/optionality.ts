/** Which values are optional in the input, and in the output. */
import { fallsBack, lazyTarget, nodeOf, type Schema, type SchemaNode } from "../../schema/schema.ts";
import { isSchemaStep, keepsValue, type Step } from "./values.ts";

interface Optionality {
  readonly onUndefined: "refused" | "kept" | "replaced";
  readonly givesUndefined: boolean;
}

const REFUSED: Optionality = { onUndefined: "refused", givesUndefined: false };
const KEPT: Optionality = { onUndefined: "kept", givesUndefined: true };

/** Schemas of kind `custom` count as required: their check does not run. */
export function isRequired(schema: Schema): boolean {
  return optionalityOf(nodeOf(schema)).onUndefined === "refused";
}

/** Without a value there is no body. */
export function isAlwaysSent(schema: Schema): boolean {
  return !givesUndefined(nodeOf(schema));
}

export function mayBeMissing(entry: SchemaNode): boolean {
  return isOptionalEntry(entry) || entry.fallback !== undefined;
}

export function mayBeUnsent(entry: SchemaNode): boolean {
  return (isOptionalEntry(entry) && !hasDefault(entry)) || givesUndefined(entry);
}

export function hasDefault(entry: SchemaNode): boolean {
  return entry.default !== undefined || entry.fallback !== undefined;
}

/** For `undefined`, JSON drops a key, and writes null for an item. */
export function givesUndefined(node: SchemaNode): boolean {
  return optionalityOf(node).givesUndefined;
}

function isOptionalEntry({ type }: SchemaNode): boolean {
  return type === "optional" || type === "exact_optional" || type === "nullish";
}

function optionalityOf(node: SchemaNode, seen?: Set<SchemaNode>): Optionality {
  if (fallsBack(node)) {
    const { fallback, ...inner } = node;
    return { ...(fallback === undefined ? KEPT : optionalityOf(inner, seen)), onUndefined: "replaced" };
  }
  if (node.pipe) return ofPipe(node.pipe as readonly (Step | SchemaNode)[], seen);
  switch (node.type) {
    case "any":
    case "unknown":
    case "undefined":
    case "void":
      return KEPT;
    case "custom":
      return { onUndefined: "refused", givesUndefined: true };
    case "optional":
    case "undefinedable":
    case "nullish":
      return node.default === undefined
        ? KEPT
        : { onUndefined: "replaced", givesUndefined: optionalityOf(node.wrapped!, seen).givesUndefined };
    case "nullable":
    case "exact_optional":
    case "non_nullable":
      return optionalityOf(node.wrapped!, seen);
    case "union": {
      const options = optionsOf(node, seen);
      const taking = options.find(({ onUndefined }) => onUndefined !== "refused") ?? REFUSED;
      return { ...taking, givesUndefined: options.some((option) => option.givesUndefined) };
    }
    case "intersect": {
      const options = optionsOf(node, seen);
      const refusing = options.find(({ onUndefined }) => onUndefined === "refused");
      const { onUndefined } = refusing ?? options[0] ?? REFUSED;
      return { onUndefined, givesUndefined: options.length > 0 && options.every((option) => option.givesUndefined) };
    }
    case "lazy": {
      const target = lazyTarget(node);
      if (target === undefined) return { onUndefined: "refused", givesUndefined: true };
      return seen?.has(node) ? REFUSED : optionalityOf(target, (seen ?? new Set()).add(node));
    }
    default:
      return REFUSED;
  }
}

function ofPipe(steps: readonly (Step | SchemaNode)[], seen?: Set<SchemaNode>): Optionality {
  let onUndefined: Optionality["onUndefined"] | undefined;
  let givesUndefined = false;
  // Later steps get `undefined` until a step replaces it.
  let isUndefined = true;
  for (const step of steps) {
    if (isSchemaStep(step)) {
      const schema = optionalityOf(step, seen);
      if (isUndefined) onUndefined = schema.onUndefined;
      givesUndefined = schema.givesUndefined;
    } else {
      // Functions of the application are assumed to return a value, unless a later schema differs.
      givesUndefined = (givesUndefined && keepsValue(step)) || step.type === "find_item";
    }
    isUndefined &&= onUndefined === "kept" && keepsValue(step);
  }
  return { onUndefined: onUndefined ?? "refused", givesUndefined };
}

function optionsOf({ options }: SchemaNode, seen?: Set<SchemaNode>): Optionality[] {
  return (options as readonly SchemaNode[]).map((option) => optionalityOf(option, seen));
}
