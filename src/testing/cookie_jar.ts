/** The cookies that a test client keeps, as browsers do by RFC 6265. */

interface KeptCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** The host that it goes to. */
  readonly host: string;
  /** Whether it also goes to the hosts below. */
  readonly hasDomain: boolean;
  readonly isSecure: boolean;
  /** When it ends, in milliseconds since 1970; infinite for a cookie of the session. */
  readonly endsAt: number;
}

/** Keeps the cookies of replies. */
export class CookieJar {
  /** In the order in which they were made first. */
  readonly #cookies = new Map<string, KeptCookie>();

  /** Keeps the cookies of a reply, and forgets those that it deletes. */
  keep(url: URL, { headers }: Response): void {
    for (const line of headers.getSetCookie()) {
      const cookie = parse(line, url);
      if (!cookie) continue;
      const key = JSON.stringify([cookie.host, cookie.path, cookie.name]);
      if (cookie.endsAt <= Date.now()) this.#cookies.delete(key);
      else this.#cookies.set(key, cookie);
    }
  }

  /** The cookies for a URL by name. Of several with one name, it is that with the longest path. */
  cookiesFor(url: URL): Record<string, string> {
    const now = Date.now();
    const fitting = this.#cookies.values().filter((cookie) => cookie.endsAt > now && goesTo(cookie, url));
    const shortestFirst = fitting.toArray().sort((one, other) => one.path.length - other.path.length);
    return Object.fromEntries(shortestFirst.map(({ name, value }) => [name, value]));
  }
}

/** Reads the header `Set-Cookie` (section 5.2); undefined if it sets no cookie for the host. */
function parse(line: string, { hostname, pathname }: URL): KeptCookie | undefined {
  const [pair = "", ...attributes] = line.split(";");
  const [name, value] = divide(pair);
  if (name === "") return undefined;
  // The last attribute of a name counts.
  const given = new Map(attributes.map((attribute) => {
    const [name, value] = divide(attribute);
    return [name.toLowerCase(), value];
  }));
  const domain = given.get("domain")?.replace(/^\./, "").toLowerCase() ?? "";
  if (domain !== "" && !isWithin(hostname, domain)) return undefined;
  const path = given.get("path");
  const isSecure = given.has("secure");
  // What the prefixes of a name promise (RFC 6265bis, section 4.1.3).
  if (/^__(?:secure|host)-/i.test(name) && !isSecure) return undefined;
  if (/^__host-/i.test(name) && (domain !== "" || path !== "/")) return undefined;
  return {
    name,
    value,
    path: path?.startsWith("/") ? path : pathname.slice(0, pathname.lastIndexOf("/")) || "/",
    host: domain || hostname,
    hasDomain: domain !== "",
    isSecure,
    endsAt: endOf(given.get("max-age"), given.get("expires")),
  };
}

function divide(text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  return at < 0 ? [text.trim(), ""] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function endOf(maxAge: string | undefined, expires: string | undefined): number {
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return Date.now() + Number(maxAge) * 1000;
  const date = Date.parse(expires ?? "");
  return Number.isNaN(date) ? Infinity : date;
}

/** Whether a cookie is sent with a request (section 5.4). */
function goesTo({ host, hasDomain, path, isSecure }: KeptCookie, { hostname, pathname, protocol }: URL): boolean {
  if (hasDomain ? !isWithin(hostname, host) : hostname !== host) return false;
  if (isSecure && protocol !== "https:" && !isLoopback(hostname)) return false;
  const below = path.endsWith("/") ? path : `${path}/`;
  return pathname === path || pathname.startsWith(below);
}

/** Browsers trust the machine itself without TLS. */
function isLoopback(host: string): boolean {
  return /(?:^|\.)localhost$|^127\.|^\[::1\]$/.test(host);
}

/** Addresses have no hosts below them. */
function isWithin(host: string, domain: string): boolean {
  return host === domain || (host.endsWith(`.${domain}`) && !/^[\d.]+$|^\[/.test(host));
}
