/** Makes the dependencies of a request, each once, in parallel where they do not need one another. */
import { exchangeOf, type HttpRequest } from "../http/request.ts";
import type { DependencyNode } from "./dependency.ts";
import type { Args } from "./text_fields.ts";

interface Step {
  readonly node: DependencyNode;
  /** The names under which it wants other steps' values. */
  readonly needs: readonly (readonly [name: string, step: number])[];
}

/** The prepared order of a route's dependencies. */
export class Resolver {
  readonly #steps: readonly Step[];
  readonly #wanted: readonly (readonly [name: string, step: number])[];

  /**
   * Prepares the order: each comes after those that it needs.
   *
   * @param deps What the handler wants, by name.
   */
  constructor(deps: ReadonlyMap<string, DependencyNode>) {
    const steps: Step[] = [];
    const places = new Map<DependencyNode, number>();
    const place = (node: DependencyNode): number => {
      const known = places.get(node);
      if (known !== undefined) return known;
      const needs = [...node.deps].map(([name, needed]) => [name, place(needed)] as const);
      places.set(node, steps.length);
      return steps.push({ node, needs }) - 1;
    };
    this.#wanted = [...deps].map(([name, node]) => [name, place(node)] as const);
    this.#steps = steps;
  }

  /** All dependencies, in the order in which their arguments are given to {@linkcode Resolver.resolve}. */
  get nodes(): readonly DependencyNode[] {
    return this.#steps.map((step) => step.node);
  }

  /**
   * Makes them all.
   *
   * @param request The request.
   * @param args The handler's arguments, which get what it wants; then those of each dependency.
   */
  async resolve(request: HttpRequest, args: readonly Args[]): Promise<void> {
    const values: Promise<unknown>[] = [];
    for (const [index, step] of this.#steps.entries()) {
      values.push(run(step, request, args[index + 1]!, values));
    }
    // All have to be over before the reply is made: what one of them opened late would never be cleaned up.
    const results = await Promise.allSettled(values);
    for (const result of results) {
      if (result.status === "rejected") throw result.reason;
    }
    const own = args[0]!;
    for (const [name, step] of this.#wanted) {
      own[name] = (results[step] as PromiseFulfilledResult<unknown>).value;
    }
  }
}

async function run(
  { node, needs }: Step,
  request: HttpRequest,
  args: Args,
  values: readonly Promise<unknown>[],
): Promise<unknown> {
  for (const [name, step] of needs) args[name] = await values[step];
  const made = node.resolve(request, args);
  return node.cleansUp ? await open(node, made as AsyncGenerator<unknown, void, void>, request) : await made;
}

async function open(
  node: DependencyNode,
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
  exchangeOf(request).openCompletion().addCleanup(async () => {
    if ((await generator.next()).done) return;
    await generator.return();
    throw new TypeError(
      `Cannot clean up the dependency "${node.name}": it yielded more than once`,
    );
  });
  return value;
}
