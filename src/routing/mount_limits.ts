/** The limits around a mount, by which the application that is mounted counts calls of agents. */
import type { Values } from "../binding/resolver.ts";
import { type Mounted, mountedOf } from "../http/connection.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { type CompiledRoute, countAgain } from "./compile.ts";

/** The key of the function that counts a request once more. */
const LIMITS = {};

/**
 * Keeps what counts a request once more: by the limits around the mount, the outermost first.
 *
 * @param values The values of the guards around the mount.
 */
export function keepLimits(request: HttpRequest, values: Values, mount: CompiledRoute): void {
  const { kept, connection } = contextOf(request);
  const outer = mountedOf(connection)?.countAgain;
  kept.set(LIMITS, async () => {
    await outer?.();
    await countAgain(request, values, mount);
  });
}

/** What counts a request once more; undefined without limits around the mount. */
export function keptLimits(request: HttpRequest): Mounted["countAgain"] {
  const { kept, connection } = contextOf(request);
  return kept.get(LIMITS) as Mounted["countAgain"] ?? mountedOf(connection)?.countAgain;
}
