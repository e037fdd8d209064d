/**
 * Makes dependencies on a request that no route serves, each once: for questions about routes
 * before a request for one of them comes.
 */
import type { HttpRequest } from "../http/request.ts";
import type { PreparedDependency } from "./dependency.ts";
import { ownersOf } from "./scope_guards.ts";
import { resolveOne } from "./resolver.ts";
import { type Args, bindAnyText, NO_PATH, TextFields } from "./text_fields.ts";

/** The headers and cookies of dependencies, compiled at first use. */
const compiled = new WeakMap<PreparedDependency, TextFields>();

/** The dependencies of one request. */
export class RequestDependencies {
  readonly #request: HttpRequest;
  readonly #made = new Map<PreparedDependency, Promise<unknown>>();

  constructor(request: HttpRequest) {
    this.#request = request;
  }

  /**
   * The value of a dependency, which is made at the first call together with those that it needs.
   *
   * @throws {ValidationError} If its headers or cookies are invalid.
   */
  get(dependency: PreparedDependency): Promise<unknown> {
    let made = this.#made.get(dependency);
    if (!made) this.#made.set(dependency, made = this.#make(dependency));
    return made;
  }

  async #make(dependency: PreparedDependency): Promise<unknown> {
    const needs = Array.from(dependency.deps, ([name, needed]) => [name, this.get(needed)] as const);
    // All must settle before the reply: a resource that opens later would never be cleaned up.
    await Promise.allSettled(needs.map(([, value]) => value));
    const args = await bind(dependency, this.#request);
    for (const [name, value] of needs) args[name] = await value;
    return await resolveOne(dependency, this.#request, args);
  }
}

/** Whether a dependency, or one that it needs, reads the path or the query of its route. */
export function readsRoute({ options: { params = {}, query = {} }, deps }: PreparedDependency): boolean {
  return Object.keys(params).length > 0 || Object.keys(query).length > 0 || deps.values().some(readsRoute);
}

async function bind(dependency: PreparedDependency, request: HttpRequest): Promise<Args> {
  let fields = compiled.get(dependency);
  if (!fields) {
    fields = new TextFields(ownersOf({ dependencies: [dependency] }, "a list of tools"), NO_PATH);
    compiled.set(dependency, fields);
  }
  const [args] = await bindAnyText(fields, request);
  return args!;
}
