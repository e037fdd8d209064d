/**
 * Origins of web pages, and the refusal of cross-site request forgery: of unsafe requests and
 * handshakes from other origins, which a browser may send with its user's cookies.
 */
import { quote } from "../base/options.ts";
import { type Authority, readAuthority } from "./host.ts";
import { HTTPError } from "../base/errors.ts";

/**
 * Origins of web pages, such as `["https://books.example"]`; `"*"` for all.
 *
 * An entry is an origin as browsers send it: a scheme, a host, and a port if it is not the default.
 * Mobile applications and extensions have their own schemes, such as `capacitor://localhost`.
 * `https://*.books.example` matches all hosts below `books.example`, but not `books.example`
 * itself.
 *
 * @category Applications
 */
export type Origins = "*" | readonly string[];

/** Any scheme: extensions and mobile applications have their own. */
const ORIGIN = /^([a-z][a-z\d+.-]*):\/\/([^\s/?#@\\]+)$/i;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: "80", https: "443", ws: "80", wss: "443" };
/** What a star matches: one label or several. */
const LABELS = /^[a-z\d_-]+(?:\.[a-z\d_-]+)*$/;
/** No browser sends more: a host name has at most 253 characters. */
const MAX_LENGTH = 300;

export class OriginList {
  static readonly none: OriginList = new OriginList([], false, []);

  /** Whether the list has `"*"`. */
  readonly isOpen: boolean;
  readonly #exact: ReadonlySet<string>;
  readonly #patterns: readonly (readonly [before: string, after: string])[];

  private constructor(
    exact: Iterable<string>,
    isOpen: boolean,
    patterns: readonly (readonly [before: string, after: string])[],
  ) {
    this.#exact = new Set(exact);
    this.isOpen = isOpen;
    this.#patterns = patterns;
  }

  /**
   * Normalizes case, punycode and default ports to what browsers send. Throws a TypeError if an
   * entry can match no page, or is `"null"`, which any page can send.
   */
  static read(origins: Origins, action: string): OriginList {
    const entries: unknown = origins === "*" ? ["*"] : origins;
    if (!Array.isArray(entries)) {
      const wanted = 'it must be an array such as ["https://books.example"], or "*" for all';
      throw new TypeError(`Cannot ${action}: ${wanted}, got ${quote(origins)}`);
    }
    const exact: string[] = [];
    const patterns: [before: string, after: string][] = [];
    for (const entry of entries) {
      if (entry === "*") continue;
      const origin = typeof entry === "string" ? readEntry(entry) : undefined;
      if (origin === undefined) {
        throw new TypeError(
          `Cannot ${action}: ${quote(entry)} is not an origin, write it like "https://books.example"`,
        );
      }
      if (typeof origin === "string") exact.push(origin);
      else patterns.push(origin);
    }
    return new OriginList(exact, entries.includes("*"), patterns);
  }

  get isEmpty(): boolean {
    return !this.isOpen && this.#exact.size === 0 && this.#patterns.length === 0;
  }

  /** The list without `"*"`. */
  get named(): OriginList {
    return this.isOpen ? new OriginList(this.#exact, false, this.#patterns) : this;
  }

  with(other: OriginList): OriginList {
    if (other.isEmpty) return this;
    return new OriginList(
      [...this.#exact, ...other.#exact],
      this.isOpen || other.isOpen,
      [...this.#patterns, ...other.#patterns],
    );
  }

  allows(origin: string): boolean {
    return this.isOpen || this.names(origin);
  }

  /** Whether an entry other than `"*"` matches. */
  names(origin: string): boolean {
    if (this.#exact.has(origin)) return true;
    if (this.#patterns.length === 0 || origin.length > MAX_LENGTH) return false;
    return this.#patterns.some(([before, after]) =>
      origin.startsWith(before) && origin.endsWith(after) &&
      LABELS.test(origin.slice(before.length, origin.length - after.length))
    );
  }
}

interface Origin extends Authority {
  readonly scheme: string;
}

/** Parses the header `Origin`. Undefined if it is `null` or malformed. */
export function readOrigin(text: string): Origin | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, scheme = "", rest = ""] = ORIGIN.exec(text) ?? [];
  const authority = readAuthority(rest);
  return authority && { scheme: scheme.toLowerCase(), ...authority };
}

/**
 * Whether an origin has the host and port of a request. The scheme may differ: a proxy may
 * terminate TLS. Browsers omit a default port, but `Host` may have it.
 */
export function isSameHost(origin: string, host: string): boolean {
  const start = origin.indexOf("://");
  if (start > 0 && origin.slice(start + 3) === host) return true;
  const page = readOrigin(origin);
  const own = readAuthority(host);
  if (page === undefined || own === undefined || page.name !== own.name) return false;
  const usual = DEFAULT_PORTS[page.scheme] ?? "";
  return (page.port || usual) === (own.port || usual);
}

/** The parts around the star, if there is one. */
function readEntry(entry: string): string | [before: string, after: string] | undefined {
  const [, scheme = "", rest = ""] = ORIGIN.exec(entry) ?? [];
  const host = rest.startsWith("*.") ? rest.slice(2) : rest;
  const origin = toSerialised(scheme.toLowerCase(), host);
  if (origin === undefined || host === rest) return origin;
  const start = origin.indexOf("://") + 3;
  return [origin.slice(0, start), `.${origin.slice(start)}`];
}

function toSerialised(scheme: string, host: string): string | undefined {
  if (host.includes("*")) return undefined;
  if (scheme in DEFAULT_PORTS) {
    const url = URL.parse(`${scheme}://${host}`);
    return url === null || url.host === "" ? undefined : `${scheme}://${url.host}`;
  }
  const authority = readAuthority(host);
  return authority && `${scheme}://${host.toLowerCase()}`;
}

/** The schemes whose credentials browsers add. */
const BROWSER_SCHEMES = /^(?:basic|digest|negotiate|ntlm)(?: |$)/i;

/** RFC 9110, section 9.2.1. TRACE is not served. */
export function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/**
 * Refuses requests of pages of other origins with 403, by headers that pages cannot change. Clients
 * other than browsers send neither. `"*"` allows requests without cookies and passwords.
 */
export function refuseCrossOrigin({ headers }: Request, host: string, origins: OriginList): void {
  const site = headers.get("sec-fetch-site");
  if (site === "same-origin" || site === "none") return;
  const origin = headers.get("origin");
  // Browsers send no Sec-Fetch-Site with handshakes, and over HTTP to other machines.
  if (site === null && origin === null) return;
  if (site === null && origin !== null && isSameHost(origin, host)) return;
  if (origin !== null && origins.names(origin)) return;
  if (origins.isOpen && !hasBrowserCredentials(headers)) return;
  throw new HTTPError(
    403,
    `This request comes from a page of ${originText(origin)}, and not from one of ${hostText(host)}: the App can ` +
      'list the origin in "origins", learn its own host by "trustProxy", or allow all pages by "crossOrigin"',
  );
}

function hasBrowserCredentials(headers: Headers): boolean {
  return headers.has("cookie") || BROWSER_SCHEMES.test(headers.get("authorization") ?? "");
}

/** Input that is no origin is not repeated. */
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
