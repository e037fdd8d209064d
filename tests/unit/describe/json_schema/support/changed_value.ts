// Random changes of values.

import type { Random } from "../../../support/random.ts";

/** A value that differs from another in some place. */
export function changed(value: unknown, random: Random): unknown {
  const leaves = ["", "a", "b", "abc", "5", 0, 1, 5, 1.5, true, null, [], {}];
  if (typeof value !== "object" || value === null || random.oneIn(4)) return random.pick(leaves);
  if (Array.isArray(value)) {
    const index = random.below(value.length + 1);
    return random.oneIn(3) ? value.slice(0, index) : value.toSpliced(index, 1, changed(value[index], random));
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const keys = Object.keys(value);
  const key = random.pick([...keys, "z", "a"]);
  const { [key]: part, ...others } = value as Record<string, unknown>;
  return random.oneIn(3) ? others : { ...others, [key]: changed(part, random) };
}
