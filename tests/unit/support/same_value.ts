// A strict equality: signs of zero, the order of keys, prototypes, and keys with undefined count.

/** Whether two values are equal in all respects but shared references. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (one instanceof Date) return Object.is(one.getTime(), (other as Date).getTime());
  if (one instanceof Set) return isSame([...one], [...other as Set<unknown>]);
  const [keys, others] = [Reflect.ownKeys(one), Reflect.ownKeys(other)];
  return keys.length === others.length &&
    keys.every((key, index) => key === others[index] && isSame(Reflect.get(one, key), Reflect.get(other, key)));
}
