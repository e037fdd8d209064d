/**
 * The tools that guards permit before a call: for lists, and to challenge a client that connects.
 */
import type { PreparedDependency } from "../../binding/dependency.ts";
import { InnerGuard, type Made } from "../../binding/guard.ts";
import { guardsOf } from "../../binding/levels.ts";
import { type HTTPError, isHTTPError } from "../../base/errors.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { RateLimiter } from "../../rate_limit/limiter.ts";
import type { Route } from "../../routing/route.ts";

/**
 * Runs each guard and limit once for a request. `runRoute` would run them, and the middleware, for
 * each tool, and refuse because of arguments that a list does not have.
 */
export class Permissions {
  readonly #caller: HttpRequest;
  readonly #made: Made = new Map();
  readonly #counted = new Map<RateLimiter, Promise<void>>();

  constructor(caller: HttpRequest) {
    this.#caller = caller;
  }

  /**
   * Undefined if no limit or guard of the tool refuses. Guards that read arguments do not run.
   *
   * Outer scopes come first, and guards of one scope run in parallel. The limits before a guard
   * count the request, so lists cannot be used to guess credentials.
   *
   * @throws If a guard fails.
   */
  async refusalOf(tool: Route): Promise<HTTPError | undefined> {
    try {
      const limits: (() => Promise<void>)[] = [];
      for (const [level, guards] of earlyGuards(tool).entries()) {
        const { before, after } = tool.compiled.limits[level]!;
        for (const limiter of before) limits.push(() => this.#count(limiter, () => limiter.check(this.#caller)));
        if (guards.some((guard) => !guard.isMade(this.#made))) { for (const count of limits.splice(0)) await count(); }
        await this.#runAll(guards);
        for (const { limiter, dependency } of after) limits.push(() => this.#countValue(limiter, dependency));
      }
    } catch (thrown) {
      if (isHTTPError(thrown) && thrown.status < 500) return thrown;
      throw thrown;
    }
    return undefined;
  }

  async #runAll(guards: readonly InnerGuard[]): Promise<void> {
    const results = await Promise.allSettled(guards.map((guard) => guard.run(this.#caller, this.#made)));
    const refused = results.find((result) => result.status === "rejected");
    if (refused) throw refused.reason;
  }

  async #countValue(limiter: RateLimiter, dependency: PreparedDependency): Promise<void> {
    if (readsRoute(dependency)) return;
    const value = await preparedGuard(dependency).run(this.#caller, this.#made);
    await this.#count(limiter, () => limiter.checkValue(this.#caller, value));
  }

  #count(limiter: RateLimiter, check: () => Promise<void> | undefined): Promise<void> {
    return this.#counted.getOrInsertComputed(limiter, async () => await check());
  }
}

const earlyGuardsOf = new WeakMap<Route, readonly (readonly InnerGuard[])[]>();
/** Shared by tools. */
const prepared = new WeakMap<PreparedDependency, InnerGuard>();

function earlyGuards(tool: Route): readonly (readonly InnerGuard[])[] {
  return earlyGuardsOf.getOrInsertComputed(tool, () => {
    return guardsOf(tool.levels).map((guards) => guards.filter((guard) => !readsRoute(guard)).map(preparedGuard));
  });
}

function preparedGuard(guard: PreparedDependency): InnerGuard {
  return prepared.getOrInsertComputed(guard, () => new InnerGuard(guard));
}

/** Whether a dependency, or one of its own, reads the path or the query. */
function readsRoute({ options: { params = {}, query = {} }, deps }: PreparedDependency): boolean {
  return Object.keys(params).length > 0 || Object.keys(query).length > 0 || deps.values().some(readsRoute);
}
