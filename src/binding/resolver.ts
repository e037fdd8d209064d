/** Makes the dependencies of a request, each once, in parallel where they do not need one another. */
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { PreparedDependency } from "./dependency.ts";
import type { Args } from "./text_fields.ts";

/** A value by the name under which somebody wants it, and its place among those of the request. */
type Need = readonly [name: string, place: number];

interface Step {
  readonly node: PreparedDependency;
  /** The place of its value among those of the request. */
  readonly place: number;
  readonly needs: readonly Need[];
}

/**
 * The prepared order of a route's dependencies, in stages: each begins when the one before it is
 * through.
 *
 * Guards are the dependencies that declare `security`, and what those need. Their stages come
 * before all other input of the request is validated; {@linkcode Resolver.rest} comes after that.
 */
export class Resolver {
  /** All dependencies; each comes after those that it needs. */
  readonly nodes: readonly PreparedDependency[];
  /** The stages of the guards, none of which is empty. */
  readonly guards: readonly Stage[];
  /** The dependencies that are no guards. */
  readonly rest: Stage;
  readonly #wanted: readonly Need[];

  /**
   * Prepares the order.
   *
   * @param deps What the handler wants, by name.
   */
  constructor(deps: ReadonlyMap<string, PreparedDependency>) {
    const places = new Map<PreparedDependency, number>();
    this.#wanted = needsOf(deps, places);
    this.nodes = [...places.keys()];
    const guarding = guardsAmong(this.nodes);
    const steps = this.nodes.map((node, place): Step => ({ node, place, needs: needsOf(node.deps, places) }));
    const isOne = steps.length === 1;
    const guard = new Stage(steps.filter(({ node }) => guarding.has(node)), isOne);
    this.guards = guard.isEmpty ? [] : [guard];
    this.rest = new Stage(steps.filter(({ node }) => !guarding.has(node)), isOne);
  }

  /**
   * Adds what was made to the handler's arguments.
   *
   * @param own The handler's arguments.
   * @param made What {@linkcode Stage.make} gave, of the last stage that is not empty.
   */
  supply(own: Args, made: unknown): void {
    const isOne = this.nodes.length === 1;
    for (const [name, place] of this.#wanted) own[name] = isOne ? made : (made as readonly unknown[])[place];
  }
}

/** Dependencies that are made together. */
export class Stage {
  readonly #steps: readonly Step[];
  readonly #isOne: boolean;

  /**
   * Prepares a stage.
   *
   * @param steps The dependencies; each comes after those of the same stage that it needs.
   * @param isOne Whether it has the only dependency of the route.
   */
  constructor(steps: readonly Step[], isOne: boolean) {
    this.#steps = steps;
    this.#isOne = isOne;
  }

  /** Whether there is nothing to make. */
  get isEmpty(): boolean {
    return this.#steps.length === 0;
  }

  /**
   * The dependencies, in the order in which their arguments are given to {@linkcode Stage.make}.
   */
  get nodes(): readonly PreparedDependency[] {
    return this.#steps.map((step) => step.node);
  }

  /**
   * Makes the dependencies.
   *
   * @param request The request.
   * @param args The arguments of each dependency.
   * @param first Where those of the first dependency stand among them.
   * @param made What the stages before gave; undefined for the first stage.
   * @returns The values by their places. Of a route with one dependency it is the value itself,
   *   which saves a promise.
   */
  make(request: HttpRequest, args: readonly Args[], first: number, made: unknown): Promise<unknown> {
    if (this.#isOne) return make(this.#steps[0]!.node, request, args[first]!);
    return this.#makeAll(request, args, first, (made ?? []) as unknown[]);
  }

  async #makeAll(
    request: HttpRequest,
    args: readonly Args[],
    first: number,
    values: unknown[],
  ): Promise<readonly unknown[]> {
    const steps = this.#steps;
    if (steps.length === 1) {
      const { node, place, needs } = steps[0]!;
      values[place] = await makeAfter(needs, values, node, request, args[first]!);
      return values;
    }
    const making: Promise<unknown>[] = [];
    for (let index = 0; index < steps.length; index++) {
      const { node, place, needs } = steps[index]!;
      const value = makeAfter(needs, values, node, request, args[first + index]!);
      making.push(value);
      values[place] = value;
    }
    // All have to be over before the reply is made: what one of them opened late would never be cleaned up.
    const results = await Promise.allSettled(making);
    for (let index = 0; index < steps.length; index++) {
      const result = results[index]!;
      if (result.status === "rejected") throw result.reason;
      values[steps[index]!.place] = result.value;
    }
    return values;
  }
}

/** Gives each dependency a place behind those that it needs, and lists the places by name. */
function needsOf(deps: ReadonlyMap<string, PreparedDependency>, places: Map<PreparedDependency, number>): Need[] {
  return [...deps].map(([name, node]) => {
    if (!places.has(node)) {
      needsOf(node.deps, places);
      places.set(node, places.size);
    }
    return [name, places.get(node)!];
  });
}

function guardsAmong(nodes: readonly PreparedDependency[]): ReadonlySet<PreparedDependency> {
  const guards = new Set<PreparedDependency>();
  const add = (node: PreparedDependency): void => {
    if (guards.has(node)) return;
    guards.add(node);
    for (const needed of node.deps.values()) add(needed);
  };
  for (const node of nodes) if (node.security.length > 0) add(node);
  return guards;
}

/**
 * Makes a dependency once what it needs is there. Values of earlier stages are; a promise stands
 * for those of the same stage.
 */
function makeAfter(
  needs: readonly Need[],
  values: readonly unknown[],
  node: PreparedDependency,
  request: HttpRequest,
  args: Args,
): Promise<unknown> {
  for (let index = 0; index < needs.length; index++) {
    const [name, place] = needs[index]!;
    const value = values[place];
    if (value instanceof Promise) return makeLater(needs.slice(index), values, node, request, args);
    args[name] = value;
  }
  return make(node, request, args);
}

async function makeLater(
  needs: readonly Need[],
  values: readonly unknown[],
  node: PreparedDependency,
  request: HttpRequest,
  args: Args,
): Promise<unknown> {
  for (const [name, place] of needs) args[name] = await values[place];
  return await make(node, request, args);
}

function make(node: PreparedDependency, request: HttpRequest, args: Args): Promise<unknown> {
  const made = node.resolve(request, args);
  return node.cleansUp ? open(node, made as AsyncGenerator<unknown, void, void>, request) : made as Promise<unknown>;
}

async function open(
  node: PreparedDependency,
  generator: AsyncGenerator<unknown, void, void>,
  request: HttpRequest,
): Promise<unknown> {
  const { done, value } = await generator.next();
  if (done) {
    throw new TypeError(
      `Cannot resolve the dependency "${node.name}": it ended without yielding a value`,
    );
  }
  // Going on, rather than throwing into it, reaches the cleanup also where it stands behind no try.
  contextOf(request).addCleanup(async () => {
    if ((await generator.next()).done) return;
    await generator.return();
    throw new TypeError(
      `Cannot clean up the dependency "${node.name}": it yielded more than once`,
    );
  });
  return value;
}
