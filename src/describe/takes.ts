/** Tells what stands for nothing to a schema. */
import { nodeOf, type Schema, type SchemaNode } from "../schema/schema.ts";

/**
 * Whether a schema takes nothing: `undefined`, where a value may be left out, or `null`.
 *
 * It is read off the kinds of schema, since running one would run what its author wrote.
 *
 * @param schema What was declared.
 * @param nothing Which of the two.
 */
export function takes(schema: Schema, nothing: null | undefined): boolean {
  const node = nodeOf(schema);
  const wraps = () => node.wrapped !== undefined && takes(node.wrapped, nothing);
  if ("fallback" in node) return true;
  switch (node.type) {
    case "any":
    case "unknown":
    case "nullish":
      return true;
    case "null":
      return nothing === null;
    case "undefined":
    case "void":
      return nothing === undefined;
    case "nullable":
      return nothing === null || wraps();
    case "optional":
    case "undefinedable":
      return nothing === undefined || wraps();
    case "non_nullish":
      return false;
    case "non_nullable":
      return nothing === undefined && wraps();
    case "non_optional":
      return nothing === null && wraps();
    case "exact_optional":
      return wraps();
    case "union":
      return (node.options as SchemaNode[]).some((option) => takes(option, nothing));
    case "intersect":
      return (node.options as SchemaNode[]).every((option) => takes(option, nothing));
    case "lazy": {
      const target = node.getter?.(undefined) as SchemaNode | Promise<SchemaNode> | undefined;
      return target !== undefined && !(target instanceof Promise) && takes(target, nothing);
    }
    default:
      return false;
  }
}
