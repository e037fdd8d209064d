/** Resolves the dependencies of a request: each once, in parallel where they are independent. */
import { contextOf, type HttpRequest } from "../http/request.ts";
import { tracing } from "../log/telemetry.ts";
import { type PreparedDependency, spanNameOf } from "./dependency.ts";
import { guardsAmong, roundsOf } from "./guard_order.ts";
import { isExpected, OpenDependency } from "./open_dependency.ts";
import type { Args } from "./text_fields.ts";

/**
 * The values of a route's dependencies, an array. Of a route with one dependency it is the value
 * itself, which saves a promise. Undefined before the first stage.
 */
export type Values = unknown;

/** The index of each dependency's value. A dependency comes after those that it needs. */
export type Indices = ReadonlyMap<PreparedDependency, number>;

/** The indices before the first dependency is made. */
export const NOTHING_MADE: Indices = new Map();

/** The argument name of a dependency, and its index among the values. */
type Need = readonly [name: string, index: number];

interface Step {
  readonly dependency: PreparedDependency;
  /** The index of its value. */
  readonly index: number;
  readonly needs: readonly Need[];
}

/** Dependencies that are resolved together. */
export class Stage {
  /** Each dependency after those of the stage that it needs. */
  readonly dependencies: readonly PreparedDependency[];
  readonly #steps: readonly Step[];

