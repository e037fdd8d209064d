/**
 * Refuses unsafe requests and WebSocket handshakes of pages of other origins, with which a browser
 * may send the cookies of its user (cross-site request forgery).
 */
import { HTTPError } from "../base/errors.ts";
import { type Authority, readAuthority } from "./host.ts";
import { isSameHost, type OriginList, readOrigin } from "./origin.ts";
import { contextOf, type HttpRequest } from "./request.ts";

/** The schemes whose credentials a browser adds by itself. */
const BROWSER_SCHEMES = /^(?:basic|digest|negotiate|ntlm)(?: |$)/i;

/** Whether requests of a method change nothing (RFC 9110, section 9.2.1). TRACE is not served. */
export function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/**
 * Checks where a request comes from, by the headers that pages cannot change. Clients that are no
 * browsers send neither of them.
 *
 * @param request An unsafe request, or a handshake.
 * @param origins The origins of other pages that may send it. `"*"` stands for requests without
 * cookies and passwords.
 * @throws {HTTPError} With 403, if it comes from a page of another origin.
 */
export function refuseCrossOrigin(request: HttpRequest, origins: OriginList): void {
  const { headers } = request.raw;
  const site = headers.get("sec-fetch-site");
  if (site === "same-origin" || site === "none") return;
  const origin = headers.get("origin");
  // Browsers send no Sec-Fetch-Site with handshakes, and over HTTP to other machines.
  if (site === null && origin === null) return;
  const { host } = contextOf(request);
  if (site === null && origin !== null && isSameHost(origin, host)) return;
  if (origin !== null && origins.names(origin)) return;
  if (origins.isOpen && !hasBrowserCredentials(headers)) return;
  throw new HTTPError(
    403,
    `This request comes from a page of ${originText(origin)}, and not from one of ${hostText(host)}: the App can ` +
      'list the origin in "origins", learn its own host by "trustProxy", or let all pages in by "crossOrigin"',
  );
}

function hasBrowserCredentials(headers: Headers): boolean {
  return headers.has("cookie") || BROWSER_SCHEMES.test(headers.get("authorization") ?? "");
}

/** An origin for a message. Nothing is repeated that is none. */
function originText(origin: string | null): string {
  const read = origin === null ? undefined : readOrigin(origin);
  return read ? `${read.scheme}://${authorityText(read)}` : "an unknown origin";
}

function hostText(host: string): string {
  const read = readAuthority(host);
  return read ? authorityText(read) : "this host";
}

function authorityText({ name, port }: Authority): string {
  return port === "" ? name : `${name}:${port}`;
}
