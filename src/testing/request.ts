/** The requests that a test client sends. */
import { type OptionNames, readOptions } from "../base/options.ts";

/** The options of a test request, besides its method and path. */
export interface TestRequestInit extends Omit<RequestInit, "method" | "body"> {
  /** The query. A list repeats its name for each element; undefined sends nothing. */
  query?: Readonly<
    Record<string, QueryPart | readonly QueryPart[] | undefined>
  >;
  /** A body that is sent as JSON, as `application/json` unless `headers` say otherwise. */
  json?: unknown;
  /** A body that is sent unchanged. */
  body?: BodyInit;
  /** Cookies to send. */
  cookies?: Readonly<Record<string, string>>;
}

const REQUEST_OPTIONS: OptionNames<TestRequestInit> = {
  query: true,
  json: true,
  body: true,
  cookies: true,
  headers: true,
  signal: true,
  cache: true,
  credentials: true,
  integrity: true,
  keepalive: true,
  mode: true,
  redirect: true,
  referrer: true,
  referrerPolicy: true,
  window: true,
  priority: true,
};

/** A value that can be written into a query. */
export type QueryPart = string | number | boolean | bigint | null;

/** What all requests of a client have in common. */
export interface RequestDefaults {
  /** The origin, to which paths are appended. */
  readonly base: string;
  readonly headers: HeadersInit;
  /** The kept cookies for a URL, by name. */
  readonly cookiesFor: (url: URL) => Readonly<Record<string, string>>;
}

/**
 * Makes a request. What it says itself comes before the defaults.
 *
 * @throws {TypeError} If an option is unknown.
 */
export function requestOf(method: string, path: string, init: TestRequestInit, defaults: RequestDefaults): Request {
  const given = readOptions(init, REQUEST_OPTIONS, `send ${method} ${path}`);
  const { query = {}, json, body, cookies, ...rest } = given;
  const url = urlOf(path, defaults.base, `send ${method} ${path}`);
  for (const [name, parts] of Object.entries(query)) {
    for (const part of Array.isArray(parts) ? parts : [parts]) {
      if (part !== undefined) url.searchParams.append(name, String(part));
    }
  }
  const own = new Headers(rest.headers);
  if (json !== undefined && !own.has("content-type")) own.set("content-type", "application/json");
  const headers = new Headers(defaults.headers);
  for (const [name, value] of own) headers.set(name, value);
  if (cookies || !headers.has("cookie")) setCookies(headers, { ...defaults.cookiesFor(url), ...cookies });
  const sent = json === undefined ? body : JSON.stringify(json);
  return new Request(url, { ...rest, method, headers, ...(sent === undefined ? {} : { body: sent }) });
}

/**
 * The URL of a path below the base. An absolute URL below the base is taken as it is.
 *
 * @throws {TypeError} If it is the URL of another place, or neither a path nor a URL.
 */
function urlOf(path: string, base: string, action: string): URL {
  // A path may begin with two slashes, as that of a route "/x" below the prefix "/".
  if (path === "" || /^[/?#]/.test(path)) return new URL(base + path);
  if (URL.canParse(path)) {
    const url = new URL(path.replace(/^ws(?=s?:)/i, "http"));
    const { origin, pathname } = new URL(base);
    const folder = pathname.replace(/\/$/, "");
    const isBelow = url.pathname === folder || url.pathname.startsWith(`${folder}/`);
    if (url.origin === origin && isBelow) return url;
  }
  throw new TypeError(`Cannot ${action}: it is not below ${base}, give a path that starts with "/" or a URL below it`);
}

/** Adds cookies to those of a request, which come before them. */
export function addCookies(headers: Headers, cookies: Readonly<Record<string, string>>): void {
  const own = headers.get("cookie")?.split(/; */) ?? [];
  const names = new Set(own.map((pair) => pair.split("=", 1)[0]));
  const others = Object.entries(cookies).filter(([name]) => !names.has(name)).map(([name, value]) =>
    `${name}=${value}`
  );
  if (others.length > 0) headers.set("cookie", [...own, ...others].join("; "));
}

function setCookies(headers: Headers, cookies: Readonly<Record<string, string>>): void {
  const pairs = Object.entries(cookies).map(([name, value]) => `${name}=${value}`);
  if (pairs.length > 0) headers.set("cookie", pairs.join("; "));
}
