/**
 * Which tools the guards let a caller use, as far as they can say before a call: for lists of tools
 * and for the challenge to a client that connects.
 */
import type { PreparedDependency } from "../../binding/dependency.ts";
import { readsRoute, RequestDependencies } from "../../binding/request_dependencies.ts";
import { type HTTPError, isHTTPError } from "../../errors.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { Route } from "../../routing/route.ts";
import { guardLevelsOf } from "../route/security.ts";

/** The answers of guards to one request of an agent. Each guard is asked once. */
export class Permissions {
  readonly #dependencies: RequestDependencies;

  constructor(caller: HttpRequest) {
    this.#dependencies = new RequestDependencies(caller);
  }

  /**
   * What the guards of a tool refuse the caller with: those of the outermost scope first, and those
   * of one scope at once. Guards that read arguments are not asked. Undefined if all let it in.
   *
   * @throws If a guard fails, and so does not know.
   */
  async refusalOf(tool: Route): Promise<HTTPError | undefined> {
    for (const guards of askableGuards(tool)) {
      const results = await Promise.allSettled(guards.map((guard) => this.#dependencies.get(guard)));
      const refused = results.find((result) => result.status === "rejected");
      if (!refused) continue;
      if (isHTTPError(refused.reason) && refused.reason.status < 500) return refused.reason;
      throw refused.reason;
    }
    return undefined;
  }
}

const askable = new WeakMap<Route, readonly (readonly PreparedDependency[])[]>();

function askableGuards(tool: Route): readonly (readonly PreparedDependency[])[] {
  let levels = askable.get(tool);
  if (!levels) {
    levels = guardLevelsOf(tool).map((guards) => guards.filter((guard) => !readsRoute(guard)));
    askable.set(tool, levels);
  }
  return levels;
}
