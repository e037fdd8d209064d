/** Tells whether what a schema gives is what it was given, so that a later check says something of the latter. */
import { fallsBack, type SchemaNode } from "../../schema/schema.ts";
import { givesUndefined } from "./absence.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";
import { keepsValue } from "./transformation.ts";

/** Whether a schema may give another value than it was given, its parts apart. */
export function converts(node: SchemaNode): boolean {
  return changes(node, new Set(), false);
}

/**
 * The keywords of a check that tell of the value before a schema, although it was the value after it that was checked.
 *
 * @returns A test of keywords.
 */
export function survivorsOf(node: SchemaNode): (keyword: string) => boolean {
  if (!changes(node, new Set(), true)) return () => true;
  const { type, entries } = innermost(node);
  if (type === "array") return (keyword) => keyword === "minItems" || keyword === "maxItems";
  if (type === "record") return (keyword) => keyword.endsWith("Properties");
  if (!entries || Object.values(entries).some(isFilledIn)) return () => false;
  return (keyword) => keyword === "minProperties" || (keyword === "maxProperties" && type !== "object");
}

/**
 * The keywords of a check that tell of what is sent of a value, although it was the value itself that was checked.
 *
 * @returns A test of keywords.
 */
export function sentOf(node: SchemaNode): (keyword: string) => boolean {
  const { type, entries = {}, value, rest } = innermost(node);
  // JSON leaves out a key whose value is undefined, and an intersection adds the keys of its other parts.
  const sendsAll = type !== "loose_object" &&
    [...Object.values(entries), value, rest].every((part) => !part || !givesUndefined(part));
  return (keyword) => keyword === "minProperties" ? sendsAll : keyword !== "maxProperties" || type !== "object";
}

/** Whether a value is changed as a whole or, where that is asked, in its parts. */
function changes(node: SchemaNode, seen: Set<SchemaNode>, inParts: boolean): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  const isChanged = (part: SchemaNode): boolean => changes(part, seen, inParts);
  if (fallsBack(node)) return true;
  if (node.pipe) {
    return (node.pipe as readonly SchemaNode[]).some((step) =>
      step.kind === "schema" ? isChanged(step) : !keepsValue(step)
    );
  }
  switch (node.type) {
    case "nullable":
    case "nullish":
      return node.default !== undefined || isChanged(node.wrapped!);
    case "optional":
    case "undefinedable":
    case "exact_optional":
    case "non_optional":
    case "non_nullable":
    case "non_nullish":
      return isChanged(node.wrapped!);
    case "union":
    case "variant":
    case "intersect":
      return (node.options as readonly SchemaNode[]).some(isChanged);
    case "lazy": {
      // Parts of parts may go on without end.
      const target = inParts ? undefined : lazyTarget(node);
      return target === undefined || isChanged(target);
    }
    default:
      return inParts && changesParts(node, isChanged);
  }
}

function changesParts(
  { type, entries = {}, rest, item, items, key, value }: SchemaNode,
  isChanged: (part: SchemaNode) => boolean,
): boolean {
  // Keys and items that are not declared are dropped, items that are missing filled in.
  if (type === "object" || items || Object.values(entries).some(isFilledIn)) return true;
  const parts = [...Object.values(entries), rest, item, key as SchemaNode | undefined, value];
  return parts.some((part) => part && isChanged(part));
}

/** Whether an entry is there although it was left out. */
function isFilledIn(entry: SchemaNode): boolean {
  return entry.default !== undefined || entry.fallback !== undefined;
}

/** The schema of the value itself, without what is laid around it. */
function innermost(node: SchemaNode): SchemaNode {
  if (node.wrapped) return innermost(node.wrapped);
  if (node.pipe) return innermost(node.pipe[0] as SchemaNode);
  return node;
}
