/** Dependencies in the place of others, for tests. */
import { type PreparedDependency, toDependency, withNeeded } from "./dependency.ts";

export class Replacements {
  /** The replacements as given. */
  readonly #given = new Map<PreparedDependency, PreparedDependency>();
  /** Each dependency with the replacements applied. */
  readonly #made = new Map<PreparedDependency, PreparedDependency>();
  readonly #beingMade = new Set<PreparedDependency>();

  /**
   * @param pairs Each a dependency and its replacement.
   * @throws {TypeError} If one is no such pair, or a dependency is replaced twice.
   */
  constructor(pairs: unknown) {
    const action = "override the dependencies";
    if (!Array.isArray(pairs) || !pairs.every((pair) => Array.isArray(pair) && pair.length === 2)) {
      throw new TypeError(`Cannot ${action}: give a list of pairs, write override: [[getDb, async () => fake]]`);
    }
    for (const [position, [dependency, replacement]] of pairs.entries()) {
      const key = toDependency(dependency, `override[${position}][0]`);
      if (this.#given.has(key)) throw new TypeError(`Cannot ${action}: "${key.name}" is there twice, remove one`);
      this.#given.set(key, toDependency(replacement, `override[${position}][1]`));
    }
  }

  /**
   * @param needed The dependencies of the application, without those that they need.
   * @throws {TypeError} If the application does not need a replaced dependency: the real one would
   * run unseen.
   */
  checkNeeded(needed: Iterable<PreparedDependency>): void {
    const all = withNeeded<PreparedDependency>(needed, "inner");
    for (const { name } of this.#given.keys().filter((key) => !all.has(key))) {
      throw new TypeError(
        `Cannot override "${name}": nothing in the application needs it, give the same dependency as in "deps"`,
      );
    }
  }

  /**
   * A dependency with the replacements applied: its replacement, the same with replaced needs, or
   * itself.
   *
   * @throws {TypeError} If a replacement needs what it replaces through another dependency.
   */
  of(dependency: PreparedDependency): PreparedDependency {
    const known = this.#made.get(dependency);
    if (known) return known;
    if (this.#beingMade.has(dependency)) {
      throw new TypeError(
        `Cannot override "${dependency.name}": its replacement needs it through another dependency, name it in the deps of the replacement itself`,
      );
    }
    this.#beingMade.add(dependency);
    const replacement = this.#given.get(dependency);
    const made = replacement
      ? this.#inPlace(dependency, replacement)
      : this.#over(dependency, (needed) => this.of(needed));
    this.#beingMade.delete(dependency);
    this.#made.set(dependency, made);
    return made;
  }

  ofAll(deps: ReadonlyMap<string, PreparedDependency>): ReadonlyMap<string, PreparedDependency> {
    return new Map(Array.from(deps, ([name, dependency]) => [name, this.of(dependency)]));
  }

  /**
   * A replacement in the place of a dependency: a guard stays one, with its security in the
   * document.
   */
  #inPlace(dependency: PreparedDependency, replacement: PreparedDependency): PreparedDependency {
    // Under the name of the dependency itself, it gets the original.
    const original = () => this.#over(dependency, (needed) => this.of(needed));
    const over = this.#over(replacement, (needed) => needed === dependency ? original() : this.of(needed));
    const { options, deps, resolve, cleansUp, starts } = over;
    // It also ends where the dependency would.
    const endsWithHandler = cleansUp && (over.endsWithHandler || dependency.endsWithHandler);
    const isSent = dependency.isSent && (() => true);
    const own = { options, deps, resolve, cleansUp, endsWithHandler, starts, isSent };
    return { ...dependency, ...own, inner: undefined, callerOf: undefined, declared: dependency };
  }

  /** The dependency with replaced needs; itself if it needs none of them. */
  #over(dependency: PreparedDependency, of: (needed: PreparedDependency) => PreparedDependency): PreparedDependency {
    const { inner } = dependency;
    if (inner) {
      const guards = inner.guards.map(of);
      const isSame = guards.every((guard, index) => guard === inner.guards[index]);
      return isSame ? dependency : { ...inner.combine(guards), declared: dependency };
    }
    const deps = new Map(Array.from(dependency.deps, ([name, needed]) => [name, of(needed)]));
    const isSame = deps.entries().every(([name, needed]) => needed === dependency.deps.get(name));
    return isSame ? dependency : { ...dependency, deps, declared: dependency };
  }
}
