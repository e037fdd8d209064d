/** Resolves the dependencies of a request: each once, in parallel where they are independent. */
import { deferred } from "../base/async_context.ts";
import { isHTTPError } from "../base/errors.ts";
import type { Failure, Opened } from "../http/after_response.ts";
import { isThrownReply } from "../http/reply.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { describeError, type Logger } from "../log/log.ts";
import { tracing } from "../log/telemetry.ts";
import { type PreparedDependency, spanNameOf } from "./dependency.ts";
import type { Indices } from "./levels.ts";
import type { Args } from "./text_fields.ts";

/**
 * The values of a route's dependencies, an array. Of a route with one dependency it is the value
 * itself, which saves a promise. Undefined before the first stage.
 */
export type Values = unknown;

/** The argument that a dependency becomes, and the index of its value. */
type Need = readonly [name: string, index: number];

interface Step {
  readonly dependency: PreparedDependency;
  readonly index: number;
  readonly needs: readonly Need[];
}

/** Dependencies that are resolved together. */
export class Stage {
  /** Each dependency after those of the stage that it needs. */
  readonly dependencies: readonly PreparedDependency[];
  readonly #steps: readonly Step[];

  /**
   * @param dependencies Each after those of the stage that it needs.
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

  /** Resolves the dependency of a stage that has only one. */
  resolveOnly(request: HttpRequest, args: Args, values: readonly unknown[]): Promise<unknown> {
    return resolveStep(this.#steps[0]!, values, request, args);
  }

  /**
   * Resolves the dependencies, and adds their values.
   *
   * @param args The arguments of each dependency, in order, from the index `first`.
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

/** Runs the function of a dependency. */
type Observer = (dependency: PreparedDependency, run: () => Promise<unknown>) => Promise<unknown>;

/** Undefined where no application shows its board. */
let observer: Observer | undefined;

/** Also measures the dependencies of requests. */
export function observeDependencies(observe: Observer | undefined): void {
  observer = observe;
}

export function resolveOne(dependency: PreparedDependency, request: HttpRequest, args: Args): Promise<unknown> {
  if (observer && contextOf(request).isRecorded) {
    return observer(dependency, () => resolveNow(dependency, request, args));
  }
  return resolveNow(dependency, request, args);
}

function resolveNow(dependency: PreparedDependency, request: HttpRequest, args: Args): Promise<unknown> {
  if (!tracing) return make(dependency, request, args);
  return tracing.run(`dependency ${spanNameOf(dependency)}`, { isExpected }, () => make(dependency, request, args));
}

function make(dependency: PreparedDependency, request: HttpRequest, args: Args): Promise<unknown> {
  const result = dependency.resolve(request, args);
  return dependency.cleansUp
    ? open(dependency, result as AsyncGenerator<unknown, void, void>, request)
    : valueOf(result as Promise<unknown>);
}

/** A returned Error refuses like a thrown one. */
async function valueOf(result: Promise<unknown>): Promise<unknown> {
  const value = await result;
  if (value instanceof Error) throw value;
  return value;
}

async function open(
  dependency: PreparedDependency,
  generator: AsyncGenerator<unknown, void, void>,
  request: HttpRequest,
): Promise<unknown> {
  const { name, endsWithHandler } = dependency;
  const { done, value } = await generator.next();
  if (done) throw new TypeError(`Cannot resolve the dependency "${name}": it ended without yielding a value`);
  const opened = new OpenDependency(spanNameOf(dependency), generator, endsWithHandler, contextOf(request));
  if (value instanceof Error) throw (await opened.fail(value)).thrown;
  contextOf(request).addOpened(opened);
  return value;
}

/** Resumes a generator after its `yield`, by an error where there is one. */
type Resume = (failure: Failure | undefined) => Promise<IteratorResult<unknown, void>>;

/** A dependency between its `yield` and its end. It ends in the async context in which it began. */
export class OpenDependency implements Opened {
  readonly name: string;
  readonly endsWithHandler: boolean;
  readonly #generator: AsyncGenerator<unknown, void, void>;
  readonly #resume: Resume;
  readonly #logger: Logger;
  #hasEnded = false;

  /**
   * @param endsWithHandler Whether it ends before the reply is sent.
   * @param logger Writes an error that another one replaces.
   */
  constructor(name: string, generator: AsyncGenerator<unknown, void, void>, endsWithHandler: boolean, logger: Logger) {
    this.endsWithHandler = endsWithHandler;
    this.name = name;
    this.#generator = generator;
    this.#resume = deferred((failure) => failure ? generator.throw(failure.thrown) : generator.next());
    this.#logger = logger;
  }

  async end(): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    // next() rather than return(), because it also runs code that is not in a finally block.
    if (!(await this.#resume(undefined)).done) throw await this.#yieldedAgain();
  }

  async fail(thrown: unknown): Promise<Failure> {
    const failure: Failure = { thrown };
    if (this.#hasEnded) return failure;
    this.#hasEnded = true;
    try {
      if ((await this.#resume(failure)).done) return failure;
      throw await this.#yieldedAgain(failure);
    } catch (error) {
      if (error !== thrown) this.#logReplaced(thrown, error);
      return { thrown: error };
    }
  }

  async #yieldedAgain(failure?: Failure): Promise<TypeError> {
    await this.#generator.return();
    const when = failure ? " after an error" : "";
    return new TypeError(
      `Cannot clean up the dependency "${this.name}": it yielded more than once${when}, yield one value`,
      failure ? { cause: failure.thrown } : {},
    );
  }

  /** The log gets the error of the reply alone: another fault behind it would be lost. */
  #logReplaced(thrown: unknown, error: unknown): void {
    if (isExpected(thrown) || isExpected(error) || isCauseOf(thrown, error)) return;
    this.#logger.log("error", "A dependency failed after another error", {
      dependency: this.name,
      error: describeError(thrown),
    });
  }
}

/** Whether an error is the answer to a client: a refusal of a guard, say. */
export function isExpected(thrown: unknown): boolean {
  return isThrownReply(thrown) || (isHTTPError(thrown) && thrown.status < 500);
}

function isCauseOf(thrown: unknown, error: unknown): boolean {
  const seen = new Set<unknown>();
  try {
    for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
      if (cause.cause === thrown) return true;
      seen.add(cause);
    }
  } catch {
    // A proxy may throw for any operation.
  }
  return false;
}
