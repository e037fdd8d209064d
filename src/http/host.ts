/**
 * The Host header and the target of a request, lists of hosts, and IP addresses. Deno copies both
 * into the URL unchecked: a slash in the header would change where the path starts.
 */
import { HTTPError } from "../base/errors.ts";
import { quote } from "../base/options.ts";
import { nodeNet } from "../base/runtime.ts";
import { type ConnectionInfo, mountedOf } from "./connection.ts";
import { pathEnd, pathStart } from "./query.ts";

/** `host[:port]` without userinfo (RFC 3986, section 3.2.2). IPv6 addresses are in brackets. */
const HOST = /^([\w.~!$&'()*+,;=%-]+|\[[\da-fA-F:.]+\])(?::(\d{0,5}))?$/;

/** `127.0.0.1`, `[::1]` and names that always resolve to them (RFC 6761, section 6.3). */
const LOOPBACK_NAME = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Deno adds the transport to the scheme where it is not TCP. */
const SCHEME = /^https?(?:\+\w+)?:\/\//i;

/** Fields of HTTP/1.1 that HTTP/2 forbids (RFC 9113, section 8.2.2). */
const HTTP1_FIELDS = ["connection", "transfer-encoding"];

/** Refuses a malformed target or Host header with 400. */
export class TargetCheck {
  /** The last valid URL up to the first slash of its path. Most requests have the same host. */
  #origin = "";

  /**
   * Returns the index in the URL where the path starts.
   *
   * Reading the Host header costs some percent of a short reply, so it is read only if the URL is
   * ambiguous: host `x/a` with path `/b` gives the same URL as host `x` with path `/a/b`.
   */
  check(raw: Request, info: ConnectionInfo | undefined): number {
    const { url } = raw;
    const origin = this.#origin;
    // For URLs of Deno's server, startsWith() takes three times as long.
    const isKnown = origin !== "" && url.slice(0, origin.length) === origin;
    const start = isKnown ? origin.length - 1 : this.#readOrigin(url);
    if (url.indexOf("/", start + 1) >= 0) checkHostHeader(raw, info);
    return start;
  }

  #readOrigin(url: string): number {
    if (!SCHEME.test(url)) throw new HTTPError(400, "The scheme of the request target must be http or https");
    const start = pathStart(url);
    if (pathEnd(url, start) < start) throw new HTTPError(400, "The request target has no path");
    const host = hostOf(url);
    // Without a Host header, Deno writes the path of a Unix socket, which is no host of a URL.
    const isValid = url.startsWith("http+") ? HOST.test(host) : readAuthority(host) !== undefined;
    if (!isValid) throw malformed();
    this.#origin = url.slice(0, start + 1);
    return start;
  }
}

export function hostOf(url: string): string {
  return url.slice(url.indexOf("://") + 3, pathStart(url));
}

/**
 * Checks the Host header against a well-formed target: code that reads the one and code that reads
 * the other must agree. Without a connection a program made the request, and its URL is no target.
 */
export function checkHostHeader(raw: Request, info: ConnectionInfo | undefined): void {
  const header = raw.headers.get("host");
  if (header === null) {
    // Requests of HTTP/2 may lack it, and Deno does not report the version of a request.
    if (!isTarget(info) || !HTTP1_FIELDS.some((name) => raw.headers.has(name))) return;
    throw new HTTPError(400, "The request has no Host header");
  }
  // Clients without a host name send an empty header. Deno then writes its own address.
  if (header === "" || header === hostOf(raw.url)) return;
  if (!HOST.test(header)) throw malformed();
  if (!isTarget(info) || isSameAuthority(header, hostOf(raw.url), raw.url)) return;
  throw new HTTPError(400, "The Host header is not the host of the request target");
}

/** Whether the URL is the target: a server received the request, and no mount changed it. */
function isTarget(info: ConnectionInfo | undefined): boolean {
  return info !== undefined && mountedOf(info) === undefined;
}

/** Ignores case and the default port of the URL's scheme. */
function isSameAuthority(one: string, other: string, url: string): boolean {
  const [first, second] = [readAuthority(one), readAuthority(other)];
  const port = /^https/i.test(url) ? "443" : "80";
  return first !== undefined && first.name === second?.name && (first.port || port) === (second.port || port);
}

/** A host and its port in a form that can be compared. */
export interface Authority {
  /** In lower case and punycode, without a trailing dot. IPv4 has four numbers, IPv6 brackets. */
  readonly name: string;
  /** Without leading zeros; empty if missing. */
  readonly port: string;
}

/** Undefined for anything but `host[:port]`, such as an authority with a user. */
export function readAuthority(text: string): Authority | undefined {
  const [, host, port = ""] = HOST.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535) return undefined;
  // The platform handles case, punycode and the many forms of IP addresses.
  const name = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, "");
  return name === undefined || name === "" ? undefined : { name, port: port && String(Number(port)) };
}

