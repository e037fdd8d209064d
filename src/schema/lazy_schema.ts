/** Looks behind lazy schemas. */
import type { SchemaNode } from "./schema.ts";

/** What a getter gives. */
type Given = SchemaNode | Promise<SchemaNode>;

const given = new WeakMap<NonNullable<SchemaNode["getter"]>, Given>();

/**
 * What the getter of a lazy schema gives for a value. A getter that takes no value is asked once:
 * it may make a new schema each time, of which nothing would be known, neither its forms nor what
 * it made of the same value before.
 */
export function lazyGiven({ getter }: SchemaNode, input: unknown): Given {
  const known = given.get(getter!);
  if (known) return known;
  const result: Given = getter!(input);
  if (getter!.length > 0) return result;
  given.set(getter!, result);
  // A getter that failed is asked again. The caller of this one gets the error.
  if (result instanceof Promise) result.catch(() => given.delete(getter!));
  return result;
}

/**
 * What a lazy schema stands for; undefined where that depends on the value, or has to be waited
 * for.
 */
export function lazyTarget(node: SchemaNode): SchemaNode | undefined {
  if (node.getter === undefined || node.getter.length > 0) return undefined;
  const target = lazyGiven(node, undefined);
  return target instanceof Promise ? undefined : target;
}
