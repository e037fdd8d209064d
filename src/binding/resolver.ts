/** Resolves the dependencies of a request: each once, in parallel where they are independent. */
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { PreparedDependency } from "./dependency.ts";
import type { Args } from "./text_fields.ts";

/**
 * The values of a route's dependencies, an array. Of a route with one dependency it is the value
 * itself, which saves a promise. Undefined before the first stage.
 */
export type Values = unknown;

/** The argument name of a dependency, and its index among the values. */
type Need = readonly [name: string, index: number];

interface Step {
  readonly dependency: PreparedDependency;
  /** The index of its value. */
  readonly index: number;
  readonly needs: readonly Need[];
}

/**
 * The order of a route's dependencies, in two stages. Guards are the dependencies that declare
 * `security`, and those that they need. They run before any other input is validated.
 */
export class Resolver {
  /** All dependencies, each after those that it needs. */
  readonly dependencies: readonly PreparedDependency[];
  readonly guards: Stage;
  /** The dependencies that are not guards. */
  readonly others: Stage;
  readonly #needs: readonly Need[];

  /**
   * Prepares the order.
   *
   * @param deps The dependencies of the handler, by name.
   */
  constructor(deps: ReadonlyMap<string, PreparedDependency>) {
    const indices = new Map<PreparedDependency, number>();
    this.#needs = needsOf(deps, indices);
    this.dependencies = [...indices.keys()];
    const steps = Array.from(indices, ([dependency, index]) => ({
      dependency,
      index,
      needs: needsOf(dependency.deps, indices),
    }));
    const guards = guardsAmong(this.dependencies);
    const isSingle = steps.length === 1;
    this.guards = new Stage(steps.filter(({ dependency }) => guards.has(dependency)), isSingle);
    this.others = new Stage(steps.filter(({ dependency }) => !guards.has(dependency)), isSingle);
  }

  /** Adds the values to the arguments of the handler. */
  supply(args: Args, values: Values): void {
    const isSingle = this.dependencies.length === 1;
    for (const [name, index] of this.#needs) args[name] = isSingle ? values : (values as readonly unknown[])[index];
  }
}

/** Dependencies that are resolved together. */
export class Stage {
  readonly #steps: readonly Step[];
  readonly #isSingle: boolean;

  /**
   * Prepares a stage.
   *
   * @param steps The dependencies, each after those of the stage that it needs.
   * @param isSingle Whether the route has only one dependency.
   */
  constructor(steps: readonly Step[], isSingle: boolean) {
    this.#steps = steps;
    this.#isSingle = isSingle;
  }

  get isEmpty(): boolean {
    return this.#steps.length === 0;
  }

  get dependencies(): readonly PreparedDependency[] {
    return this.#steps.map((step) => step.dependency);
  }

  /**
   * Resolves the dependencies.
   *
   * @param request The request.
   * @param args The arguments of each dependency, in the order of {@linkcode Stage.dependencies}.
   * @param first The index of the first dependency's arguments.
   * @param values The values of the earlier stage.
   */
  resolve(request: HttpRequest, args: readonly Args[], first: number, values: Values): Promise<Values> {
    if (this.#isSingle) return resolve(this.#steps[0]!.dependency, request, args[first]!);
    return this.#resolveAll(request, args, first, (values ?? []) as unknown[]);
  }

  async #resolveAll(
    request: HttpRequest,
    args: readonly Args[],
    first: number,
    values: unknown[],
  ): Promise<readonly unknown[]> {
    const steps = this.#steps;
    if (steps.length === 1) {
      const step = steps[0]!;
      values[step.index] = await resolveStep(step, values, request, args[first]!);
      return values;
    }
    const pending = steps.map((step, position) =>
      values[step.index] = resolveStep(step, values, request, args[first + position]!)
    );
    // All must settle before the reply: a resource that opens later would never be cleaned up.
    const results = await Promise.allSettled(pending);
    for (let position = 0; position < steps.length; position++) {
      const result = results[position]!;
      if (result.status === "rejected") throw result.reason;
      values[steps[position]!.index] = result.value;
    }
    return values;
  }
}

/**
 * Gives each dependency an index after those that it needs, and lists the indices by argument name.
 */
function needsOf(deps: ReadonlyMap<string, PreparedDependency>, indices: Map<PreparedDependency, number>): Need[] {
  return [...deps].map(([name, dependency]) => {
    if (!indices.has(dependency)) {
      needsOf(dependency.deps, indices);
      indices.set(dependency, indices.size);
    }
    return [name, indices.get(dependency)!];
  });
}

function guardsAmong(dependencies: readonly PreparedDependency[]): ReadonlySet<PreparedDependency> {
  const guards = new Set<PreparedDependency>();
  const add = (dependency: PreparedDependency): void => {
    if (guards.has(dependency)) return;
    guards.add(dependency);
    for (const needed of dependency.deps.values()) add(needed);
  };
  for (const dependency of dependencies) if (dependency.security.length > 0) add(dependency);
  return guards;
}

/**
 * Resolves a dependency after those that it needs. Values of the same stage may still be promises.
 */
function resolveStep(step: Step, values: readonly unknown[], request: HttpRequest, args: Args): Promise<unknown> {
  const { needs } = step;
  for (let position = 0; position < needs.length; position++) {
    const [name, index] = needs[position]!;
    const value = values[index];
    if (value instanceof Promise) return resolveLater(step, position, values, request, args);
    args[name] = value;
  }
  return resolve(step.dependency, request, args);
}

async function resolveLater(
  { dependency, needs }: Step,
  from: number,
  values: readonly unknown[],
  request: HttpRequest,
  args: Args,
): Promise<unknown> {
  for (const [name, index] of needs.slice(from)) args[name] = await values[index];
  return await resolve(dependency, request, args);
}

function resolve(dependency: PreparedDependency, request: HttpRequest, args: Args): Promise<unknown> {
  const result = dependency.resolve(request, args);
  return dependency.cleansUp
    ? open(dependency, result as AsyncGenerator<unknown, void, void>, request)
    : result as Promise<unknown>;
}

async function open(
  { name }: PreparedDependency,
  generator: AsyncGenerator<unknown, void, void>,
  request: HttpRequest,
): Promise<unknown> {
  const { done, value } = await generator.next();
  if (done) throw new TypeError(`Cannot resolve the dependency "${name}": it ended without yielding a value`);
  // next() rather than return(), because it also runs a cleanup that is not in a finally block.
  contextOf(request).addCleanup(async () => {
    if ((await generator.next()).done) return;
    await generator.return();
    throw new TypeError(`Cannot clean up the dependency "${name}": it yielded more than once`);
  });
  return value;
}
