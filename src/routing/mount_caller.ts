/**
 * The caller of a request, through all mounts that it has passed: idempotency keys belong to
 * callers.
 */
import { load } from "../base/async_context.ts";
import type { Values } from "../binding/resolver.ts";
import { type Mounted, mountedOf } from "../http/connection.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { RouteDependencies } from "../idempotency/fingerprint.ts";

/** Under it, a request keeps what names its caller for the application of a mount. */
const CALLER = {};

/**
 * Names the caller of a request that has passed the guards of its route, and those around the mount
 * of its application.
 */
export async function callerThroughMounts(
  request: HttpRequest,
  values: Values,
  route: RouteDependencies,
): Promise<string> {
  const { callerOf } = await load(() => import("../idempotency/fingerprint.ts"));
  const own = await callerOf(request, values, route);
  const outer = await mountedOf(contextOf(request).connection)?.callerOf?.();
  return outer === undefined ? own : JSON.stringify([outer, own]);
}

/** Keeps what the guards of a mount know of the caller, for the application that is mounted. */
export function keepCaller(request: HttpRequest, values: Values, mount: RouteDependencies): void {
  contextOf(request).kept.set(CALLER, () => callerThroughMounts(request, values, mount));
}

/** What names the caller for the application of a mount; undefined without guards around it. */
export function keptCaller(request: HttpRequest): Mounted["callerOf"] {
  const { kept, connection } = contextOf(request);
  return kept.get(CALLER) as Mounted["callerOf"] ?? mountedOf(connection)?.callerOf;
}
