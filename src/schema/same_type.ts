/** Compares the types of the results of two schemas. */

/** They do not change the results. */
const DESCRIPTIVE: ReadonlySet<string> = new Set(["async", "expects", "message", "reference"]);

const CHECKS: ReadonlySet<unknown> = new Set(["validation", "metadata"]);

/** Whether two schemas convert alike, apart from checks. Functions must be identical. */
export function giveSameType(some: unknown, other: unknown): boolean {
  if (Object.is(some, other)) return true;
  if (typeof some !== "object" || typeof other !== "object" || some === null || other === null) return false;
  if (Object.getPrototypeOf(some) !== Object.getPrototypeOf(other)) return false;
  const parts = partsOf(some);
  const others = partsOf(other);
  return parts.size === others.size &&
    parts.entries().every(([name, part]) => others.has(name) && giveSameType(part, others.get(name)));
}

/** The properties that determine the results. */
function partsOf(part: object): ReadonlyMap<string, unknown> {
  const parts = new Map<string, unknown>();
  for (const [name, value] of Object.entries(part)) {
    if (!name.startsWith("~") && !DESCRIPTIVE.has(name)) parts.set(name, value);
  }
  const pipe = parts.get("pipe");
  if (!Array.isArray(pipe)) return parts;
  // A pipe repeats the properties of its first step.
  const [first, ...steps] = pipe as readonly { readonly kind: unknown }[];
  const conversions = steps.filter(({ kind }) => !CHECKS.has(kind));
  return conversions.length === 0 ? partsOf(first!) : new Map(Object.entries([first, ...conversions]));
}
