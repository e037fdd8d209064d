/** Looks behind lazy schemas. */
import type { SchemaNode } from "./schema.ts";

/**
 * Targets by getter: a getter may make a new schema each time, which would never come to an end.
 */
const targets = new WeakMap<(input: unknown) => unknown, SchemaNode>();

/**
 * What a lazy schema stands for; undefined where that depends on the value, or has to be waited
 * for.
 */
export function lazyTarget({ getter }: SchemaNode): SchemaNode | undefined {
  if (getter === undefined || getter.length > 0) return undefined;
  const known = targets.get(getter);
  if (known) return known;
  const target = getter(undefined) as SchemaNode | Promise<SchemaNode>;
  if (target instanceof Promise) {
    // Nobody waits for it.
    target.catch(() => {});
    return undefined;
  }
  targets.set(getter, target);
  return target;
}
