/** Dependencies in the place of others, for tests. */
import { type PreparedDependency, toDependency } from "./dependency.ts";

export class Replacements {
  /** What replaces a dependency, as it was given. */
  readonly #given = new Map<PreparedDependency, PreparedDependency>();
  /** Each dependency as it is with the replacements. */
  readonly #made = new Map<PreparedDependency, PreparedDependency>();
  readonly #beingMade = new Set<PreparedDependency>();

  /**
   * Checks the replacements.
   *
   * @param pairs Each a dependency, and what makes its value in its place.
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
   * Checks that each replaced dependency is one of an application.
   *
   * @param needed The dependencies of the application, without those that they need.
   * @throws {TypeError} If one is not: the real one would run unseen.
   */
  checkNeeded(needed: Iterable<PreparedDependency>): void {
    const all = new Set(needed);
    // The loop also visits what is added to the set while it runs.
    for (const { deps, inner } of all) {
      for (const dependency of [...deps.values(), ...inner?.guards ?? []]) all.add(dependency);
    }
    for (const { name } of this.#given.keys().filter((key) => !all.has(key))) {
      throw new TypeError(
        `Cannot override "${name}": nothing in the application needs it, give the same dependency as in "deps"`,
      );
    }
  }

  /**
   * A dependency as it is with the replacements: its replacement, the same over replaced ones, or
   * itself if it needs none of them.
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

  /** The values of a record or map of dependencies, as they are with the replacements. */
  ofAll(deps: ReadonlyMap<string, PreparedDependency>): ReadonlyMap<string, PreparedDependency> {
    return new Map(Array.from(deps, ([name, dependency]) => [name, this.of(dependency)]));
  }

  /**
   * A replacement, which runs where the dependency would: a guard stays one, with what it declares
   * to the document.
   */
  #inPlace(dependency: PreparedDependency, replacement: PreparedDependency): PreparedDependency {
    // What it gets under the name of the dependency itself is the one that it replaces.
    const original = () => this.#over(dependency, (needed) => this.of(needed));
    const over = this.#over(replacement, (needed) => needed === dependency ? original() : this.of(needed));
    const { options, deps, resolve, cleansUp, starts } = over;
    // It also ends where the dependency would.
    const endsWithHandler = cleansUp && (over.endsWithHandler || dependency.endsWithHandler);
    const isSent = dependency.isSent && (() => true);
    const own = { options, deps, resolve, cleansUp, endsWithHandler, starts, isSent };
    return { ...dependency, ...own, inner: undefined, callerOf: undefined, declared: dependency };
  }

  /** The dependency over replaced ones; itself if it needs none of them. */
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
