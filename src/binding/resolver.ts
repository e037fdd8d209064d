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
   * @param args The handler's arguments; then those of each dependency.
   * @returns What {@linkcode Resolver.supply} takes: the value itself where there is one dependency, which saves a promise.
   */
  resolve(request: HttpRequest, args: readonly Args[]): Promise<unknown> {
    return this.#steps.length === 1 ? make(this.#steps[0]!.node, request, args[1]!) : this.#resolveAll(request, args);
  }

  /** Adds what was made to the handler's arguments. */
  supply(own: Args, made: unknown): void {
    const isOne = this.#steps.length === 1;
    for (const [name, step] of this.#wanted) own[name] = isOne ? made : (made as readonly unknown[])[step];
  }

  async #resolveAll(request: HttpRequest, args: readonly Args[]): Promise<unknown[]> {
    const values: Promise<unknown>[] = [];
    for (let index = 0; index < this.#steps.length; index++) {
      const { node, needs } = this.#steps[index]!;
      const given = args[index + 1]!;
      values.push(needs.length === 0 ? make(node, request, given) : makeAfter(needs, values, node, request, given));
    }
    // All have to be over before the reply is made: what one of them opened late would never be cleaned up.
    const results = await Promise.allSettled(values);
    return results.map((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
  }
}

async function makeAfter(
  needs: Step["needs"],
  values: readonly Promise<unknown>[],
  node: DependencyNode,
  request: HttpRequest,
  args: Args,
): Promise<unknown> {
  for (const [name, step] of needs) args[name] = await values[step];
  return await make(node, request, args);
}

function make(node: DependencyNode, request: HttpRequest, args: Args): Promise<unknown> {
  const made = node.resolve(request, args);
  return node.cleansUp ? open(node, made as AsyncGenerator<unknown, void, void>, request) : made as Promise<unknown>;
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
