/** A map that knows its oldest entry. */

interface Node<Key, Value> {
  readonly key: Key;
  value: Value;
  previous: Node<Key, Value> | undefined;
  next: Node<Key, Value> | undefined;
  isDeleted: boolean;
}

/**
 * Finds its oldest entry at once. A `Map` keeps holes of deleted entries, which an iteration
 * passes: with 100,000 entries, of which each new one replaces the oldest, that takes hundreds of
 * microseconds.
 */
export class OrderedMap<Key, Value> implements Iterable<readonly [Key, Value]> {
  readonly #nodes = new Map<Key, Node<Key, Value>>();
  #first: Node<Key, Value> | undefined;
  #last: Node<Key, Value> | undefined;

  get size(): number {
    return this.#nodes.size;
  }

  get oldest(): { readonly key: Key; readonly value: Value } | undefined {
    return this.#first;
  }

  get(key: Key): Value | undefined {
    return this.#nodes.get(key)?.value;
  }

  has(key: Key): boolean {
    return this.#nodes.has(key);
  }

  /** The entry becomes the newest. */
  set(key: Key, value: Value): void {
    let node = this.#nodes.get(key);
    if (node) this.#unlink(node);
    this.#nodes.set(key, node = { key, value, previous: this.#last, next: undefined, isDeleted: false });
    if (this.#last) this.#last.next = node;
    else this.#first = node;
    this.#last = node;
  }

  /** False if there is none. */
  delete(key: Key): boolean {
    const node = this.#nodes.get(key);
    if (!node) return false;
    this.#nodes.delete(key);
    this.#unlink(node);
    return true;
  }

  /** Deletes the oldest entries down to a size. */
  shrink(size: number): void {
    while (this.#first && this.size > size) this.delete(this.#first.key);
  }

  clear(): void {
    this.#nodes.clear();
    for (let node = this.#first; node; node = node.next) node.isDeleted = true;
    this.#first = this.#last = undefined;
  }

  /** Oldest first. Entries may be deleted meanwhile. */
  *[Symbol.iterator](): Generator<readonly [Key, Value], void, void> {
    for (let node = this.#first; node; node = node.next) if (!node.isDeleted) yield [node.key, node.value];
  }

  /** Its `next` stays, for an iteration at this node. */
  #unlink(node: Node<Key, Value>): void {
    const { previous, next } = node;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    node.isDeleted = true;
  }
}
