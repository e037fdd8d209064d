/**
 * The checks before any middleware runs: the host that a request names, whether it is a preflight,
 * and the origin of its page. They are composed for each route when the application starts.
 */
import { HTTPError } from "../base/errors.ts";
import type { Cors } from "../http/cors.ts";
import { isSafe, refuseCrossOrigin } from "../http/cross_origin.ts";
import type { HostList } from "../http/host.ts";
import type { OriginList } from "../http/origin.ts";
import { isLocalRequest, type ProxyTrust } from "../http/proxy.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { asksForWebSocket } from "../http/websocket/handshake.ts";
import { tracing } from "../log/telemetry.ts";

/**
 * Checks a request.
 *
 * @returns The reply, if it is known already.
 * @throws {HTTPError} The refusal.
 */
export type Precheck = (request: HttpRequest) => Response | void;

/** The hosts and origins that an application accepts, and the proxies that it trusts. */
export interface PrecheckParts {
  /** The hosts that it answers to; undefined for all. */
  readonly hosts: HostList | undefined;
  /** The other origins whose pages may use it. */
  readonly origins: OriginList;
  /** Lets pages of these origins read replies; undefined if there are none. */
  readonly cors: Cors | undefined;
  readonly proxies: ProxyTrust;
}

/** Composes checks; undefined without any. */
export function inOrder(steps: readonly (Precheck | undefined)[]): Precheck | undefined {
  const all = steps.filter((step) => step !== undefined);
  if (all.length < 2) return all[0];
  return (request) => {
    for (const step of all) {
      const reply = step(request);
      if (reply) return reply;
    }
    return undefined;
  };
}

/**
 * Methods that clients may send to a route for all methods. A span has no other one in its name.
 */
const KNOWN_METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * Names the span of a request by its route; undefined where OpenTelemetry is off.
 *
 * @param method The method of the route; `*` for all.
 * @param path The template of its path.
 */
export function nameSpan(method: string, path: string): Precheck | undefined {
  return tracing && ((request) => {
    const isKnown = method !== "*" || KNOWN_METHODS.has(request.method);
    tracing?.nameRequest(isKnown ? request.method : "HTTP", path === "" ? "/" : path);
  });
}

/** Refuses hosts that are not in the list. */
export function checkHost(hosts: HostList | undefined): Precheck | undefined {
  return hosts && ((request) => {
    const { host, peer } = contextOf(request);
    // Reading the headers checks that the list holds for the Host header, too.
    const { headers } = request;
    if (hosts.admits(host) || isLocalRequest(headers, peer, host)) return;
    throw new HTTPError(421, 'This host is not served here: the option "hosts" of the App names those that are');
  });
}

/** Answers preflights by the methods of their paths. */
export function answerPreflight(
  cors: Cors | undefined,
  methodsOf: (request: HttpRequest) => Iterable<string>,
): Precheck | undefined {
  return cors && ((request) => {
    if (request.method !== "OPTIONS") return;
    return cors.preflight(request.raw.headers, () => methodsOf(request));
  });
}

/**
 * Refuses what comes from pages of other origins.
 *
 * @param method The method of the route; undefined if it is known with the request only.
 * @param origins The other origins whose pages may ask.
 */
export function checkOrigin(method: string | undefined, origins: OriginList): Precheck | undefined {
  if (method === undefined) {
    return (request) => {
      if (!isSafe(request.method) || asksForWebSocket(request.raw)) refuseCrossOrigin(request, origins);
    };
  }
  return isSafe(method) ? undefined : (request) => refuseCrossOrigin(request, origins);
}
