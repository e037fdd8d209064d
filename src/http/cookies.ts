/** Cookies that a request carries, and cookies that a reply sets or deletes. */
import { setCookie } from "@std/http/cookie";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { isToken } from "./headers.ts";

/**
 * The attributes that identify a cookie in a browser, and decide which requests carry it.
 *
 * @category Requests and replies
 */
export interface CookieAttributes {
  /** A domain, which includes its subdomains. By default only the host that replies. */
  domain?: string;
  /**
   * The path below which the browser sends the cookie.
   *
   * @default {"/"}
   */
  path?: string;
  /**
   * Whether the cookie is only sent over HTTPS, and to loopback hosts such as `localhost`.
   *
   * @default {true}
   */
  secure?: boolean;
  /**
   * Whether scripts of a page cannot read it.
   *
   * @default {true}
   */
  httpOnly?: boolean;
  /**
   * Which requests from other sites carry the cookie: none (`Strict`), only followed links (`Lax`),
   * or all (`None`, which needs `secure`).
   *
   * @default {"Lax"}
   */
  sameSite?: "Strict" | "Lax" | "None";
  /**
   * Whether each site that embeds the page has a separate cookie. It needs `secure`.
   *
   * @default {false}
   */
  partitioned?: boolean;
}

/**
 * A cookie that a reply sets.
 *
 * @category Requests and replies
 */
export interface Cookie extends CookieAttributes {
  /** The name: letters, digits and `!#$%&'*+.^_|~-` or a backtick. */
  name: string;
  /** The value: ASCII without spaces, quotes, commas, semicolons and backslashes. */
  value: string;
  /** The lifetime in whole seconds. Without `maxAge` and `expires`, until the browser closes. */
  maxAge?: number;
  /** When it expires: a date, or milliseconds since 1970. `maxAge` takes precedence. */
  expires?: Date | number;
}

const ATTRIBUTES: OptionNames<CookieAttributes> = {
  domain: true,
  path: true,
  secure: true,
  httpOnly: true,
  sameSite: true,
  partitioned: true,
};

const COOKIE: OptionNames<Cookie> = { name: true, value: true, maxAge: true, expires: true, ...ATTRIBUTES };

const DEFAULTS = { path: "/", secure: true, httpOnly: true, sameSite: "Lax" } as const;

/** RFC 6265, section 4.1.1, without the quotes. */
const VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;
const PATH = /^\/[\x20-\x3a\x3c-\x7e]*$/;
const DOMAIN = /^\.?[a-z\d]([a-z\d.-]*[a-z\d])?$/i;

/** Each browser accepts this much: name, value and attributes (RFC 6265, section 6.1). */
export const MAX_COOKIE_BYTES = 4096;

/** Adds a `Set-Cookie`, which replaces one of the same name, domain and path. */
export function addCookie(headers: Headers, cookie: Cookie): void {
  if (typeof cookie === "string") {
    throw new TypeError(`Cannot set the cookie ${quote(cookie)}: give one object, write setCookie({ name, value })`);
  }
  const action = `set the cookie ${quote(cookie?.name)}`;
  checkOptions(cookie, COOKIE, action);
  add(headers, cookie, action);
}

/** Adds a `Set-Cookie` that makes the browser delete a cookie. */
export function addDeletion(headers: Headers, name: string, attributes: CookieAttributes): void {
  const action = `delete the cookie ${quote(name)}`;
  checkOptions(attributes, ATTRIBUTES, action);
  add(headers, { ...attributes, name, value: "", expires: new Date(0) }, action);
}

/**
 * The cookies of a request. The first of a name counts: browsers send the most specific path first
 * (RFC 6265, section 5.4).
 *
 * Not getCookies: it throws for a pair without a name, and trims all that JavaScript takes for a
 * space, such as byte A0. A neighbouring host could then set a cookie that passes for one with the
 * prefix `__Host-`.
 */
export function readCookies(headers: Headers): Readonly<Record<string, string>> {
  // Clients choose the names, so the object has no prototype.
  const cookies: Record<string, string> = Object.create(null);
  for (const pair of headers.get("cookie")?.split(";") ?? []) {
    const [start, ...value] = trimSpace(pair).split("=");
    if (start === "") continue;
    const name = trimSpace(start!);
    if (!(name in cookies)) cookies[name] = value.join("=");
  }
  return cookies;
}