  /**
   * Prepares a stage.
   *
   * @param dependencies The dependencies, each after those of the stage that it needs.
   * @param indices The indices of these dependencies, and of those that they need.
   */
  constructor(dependencies: readonly PreparedDependency[], indices: Indices) {
    this.dependencies = dependencies;
    this.#steps = dependencies.map((dependency) => ({
      dependency,
      index: indices.get(dependency)!,
      needs: needsOf(dependency.deps, indices),
    }));
  }

  get isEmpty(): boolean {
    return this.#steps.length === 0;
  }

  /** The index of the value, if the stage has one dependency. */
  get onlyIndex(): number | undefined {
    return this.#steps.length === 1 ? this.#steps[0]!.index : undefined;
  }

  /**
   * Resolves the dependency of a stage that has only one.
   *
   * @param request The request.
   * @param args The arguments of the dependency.
   * @param values The values of earlier stages.
   */
  resolveOnly(request: HttpRequest, args: Args, values: readonly unknown[]): Promise<unknown> {
    return resolveStep(this.#steps[0]!, values, request, args);
  }

  /**
   * Resolves the dependencies, and adds their values.
   *
   * @param request The request.
   * @param args The arguments of each dependency, in the order of {@linkcode Stage.dependencies}.
   * @param first The index of the first dependency's arguments.
   * @param values The values of earlier stages.
   */
  async resolve(
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
 * The order of a route's own dependencies, in two stages, after those of its scopes: the guards
 * with what they need, then the others.
 */
export class Resolver {
  /** All dependencies, also those that the scopes have made before. */
  readonly dependencies: readonly PreparedDependency[];
  /** The guards with what they need, in the rounds in which they run. */
  readonly guards: readonly Stage[];
  /** The dependencies that are not guards. */
  readonly others: Stage;
  /** Whether the request has one dependency, with those of the scopes. */
  readonly isSingle: boolean;
  /** The indices of all dependencies, with those of the scopes. */
  readonly indices: Indices;
  readonly #handed: readonly Need[];

  /**
   * Prepares the order.
   *
   * @param made The dependencies that the scopes have made before.
   * @param standing Those of them that stand on a scope.
   * @param handed Those of them that the handler gets, by name.
   * @param deps The dependencies of the route, by name.
   * @param counted Further guards of the route, which the handler does not get.
   */
  constructor(
    made: Indices,
    standing: readonly PreparedDependency[],
    handed: ReadonlyMap<string, PreparedDependency>,
    deps: ReadonlyMap<string, PreparedDependency>,
    counted: readonly PreparedDependency[],
  ) {
    const indices = withDependencies([...deps.values(), ...counted], made);
    this.dependencies = [...indices.keys()];
    const own = this.dependencies.slice(made.size);
    this.indices = indices;
    const guards = guardsAmong(own, [...standing, ...counted]);
    const first = withNeeded(guards);
    this.guards = stagesOf(own.filter((dependency) => first.has(dependency)), guards, indices);
    this.others = new Stage(own.filter((dependency) => !first.has(dependency)), indices);
    this.isSingle = indices.size === 1;
    this.#handed = [...needsOf(handed, indices), ...needsOf(deps, indices)];
  }

  /** Whether the handler gets no value of a dependency. */
  get handsNothing(): boolean {
    return this.#handed.length === 0;
  }

  /** Adds the values to the arguments of the handler. */
  supply(args: Args, values: Values): void {
    const { isSingle } = this;
    for (const [name, index] of this.#handed) args[name] = isSingle ? values : (values as readonly unknown[])[index];
  }

  /**
   * Resolves the dependencies that are not guards.
   *
   * @param request The request.
   * @param args The arguments of the handler, then those of each dependency.
   * @param values The values of the guards.
   */
  resolveOthers(request: HttpRequest, args: readonly Args[], values: Values): Promise<Values> {
    if (this.isSingle) return this.others.resolveOnly(request, args[1]!, NO_VALUES);
    return this.others.resolve(request, args, 1, (values ?? []) as unknown[]);
  }
}

const NO_VALUES: readonly unknown[] = [];

/** Gives each further dependency an index, after those that it needs. */
export function withDependencies(dependencies: Iterable<PreparedDependency>, known: Indices): Indices {
  const indices = new Map(known);
  const add = (dependency: PreparedDependency): void => {
    if (indices.has(dependency)) return;
    for (const needed of dependency.deps.values()) add(needed);
    indices.set(dependency, indices.size);
  };
  for (const dependency of dependencies) add(dependency);
  return indices;
}

function needsOf(deps: ReadonlyMap<string, PreparedDependency>, indices: Indices): Need[] {
  return Array.from(deps, ([name, dependency]) => [name, indices.get(dependency)!]);
}

/** The stages of guards and of what they need. */
export function stagesOf(
  dependencies: readonly PreparedDependency[],
  guards: ReadonlySet<PreparedDependency>,
  indices: Indices,
): readonly Stage[] {
  if (dependencies.length === 0) return [];
  return roundsOf(dependencies, guards).map((round) => new Stage(round, indices));
}

/** Dependencies, and what they need. */
function withNeeded(dependencies: Iterable<PreparedDependency>): ReadonlySet<PreparedDependency> {
  const all = new Set(dependencies);
  // A set is also iterated over what is added meanwhile.
  for (const { deps } of all) {
    for (const needed of deps.values()) all.add(needed);
  }
  return all;
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
  return resolveOne(step.dependency, request, args);
}

async function resolveLater(
  { dependency, needs }: Step,
  from: number,
  values: readonly unknown[],
  request: HttpRequest,
  args: Args,
): Promise<unknown> {
  for (const [name, index] of needs.slice(from)) args[name] = await values[index];
  return await resolveOne(dependency, request, args);
}

/** Makes the value of one dependency. */
export function resolveOne(dependency: PreparedDependency, request: HttpRequest, args: Args): Promise<unknown> {
  if (!tracing) return make(dependency, request, args);
  return tracing.run(`dependency ${spanNameOf(dependency)}`, { isExpected }, () => make(dependency, request, args));
}

function make(dependency: PreparedDependency, request: HttpRequest, args: Args): Promise<unknown> {
  const result = dependency.resolve(request, args);
  return dependency.cleansUp
    ? open(dependency, result as AsyncGenerator<unknown, void, void>, request)
    : valueOf(result as Promise<unknown>);
}

/** Whoever writes `return` for `throw` in a guard lets nobody in. */
async function valueOf(result: Promise<unknown>): Promise<unknown> {
  const value = await result;
  if (value instanceof Error) throw value;
  return value;
}

async function open(
  { name, endsWithHandler }: PreparedDependency,
  generator: AsyncGenerator<unknown, void, void>,
  request: HttpRequest,
): Promise<unknown> {
  const { done, value } = await generator.next();
  if (done) throw new TypeError(`Cannot resolve the dependency "${name}": it ended without yielding a value`);
  const opened = new OpenDependency(name, generator, endsWithHandler, contextOf(request));
  if (value instanceof Error) throw (await opened.fail(value)).thrown;
  contextOf(request).addOpened(opened);
  return value;
}
