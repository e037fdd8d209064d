/** The caller of a request, as the guards of its route know it: keys belong to callers. */
import { callerThrough } from "../binding/caller.ts";
import type { PreparedDependency } from "../binding/dependency.ts";
import type { Indices } from "../binding/guards.ts";
import type { Values } from "../binding/resolver.ts";
import type { HttpRequest } from "../http/request.ts";

/** The dependencies of a route, and where their values are. */
export interface RouteDependencies {
  readonly dependencies: readonly PreparedDependency[];
  readonly indices: Indices;
  /** Whether the values are the one value. */
  readonly isSingle: boolean;
}

/**
 * Names the caller of a request that has passed the guards.
 *
 * @param request The request.
 * @param values The values of the dependencies.
 * @param route The dependencies of the route.
 * @returns A string that differs between callers. Without guards, all are one caller.
 */
export async function callerOf(request: HttpRequest, values: Values, route: RouteDependencies): Promise<string> {
  const callers: (readonly [guard: string, caller: string | null])[] = [];
  for (const dependency of route.dependencies) {
    if (dependency.security.length === 0) continue;
    const value = route.isSingle ? values : (values as readonly unknown[])[route.indices.get(dependency)!];
    // A guard that knows no caller is there, too: two guards may have one name.
    callers.push([dependency.name, await callerThrough(dependency, request, value) ?? null]);
  }
  return JSON.stringify(callers);
}
