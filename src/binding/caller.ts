/** The caller that a guard has admitted: idempotency keys belong to callers. */
import type { HttpRequest } from "../http/request.ts";
import { quote } from "../base/options.ts";
import type { PreparedDependency } from "./dependency.ts";

/**
 * Names the caller that a guard has admitted: as the guard says, or else by the credentials of its
 * security schemes, or else by the headers and cookies that it declares. Undefined if the client
 * has sent none of them.
 *
 * @throws {TypeError} If no part of the request identifies its caller.
 */
export function callerThrough(
  guard: PreparedDependency,
  request: HttpRequest,
  value: unknown,
): string | undefined | Promise<string | undefined> {
  if (guard.callerOf) return guard.callerOf(request, value);
  const schemes = guard.security.flatMap((way) => [...way.values()]);
  if (schemes.some(({ scheme }) => scheme.type === "mutualTLS")) throw unknownCaller(guard.name);
  const found = [...credentialsThrough(guard, request)];
  // A proxy may have verified the caller, and sends the name in another header than the scheme's.
  if (found.length === 0) found.push(...declaredInputs(guard, request));
  return found.length === 0 ? undefined : JSON.stringify(found);
}

/**
 * The credentials that a request carries for the security schemes of a guard, by the names of the
 * schemes. Certificates are no part of a request.
 */
export function credentialsThrough(
  guard: PreparedDependency,
  request: HttpRequest,
): readonly (readonly [name: string, text: string])[] {
  return guard.security.flatMap((way) => [...way]).flatMap(([name, { scheme }]) => {
    const text = scheme.type === "mutualTLS" ? undefined : credentialsFor(scheme, request);
    return text ? [[name, text] as const] : [];
  });
}

function declaredInputs(
  { options: { headers = {}, cookies = {} } }: PreparedDependency,
  request: HttpRequest,
): (readonly [name: string, text: string])[] {
  const sent: (readonly [name: string, text: string | null | undefined])[] = [
    ...Object.keys(headers).map((name) => [`header ${name}`, request.headers.get(name)] as const),
    ...Object.keys(cookies).map((name) => [`cookie ${name}`, request.cookies[name]] as const),
  ];
  return sent.filter((input): input is readonly [string, string] => typeof input[1] === "string");
}

/**
 * The text of a subject that a function of the program gave. 7 and "7" are two subjects.
 *
 * @param what The function, for messages.
 * @param kinds What it may give, for messages.
 * @throws {TypeError} If it is neither a string nor a number: all such callers would be one.
 */
export function subjectText(subject: unknown, what: string, kinds = "a string or a number"): string {
  if (typeof subject === "string" || Number.isFinite(subject)) return JSON.stringify(subject);
  throw new TypeError(`Cannot name the caller: ${what} must give ${kinds}, got ${quote(subject)}`);
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
  if (scheme.type !== "apiKey") return request.raw.headers.get("authorization");
  if (scheme.in === "header") return request.raw.headers.get(scheme.name);
  return scheme.in === "cookie" ? request.cookies[scheme.name] : request.query.get(scheme.name);
}
