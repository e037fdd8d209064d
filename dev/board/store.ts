// Values that several components show.

import { useEffect, useState } from "preact/hooks";

export class Store<Value> {
  readonly #listeners = new Set<() => void>();
  #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    if (this.#value === value) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Returns the function that ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  get isUsed(): boolean {
    return this.#listeners.size > 0;
  }
}

/** The value of a store, in a component. */
export function useStore<Value>(store: Store<Value>): Value {
  const [, update] = useState({});
  const rendered = store.value;
  useEffect(() => {
    // It may have changed between the render and this effect, which runs after the paint.
    if (store.value !== rendered) update({});
    return store.subscribe(() => update({}));
  }, [store]);
  return rendered;
}
