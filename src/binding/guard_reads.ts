/** What guards read of a request: whether caches can distinguish the callers of a route. */
import type { RouteDeclaration } from "../http/route_info.ts";
import { type PreparedDependency, toDependencies } from "./dependency.ts";
import { isGuard } from "./guard_order.ts";
import type { GuardScope } from "./scope_guards.ts";
import type { SecurityScheme } from "./security.ts";

/**
 * Whether a shared cache could give the reply to one caller to another one: a guard does not say
 * what it reads of a request, or reads anything but `Authorization`. Shared caches keep no reply to
 * a request with that header (RFC 9111, section 3.5), and know nothing of keys in other headers.
 *
 * @param scopes The scopes around a route.
 * @param deps The option `deps` of the route.
 * @param counted The dependencies for whose values the requests of the route are counted.
 */
export function isForOneCaller(
  scopes: readonly GuardScope[],
  deps: RouteDeclaration["deps"],
  counted: readonly PreparedDependency[],
): boolean {
  const others = [...toDependencies(deps).values(), ...counted, ...scopes.flatMap((scope) => scope.counted)];
  const standing = scopes.flatMap((scope) => [...scope.deps.values()]);
  return [...standing, ...others.filter(isGuard)].some((guard) => {
    const all = [...withNeeds(guard)];
    return !all.some(saysWhatItReads) || !all.every(readsNothingElse);
  });
}

/** A guard, what it needs, and the guards that it runs itself. */
function* withNeeds(guard: PreparedDependency): Generator<PreparedDependency, void, void> {
  yield guard;
  for (const needed of [...guard.deps.values(), ...guard.inner?.guards ?? []]) yield* withNeeds(needed);
}

function saysWhatItReads({ security }: PreparedDependency): boolean {
  return security.some((way) => way.size > 0);
}

/** The path and the query are part of the key of a cache. */
function readsNothingElse({ options: { headers = {}, cookies = {} }, security }: PreparedDependency): boolean {
  if (Object.keys(cookies).length > 0) return false;
  if (Object.keys(headers).some((name) => !isAuthorization(name))) return false;
  return security.every((way) => [...way.values()].every(({ scheme }) => isInAuthorization(scheme)));
}

function isInAuthorization(scheme: SecurityScheme): boolean {
  if (scheme.type === "apiKey") return scheme.in === "header" && isAuthorization(scheme.name);
  return scheme.type !== "mutualTLS";
}

function isAuthorization(header: string): boolean {
  return header.toLowerCase() === "authorization";
}
