/**
 * Whom the agent endpoint answers: keeps web pages from reaching it through the browser of somebody who can.
 *
 * A page of another site says so in `Origin`, which a browser sends with every POST. By DNS rebinding, an attacker's name leads to
 * the address of the application, so that a page is of the same origin as what it attacks: `Origin` and `Host` agree, and neither
 * is to be trusted. Only an address, `localhost` and the names that the application says are its own cannot be rebound.
 */
import { HTTPError } from "../errors.ts";
import type { HttpRequest } from "../http/request.ts";

/** Whom the agent endpoint answers, beside clients that are no browsers. */
export interface McpTrust {
  /**
   * The names that the application has, without port. Where given, a request under another name is refused; IP addresses and
   * `localhost` need no mention.
   */
  hosts?: readonly string[];
  /** The origins of pages that may ask, such as `"https://inspector.example"`; `"*"` for all. Pages of the application itself may. */
  origins?: readonly string[];
}

/** What a proxy on the same machine says of whom it speaks for. A page can say it, too, but cannot hide its `Origin`. */
const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host"];

/**
 * Checks where a request comes from.
 *
 * @param request The request.
 * @param trust Whom to answer.
 * @throws {HTTPError} With 403, when it may come from a page that has no right to ask.
 */
export function checkTrust(request: HttpRequest, { hosts, origins = [] }: McpTrust): void {
  const { hostname, host } = request.url;
  const isOwn = isUnrebindable(hostname) || hosts?.includes(hostname) === true;
  if (!isOwn && (hosts !== undefined || isDirect(request))) {
    throw new HTTPError(403, "The agent endpoint is not served under this host, add it to the trusted hosts");
  }
  const origin = request.headers.get("origin");
  if (origin === null || origins.includes(origin) || origins.includes("*")) return;
  const page = URL.canParse(origin) ? new URL(origin) : undefined;
  if (page && isOwn && page.host === host) return;
  if (page && isLocal(page.hostname) && isLocal(hostname)) return;
  throw new HTTPError(403, "The agent endpoint does not answer pages of this origin, add it to the trusted origins");
}

/** Whether the client is on this machine and speaks for itself, as a browser under attack would. */
function isDirect({ remoteAddress, headers }: HttpRequest): boolean {
  return remoteAddress !== null && /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress) &&
    !FORWARDING.some((name) => headers.has(name));
}

/** Whether no DNS server can make the name lead elsewhere. */
function isUnrebindable(hostname: string): boolean {
  return isLocal(hostname) || hostname.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(hostname);
}

function isLocal(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" ||
    /^127(?:\.\d+){3}$/.test(hostname);
}
