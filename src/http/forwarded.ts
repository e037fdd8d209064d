/**
 * Parses `X-Forwarded-*`, and `Forwarded` of RFC 7239. All lists are read from the right: a client
 * can write anything, even an open quote, to the left of what a proxy appends.
 */
import { readAddress } from "./host.ts";
import { isToken } from "./headers.ts";

/** What one proxy reports. An unreadable part is undefined. */
export interface Hop {
  /** The other end of the proxy's connection. */
  readonly address: string | undefined;
  readonly scheme: "http" | "https" | undefined;
  /** `host[:port]`, not checked. */
  readonly host: string | undefined;
  /** The path that the proxy strips, not checked. */
  readonly prefix: string | undefined;
}

/** Splits a list lazily from the right, outside of quoted strings. */
export function* fromRight(list: string, separator: string): Generator<string, void, void> {
  let end = list.length;
  let isQuoted = false;
  for (let index = list.length - 1; index >= 0; index--) {
    const character = list[index];
    if (character === '"' && !(isQuoted && isEscaped(list, index))) isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      yield list.slice(index + 1, end).trim();
      end = index;
    }
  }
  // An unmatched quote makes the rest unreadable.
  yield isQuoted ? "" : list.slice(0, end).trim();
}

/** Whether an odd number of backslashes precedes a character. */
function isEscaped(text: string, index: number): boolean {
  let start = index;
  while (text[start - 1] === "\\") start--;
  return (index - start) % 2 === 1;
}

export function* forwardedHops(headers: Headers): Generator<Hop, void, void> {
  const header = headers.get("forwarded");
  if (header !== null) { for (const element of fromRight(header, ",")) yield readElement(element); }
}

/**
 * The nearest hop first. Scheme, host and prefix are the last values of their own headers, which
 * have one value in practice; all hops share them.
 */
export function* xForwardedHops(headers: Headers): Generator<Hop, void, void> {
  const scheme = readScheme(lastOf(headers.get("x-forwarded-proto")));
  const host = lastOf(headers.get("x-forwarded-host"));
  const prefix = lastOf(headers.get("x-forwarded-prefix"));
  const addresses = headers.get("x-forwarded-for");
  if (addresses === null) return yield { address: undefined, scheme, host, prefix };
  for (let end = addresses.length; end >= 0;) {
    const comma = end === 0 ? -1 : addresses.lastIndexOf(",", end - 1);
    yield { address: readAddress(addresses.slice(comma + 1, end).trim()), scheme, host, prefix };
    end = comma;
  }
}

function readElement(element: string): Hop {
  const pairs = new Map<string, string>();
  for (const pair of fromRight(element, ";")) {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, equals).toLowerCase();
    const value = equals < 0 ? undefined : unquote(pair.slice(equals + 1));
    if (value === undefined || !isToken(name) || pairs.has(name)) return NOTHING;
    pairs.set(name, value);
  }
  return {
    address: readAddress(pairs.get("for") ?? ""),
    scheme: readScheme(pairs.get("proto")),
    host: pairs.get("host"),
    prefix: undefined,
  };
}

const NOTHING: Hop = { address: undefined, scheme: undefined, host: undefined, prefix: undefined };

function unquote(text: string): string | undefined {
  if (!text.startsWith('"')) return isToken(text) ? text : undefined;
  return /^"(?:[^"\\]|\\.)*"$/.test(text) ? text.slice(1, -1).replace(/\\(.)/g, "$1") : undefined;
}

function readScheme(text: string | undefined): Hop["scheme"] {
  const scheme = text?.toLowerCase();
  // Some proxies send the scheme of a WebSocket.
  if (scheme === "https" || scheme === "wss") return "https";
  return scheme === "http" || scheme === "ws" ? "http" : undefined;
}

function lastOf(list: string | null): string | undefined {
  return list?.slice(list.lastIndexOf(",") + 1).trim();
}
