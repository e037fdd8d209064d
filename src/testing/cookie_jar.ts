/** Stores cookies as browsers do: RFC 6265. */

interface StoredCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly host: string;
  /** Whether it is sent to subdomains, too. */
  readonly hasDomain: boolean;
  readonly isSecure: boolean;
  /** In milliseconds since 1970; infinite for a session cookie. */
  readonly expiresAt: number;
}

export class CookieJar {
  /** In the order of their creation. */
  readonly #cookies = new Map<string, StoredCookie>();

  /** Stores the cookies of a reply, and deletes expired ones. */
  store(url: URL, { headers }: Response): void {
    for (const line of headers.getSetCookie()) {
      const cookie = parse(line, url);
      if (!cookie) continue;
      const key = JSON.stringify([cookie.host, cookie.path, cookie.name]);
      if (cookie.expiresAt <= Date.now()) this.#cookies.delete(key);
      else this.#cookies.set(key, cookie);
    }
  }

  /**
   * The cookies for a URL by name. Of several with one name, the one with the longest path wins.
   */
  cookiesFor(url: URL): Record<string, string> {
    const now = Date.now();
    const matching = this.#cookies.values().filter((cookie) => cookie.expiresAt > now && isSentTo(cookie, url));
    const shortestFirst = matching.toArray().sort((one, other) => one.path.length - other.path.length);
    return Object.fromEntries(shortestFirst.map(({ name, value }) => [name, value]));
  }
}

/** Parses `Set-Cookie` (section 5.2); undefined if it sets no cookie for the host. */
function parse(line: string, { hostname, pathname }: URL): StoredCookie | undefined {
  const [pair = "", ...attributes] = line.split(";");
  const [name, value] = divide(pair);
  if (name === "") return undefined;
  // The last attribute of a name wins.
  const given = new Map(attributes.map((attribute) => {
    const [name, value] = divide(attribute);
    return [name.toLowerCase(), value];
  }));
  const domain = given.get("domain")?.replace(/^\./, "").toLowerCase() ?? "";
  if (domain !== "" && !isWithin(hostname, domain)) return undefined;
  const path = given.get("path");
  const isSecure = given.has("secure");
  // The requirements of name prefixes: RFC 6265bis, section 4.1.3.
  if (/^__(?:secure|host)-/i.test(name) && !isSecure) return undefined;
  if (/^__host-/i.test(name) && (domain !== "" || path !== "/")) return undefined;
  return {
    name,
    value,
    path: path?.startsWith("/") ? path : pathname.slice(0, pathname.lastIndexOf("/")) || "/",
    host: domain || hostname,
    hasDomain: domain !== "",
    isSecure,
    expiresAt: expiryOf(given.get("max-age"), given.get("expires")),
  };
}

function divide(text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  return at < 0 ? [text.trim(), ""] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function expiryOf(maxAge: string | undefined, expires: string | undefined): number {
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return Date.now() + Number(maxAge) * 1000;
  const date = Date.parse(expires ?? "");
  return Number.isNaN(date) ? Infinity : date;
}

/** Section 5.4. */
function isSentTo({ host, hasDomain, path, isSecure }: StoredCookie, { hostname, pathname, protocol }: URL): boolean {
  if (hasDomain ? !isWithin(hostname, host) : hostname !== host) return false;
  if (isSecure && protocol !== "https:" && !isLoopback(hostname)) return false;
  const below = path.endsWith("/") ? path : `${path}/`;
  return pathname === path || pathname.startsWith(below);
}

/** Browsers trust their own machine without TLS. */
function isLoopback(host: string): boolean {
  return /(?:^|\.)localhost$|^127\.|^\[::1\]$/.test(host);
}

/** An IP address has no subdomains. */
function isWithin(host: string, domain: string): boolean {
  return host === domain || (host.endsWith(`.${domain}`) && !/^[\d.]+$|^\[/.test(host));
}
