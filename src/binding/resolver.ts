/** Resolves the dependencies of a request: each once, in parallel where they are independent. */
import { contextOf, type HttpRequest } from "../http/request.ts";
import { tracing } from "../log/telemetry.ts";
import { type PreparedDependency, spanNameOf } from "./dependency.ts";
import type { Indices } from "./guards.ts";
import { isExpected, OpenDependency } from "./open_dependency.ts";
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

/** The arguments that the dependencies become, with the indices of their values. */
export function needsOf(deps: ReadonlyMap<string, PreparedDependency>, indices: Indices): readonly Need[] {
  return Array.from(deps, ([name, dependency]) => [name, indices.get(dependency)!]);
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
