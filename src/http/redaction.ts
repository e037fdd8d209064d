/** Hides credentials in the URLs that the framework writes. */
import { decode } from "./query.ts";

/** In lower case: a client that misspells the case of a name has sent the secret, too. */
const secrets = new Set<string>();

/**
 * Makes a query parameter a secret, in all URLs that this process writes. A request that finds no
 * route can carry it, too.
 */
export function hideInQuery(name: string): void {
  secrets.add(name.toLowerCase());
}

/**
 * A URL, or a part of one from its path on, with `REDACTED` in place of each secret in its query.
 * Every URL of a request that goes to a log, a trace or a reply passes it.
 */
export function redactUrl(url: string): string {
  const start = secrets.size === 0 ? -1 : url.indexOf("?");
  return start < 0 ? url : `${url.slice(0, start + 1)}${redactQuery(url.slice(start + 1))}`;
}

/** The same for a query without its question mark. */
export function redactQuery(query: string): string {
  return secrets.size === 0 ? query : query.split("&").map(redactPair).join("&");
}

function redactPair(pair: string): string {
  const equals = pair.indexOf("=");
  if (equals < 0) return pair;
  const name = pair.slice(0, equals);
  return secrets.has((decode(name) ?? name).toLowerCase()) ? `${name}=REDACTED` : pair;
}
