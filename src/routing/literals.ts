/** Looks up the literal segments at one place of the tree. */

/** Above this many, a look-up by hash is cheaper than a comparison with each. */
const FEW = 8;

/** Values by segment. */
export class Literals<Value> {
  readonly #values = new Map<string, Value>();
  #few: { readonly text: string; readonly value: Value }[] = [];

  /** The value of a segment, made where there is none. */
  open(text: string, make: () => Value): Value {
    let value = this.#values.get(text);
    if (value === undefined) {
      value = make();
      this.#values.set(text, value);
      this.#few = this.#values.size > FEW ? [] : Array.from(this.#values, ([text, value]) => ({ text, value }));
    }
    return value;
  }

  /** The value of the segment that stands in a path from `start` to `end`. Cut out only where there are many to compare with. */
  at(path: string, start: number, end: number): Value | undefined {
    const few = this.#few;
    for (let index = 0; index < few.length; index++) {
      const { text, value } = few[index]!;
      if (text.length === end - start && path.startsWith(text, start)) return value;
    }
    return this.#values.size > FEW ? this.#values.get(path.slice(start, end)) : undefined;
  }
}
