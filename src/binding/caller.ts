/** Whom a guard has let in. */
import type { HttpRequest } from "../http/request.ts";
import type { PreparedDependency } from "./dependency.ts";

/**
 * Names whom a guard has let in: as the guard says, or else by the credentials of its security
 * schemes. Undefined if the client has sent none.
 *
 * @throws {TypeError} If they are no part of the request.
 */
export function callerThrough(guard: PreparedDependency, request: HttpRequest, value: unknown): string | undefined {
  if (guard.callerOf) return guard.callerOf(request, value);
  const found: string[] = [];
  for (const way of guard.security) {
    for (const { scheme } of way.values()) {
      if (scheme.type === "mutualTLS") throw unknownCaller(guard.name);
      const text = credentialsFor(scheme, request);
      if (text) found.push(text);
    }
  }
  return found.length === 0 ? undefined : JSON.stringify(found);
}

function unknownCaller(name: string): TypeError {
  return new TypeError(
    `Cannot tell apart the callers that "${name}" lets in: certificates are no part of a request, name the caller in "idempotent.by"`,
  );
}

type Scheme = PreparedDependency["security"][number] extends ReadonlyMap<string, infer Required>
  ? Required extends { readonly scheme: infer Given } ? Given : never
  : never;

function credentialsFor(
  scheme: Exclude<Scheme, { readonly type: "mutualTLS" }>,
  request: HttpRequest,
): string | null | undefined {
  if (scheme.type !== "apiKey") return request.headers.get("authorization");
  if (scheme.in === "header") return request.headers.get(scheme.name);
  return scheme.in === "cookie" ? request.cookies[scheme.name] : request.query.get(scheme.name);
}
