/** Hides credentials in queries, wherever the framework writes a URL, and names secret headers. */

/** In lower case: a misspelt name has sent the secret, too. */
const secrets = new Set<string>();
const secretQueries = new Set<string>();
/** Those of declared API keys, in lower case. */
const secretHeaders = new Set<string>();
let pattern: RegExp | undefined;

/** For all output, also of requests without a route. */
export function hideInQuery(name: string): void {
  if (secrets.has(name.toLowerCase())) return;
  secrets.add(name.toLowerCase());
  const spellings = [...secrets].flatMap((name) => [name, encodeURIComponent(name), name.replaceAll(" ", "+")]);
  const names = spellings.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  pattern = new RegExp(`([?&](?:${names.join("|")})=)[^&#\\s"<>\\\\]*`, "gi");
}

/** For the board, which shows headers. */
export function hideHeader(name: string): void {
  secretHeaders.add(name.toLowerCase());
}

export function isHiddenHeader(name: string): boolean {
  return secretHeaders.has(name.toLowerCase());
}

/** Authorization servers send codes in any parameter. */
export function hideQueryOf(path: string): void {
  secretQueries.add(encodeURI(path));
}

/** A URL, or a part from its path on. All URLs in logs, traces and replies pass here. */
export function redactUrl(url: string): string {
  const start = secrets.size + secretQueries.size === 0 ? -1 : url.indexOf("?");
  if (start < 0) return url;
  // The path can have the prefix of a proxy.
  const isSecret = [...secretQueries].some((path) => url.slice(0, start).endsWith(path));
  return `${url.slice(0, start + 1)}${isSecret ? "REDACTED" : redactQuery(url.slice(start + 1))}`;
}

/** Without the question mark. */
export function redactQuery(query: string): string {
  return secrets.size === 0 ? query : query.split("&").map(redactPair).join("&");
}

/** Finds only the usual spellings of names: for a URL, use {@linkcode redactUrl}. */
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