/** Trims spaces and tabs in linear time. */
function trimSpace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text[start])) start++;
  while (end > start && isSpace(text[end - 1])) end--;
  return text.slice(start, end);
}

function isSpace(char: string | undefined): boolean {
  return char === " " || char === "\t";
}

function withDefaults(cookie: Cookie): Cookie & typeof DEFAULTS {
  const given = Object.entries(cookie).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) } as Cookie & typeof DEFAULTS;
}

/** Do not print the value: it may be a secret. */
function faultOf(cookie: Cookie): string | undefined {
  const { name, value, maxAge, expires, domain, path, secure, httpOnly, sameSite, partitioned } = cookie;
  if (typeof name !== "string" || !isToken(name)) {
    return 'its name must be a token, use letters, digits, "-", "_" and "."';
  }
  if (typeof value !== "string" || !VALUE.test(value)) {
    return "its value must be ASCII without spaces, quotes, commas, semicolons and backslashes, use encodeURIComponent";
  }
  if (typeof path !== "string" || !PATH.test(path)) return 'its path must begin with "/", and be ASCII without ";"';
  if (domain !== undefined && (typeof domain !== "string" || !DOMAIN.test(domain))) {
    return "its domain must be a name such as books.example";
  }
  if (maxAge !== undefined && !(Number.isSafeInteger(maxAge) && maxAge >= 0)) {
    return `its maxAge must be whole seconds, got ${quote(maxAge)}`;
  }
  if (expires !== undefined && Number.isNaN(new Date(expires).getTime())) return "its expires must be a date";
  for (const [attribute, flag] of Object.entries({ secure, httpOnly, partitioned })) {
    if (flag !== undefined && typeof flag !== "boolean") return `its ${attribute} must be true or false`;
  }
  if (!["Strict", "Lax", "None"].includes(sameSite!)) {
    return `its sameSite must be "Strict", "Lax" or "None", got ${quote(sameSite)}`;
  }
  return secure ? prefixFault(cookie) : insecureFault(cookie);
}

/** Browsers compare prefixes case-insensitively. */
function prefixFault({ name, domain, path }: Cookie): string | undefined {
  if (!/^__Host-/i.test(name) || (domain === undefined && path === "/")) return undefined;
  return 'a name with the prefix "__Host-" needs the path "/" and no domain';
}

function insecureFault({ name, sameSite, partitioned }: Cookie): string | undefined {
  const reason = /^__(?:Host|Secure)-/i.test(name)
    ? "a name with this prefix"
    : sameSite === "None"
    ? 'sameSite "None"'
    : partitioned
    ? "partitioned"
    : undefined;
  return reason && `browsers refuse ${reason} without secure`;
}

function add(headers: Headers, given: Cookie, action: string): void {
  const cookie = withDefaults(given);
  const fault = faultOf(cookie);
  if (fault !== undefined) throw new TypeError(`Cannot ${action}: ${fault}`);
  const own = new Headers();
  // setCookie leaves out an `expires` of 0.
  setCookie(own, cookie.expires === undefined ? cookie : { ...cookie, expires: new Date(cookie.expires) });
  const line = own.get("set-cookie")!;
  if (line.length > MAX_COOKIE_BYTES) {
    throw new RangeError(
      `Cannot ${action}: it has ${line.length} bytes with its attributes, and browsers accept ${MAX_COOKIE_BYTES}`,
    );
  }
  const others = headers.getSetCookie().filter((other) => !isSame(other, cookie));
  headers.delete("set-cookie");
  for (const other of others) headers.append("set-cookie", other);
  headers.append("set-cookie", line);
}

/** Whether a browser would replace one cookie by the other. */
function isSame(line: string, { name, domain, path }: Cookie): boolean {
  if (!line.startsWith(`${name}=`)) return false;
  const attributes = new Map(
    line.split(";").slice(1).map((part) => {
      const [attribute, value = ""] = part.trim().split("=", 2);
      return [attribute!.toLowerCase(), value];
    }),
  );
  return attributes.get("domain") === domain && attributes.get("path") === path;
}
