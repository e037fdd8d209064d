/**
 * Which tools the guards let a caller use, as far as they can say before a call: for lists of tools
 * and for the challenge to a client that connects.
 */
import type { PreparedDependency } from "../../binding/dependency.ts";
import { InnerGuard, type Made } from "../../binding/guard.ts";
import { type HTTPError, isHTTPError } from "../../errors.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { Route } from "../../routing/route.ts";
import { guardLevelsOf } from "../route/security.ts";

/** The answers of guards to one request of an agent. Each guard is asked once. */
export class Permissions {
  readonly #caller: HttpRequest;
  readonly #made: Made = new Map();

  constructor(caller: HttpRequest) {
    this.#caller = caller;
  }

  /**
   * What the guards of a tool refuse the caller with: those of the outermost scope first, and those
   * of one scope at once. Guards that read arguments are not asked. Undefined if all let it in.
   *
   * @throws If a guard fails, and so does not know.
   */
  async refusalOf(tool: Route): Promise<HTTPError | undefined> {
    for (const guards of askableGuards(tool)) {
      const results = await Promise.allSettled(guards.map((guard) => guard.run(this.#caller, this.#made)));
      const refused = results.find((result) => result.status === "rejected");
      if (!refused) continue;
      if (isHTTPError(refused.reason) && refused.reason.status < 500) return refused.reason;
      throw refused.reason;
    }
    return undefined;
  }
}

const askable = new WeakMap<Route, readonly (readonly InnerGuard[])[]>();
/** Tools share what is compiled for a guard. */
const prepared = new WeakMap<PreparedDependency, InnerGuard>();

function askableGuards(tool: Route): readonly (readonly InnerGuard[])[] {
  let levels = askable.get(tool);
  if (!levels) {
    levels = guardLevelsOf(tool).map((guards) => guards.filter((guard) => !readsRoute(guard)).map(preparedGuard));
    askable.set(tool, levels);
  }
  return levels;
}

function preparedGuard(guard: PreparedDependency): InnerGuard {
  let inner = prepared.get(guard);
  if (!inner) prepared.set(guard, inner = new InnerGuard(guard));
  return inner;
}

/** Whether a dependency, or one that it needs, reads the path or the query of its route. */
function readsRoute({ options: { params = {}, query = {} }, deps }: PreparedDependency): boolean {
  return Object.keys(params).length > 0 || Object.keys(query).length > 0 || deps.values().some(readsRoute);
}
