/** Hides credentials that clients send in queries, wherever the framework writes a URL. */

/** In lower case: a client that misspells the case has sent the secret, too. */
const secrets = new Set<string>();
const secretQueries = new Set<string>();
/** Finds the values of secrets in any string. */
let pattern: RegExp | undefined;

/** Makes a query parameter a secret in all output: a request without a route can carry it, too. */
export function hideInQuery(name: string): void {
  if (secrets.has(name.toLowerCase())) return;
  secrets.add(name.toLowerCase());
  const spellings = [...secrets].flatMap((name) => [name, encodeURIComponent(name), name.replaceAll(" ", "+")]);
  const names = spellings.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  pattern = new RegExp(`([?&](?:${names.join("|")})=)[^&#\\s"<>\\\\]*`, "gi");
}

/**
 * Makes the whole query of a path a secret: a page can get authorization codes in any parameter.
 */
export function hideQueryOf(path: string): void {
  secretQueries.add(encodeURI(path));
}

/**
 * A URL, or its part from the path on, with `REDACTED` for each secret in its query. Every URL of a
 * request that goes to a log, a trace or a reply passes here.
 */
export function redactUrl(url: string): string {
  const start = secrets.size + secretQueries.size === 0 ? -1 : url.indexOf("?");
  if (start < 0) return url;
  // The path can have the prefix of a proxy.
  const isSecret = [...secretQueries].some((path) => url.slice(0, start).endsWith(path));
  return `${url.slice(0, start + 1)}${isSecret ? "REDACTED" : redactQuery(url.slice(start + 1))}`;
}

/** The same for a query without its question mark. */
export function redactQuery(query: string): string {
  return secrets.size === 0 ? query : query.split("&").map(redactPair).join("&");
}

/**
 * The same for URLs within a string, such as the message of an error. It finds only the usual
 * spellings of a name: use {@linkcode redactUrl} for a URL.
 */
export function redactText(text: string): string {
  return pattern === undefined ? text : text.replace(pattern, "$1REDACTED");
}

function redactPair(pair: string): string {
  const equals = pair.indexOf("=");
  if (equals < 0) return pair;
  const name = pair.slice(0, equals);
  return secrets.has(decode(name).toLowerCase()) ? `${name}=REDACTED` : pair;
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}
