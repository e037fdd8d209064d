/** The requests of a test client, and the address that they come from. */
import { type OptionNames, quote, readOptions } from "../base/options.ts";
import { readAddress } from "../http/host.ts";

/** The options of a test request, besides its method and path. */
export interface TestRequestInit extends Omit<RequestInit, "method" | "body"> {
  /** The query. An array repeats its name for each element; `undefined` is not sent. */
  query?: Readonly<Record<string, QueryPart | readonly QueryPart[] | undefined>>;
  /** A JSON body. The content type is `application/json` unless `headers` have another. */
  json?: unknown;
  /** A body of the platform. */
  body?: BodyInit;
  /** Cookies by name. */
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

/** @ignore A value of a query. */
export type QueryPart = string | number | boolean | bigint | null;

/** The defaults of all requests of a client. */
export interface RequestDefaults {
  readonly base: string;
  readonly headers: HeadersInit;
  /** The stored cookies for a URL, by name. */
  readonly cookiesFor: (url: URL) => Readonly<Record<string, string>>;
}

/** @throws {TypeError} If an option is unknown. */
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

/** @throws {TypeError} If it is neither a path nor a URL below the base. */
function urlOf(path: string, base: string, action: string): URL {
  // A path may begin with two slashes: that of the route "/x" below the prefix "/".
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

/** Adds cookies to a request. Those that it already has take precedence. */
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

/** @ignore The connection of a client, as `Deno.serve` describes it. */
export interface TestConnection {
  /** The address of the client. */
  readonly remoteAddr: Deno.NetAddr;
}

const PORT = 50_000;

/** @throws {TypeError} If it is no IP address. */
export function connectionFrom(address: unknown): TestConnection {
  const hostname = typeof address === "string" ? readAddress(address) : undefined;
  if (hostname === undefined) {
    throw new TypeError(
      `Cannot make a test client: "address" must be an IP address such as "203.0.113.7", got ${quote(address)}`,
    );
  }
  return { remoteAddr: { transport: "tcp", hostname, port: PORT } };
}