/** Whether a name or address always means the machine of the client. */
export function isLoopbackName(name: string | undefined): boolean {
  return name !== undefined && LOOPBACK_NAME.test(name);
}

/** Hosts by name: `books.example`, or `*.books.example` for all names below it. */
export class HostList {
  readonly #names = new Set<string>();
  /** Without the star, with the dot. */
  readonly #suffixes: string[] = [];
  /** The last authority that was found. Most requests have the same host. */
  #last = "";

  /** Throws a TypeError for a name that can match no request. `option` is for the message. */
  constructor(hosts: readonly string[], option: string) {
    if (!Array.isArray(hosts)) {
      throw new TypeError(
        `Cannot set ${option}: it must be an array of names such as ["books.example"], got ${quote(hosts)}`,
      );
    }
    if (hosts.length === 0) {
      throw new TypeError(
        `Cannot set ${option}: an empty array refuses every request, leave the option out for any host`,
      );
    }
    for (const host of hosts) {
      const isSuffix = String(host).startsWith("*.");
      const name = typeof host === "string" ? readName(isSuffix ? host.slice(2) : host) : undefined;
      if (name === undefined) {
        throw new TypeError(
          `Cannot set ${option}: ${quote(host)} is not a host name, write it like "books.example" or "*.books.example"`,
        );
      }
      if (isSuffix) this.#suffixes.push(`.${name}`);
      else this.#names.add(name);
    }
  }

  has(name: string): boolean {
    return this.#names.has(name) ||
      this.#suffixes.some((suffix) => name.length > suffix.length && name.endsWith(suffix));
  }

  /** Whether the host of `host[:port]`, which may be malformed, is in the list. */
  hasAuthority(authority: string): boolean {
    if (authority === this.#last) return true;
    const name = readAuthority(authority)?.name;
    if (name === undefined || !this.has(name)) return false;
    this.#last = authority;
    return true;
  }
}

/** A declared name may have letters of any alphabet. */
function readName(text: string): string | undefined {
  // Only a part of these is a name; the platform would parse the rest as port, path or user.
  if (/[\s/?#@\\*]|^$/.test(text) || /:/.test(text) && !/^\[.*\]$/.test(text)) return undefined;
  const name = URL.parse(`http://${text}`)?.hostname.replace(/\.$/, "");
  return name === "" ? undefined : name;
}

function malformed(): HTTPError {
  return new HTTPError(400, "The Host header must be a host and a port, such as example.org:8000");
}

/** No address with zone and port is longer. */
const MAX_NODE = 64;

/** An address, possibly with a port, which may be a name such as `_p` (RFC 7239, section 6). */
const NODE = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::[\w.-]+)?$/i;

/**
 * Parses an IP address, possibly with a port, into its shortest form; IPv4-mapped IPv6 as IPv4.
 * Undefined for anything else, such as the names `unknown` and `_hidden` of RFC 7239.
 */
export function readAddress(text: string): string | undefined {
  if (text.length > MAX_NODE) return undefined;
  const [, inBrackets, bare] = NODE.exec(text) ?? [];
  const address = inBrackets ?? bare ?? text;
  // An address with a zone is only valid on the machine of the proxy.
  const version = address.includes("%") ? 0 : nodeNet().isIP(address);
  if (version !== 6) return version === 4 && inBrackets === undefined ? address : undefined;
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  return [high, low].flatMap((half) => [parseInt(half, 16) >> 8, parseInt(half, 16) & 255]).join(".");
}
