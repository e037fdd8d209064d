/** Headers and URLs without their secrets. */
import { isHiddenHeader, redactText, redactUrl } from "../log/redaction.ts";

const HIDDEN = "REDACTED";

/** Names that usually carry credentials, besides those of declared API keys. */
const SECRET = /token|secret|passw|api[-_]?key|signature|credential|session|csrf|xsrf|jwt/i;
const SECRET_HEADER = new RegExp(
  `${SECRET.source}|authorization|cookie|assertion|principal|^dpop$|\\b(?:auth|access|functions|subscription)[-_]key\\b` +
    "|^(?:x-)?(?:auth|otp|pin)$|^sec-websocket-protocol$",
  "i",
);
/** In a query, wherever a URL is. Names have bounds: the time must not grow with their square. */
const SECRET_IN_QUERY = new RegExp(
  `([?&](?:[^=&?#\\s]{0,64}(?:${SECRET.source})[^=&?#\\s]{0,64}|sig)=)[^&#\\s"<>]*`,
  "gi",
);

export type Pairs = readonly (readonly [name: string, value: string])[];

/** The scheme of credentials and the names of cookies stay: they show what was sent. */
export function redactHeaders(headers: Iterable<readonly [string, string]>): Pairs {
  return Array.from(headers, ([name, value]) => [name, redactHeader(name, value)] as const);
}

/** From the path on. */
export function redactTarget(url: string): string {
  return redactQueries(redactUrl(url));
}

function redactQueries(text: string): string {
  return text.replace(SECRET_IN_QUERY, `$1${HIDDEN}`);
}

function redactHeader(name: string, value: string): string {
  if (!isHiddenHeader(name) && !SECRET_HEADER.test(name)) return redactQueries(redactText(value));
  if (name === "cookie") return value.split(/; */).map(redactPair).join("; ");
  if (name === "set-cookie") {
    const [pair = "", ...attributes] = value.split(/; */);
    return [redactPair(pair), ...attributes].join("; ");
  }
  const scheme = /authorization$/.test(name) ? /^[\w-]+(?= )/.exec(value)?.[0] : undefined;
  return scheme === undefined ? HIDDEN : `${scheme} ${HIDDEN}`;
}

function redactPair(pair: string): string {
  const equals = pair.indexOf("=");
  return equals < 0 ? HIDDEN : `${pair.slice(0, equals)}=${HIDDEN}`;
}
