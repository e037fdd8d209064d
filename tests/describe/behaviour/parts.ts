// Parts of JSON values, by the keys and indices that lead to them.

/** The keys and indices that lead to a part of a value. */
export type Path = readonly (string | number)[];

/** The ways to all parts of a value, itself included. */
export function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsOf(partAt(value, [key]), [...path, key]))];
}

/** The part that a path leads to. */
export function partAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((part, key) => (part as Record<string | number, unknown>)[key], value);
}

/** The value with another part. Not by assignment: "__proto__" is a key like others. */
export function withPart(value: unknown, [key, ...path]: Path, part: unknown): unknown {
  if (key === undefined) return part;
  const inner = withPart(partAt(value, [key]), path, part);
  if (Array.isArray(value)) return value.with(Number(key), inner);
  return Object.fromEntries(Object.entries(value as object).map(([name, kept]) => [name, name === key ? inner : kept]));
}

/** The value without a part that is not all of it. */
export function withoutPart(value: unknown, path: Path): unknown {
  const holder = path.slice(0, -1);
  const key = path.at(-1)!;
  const whole = partAt(value, holder);
  const rest = Array.isArray(whole)
    ? whole.toSpliced(Number(key), 1)
    : Object.fromEntries(Object.entries(whole as object).filter(([name]) => name !== key));
  return withPart(value, holder, rest);
}
