/** Headers without their secrets. */
import { redactText } from "../log/redaction.ts";

const HIDDEN = "REDACTED";

/** Headers that usually carry credentials, besides those of declared API keys. */
const SECRET = /authorization|cookie|token|secret|passw|api-?key|signature|credential|session|csrf|xsrf/i;

export type Pairs = readonly (readonly [name: string, value: string])[];

/** @param keys The headers of declared API keys, in lower case. */
export function isSecretHeader(name: string, keys: ReadonlySet<string>): boolean {
  return keys.has(name.toLowerCase()) || SECRET.test(name);
}

/** The scheme of credentials and the names of cookies stay: they show what was sent. */
export function redactHeaders(headers: Iterable<readonly [string, string]>, keys: ReadonlySet<string>): Pairs {
  return Array.from(headers, ([name, value]) => [name, redactHeader(name, value, keys)] as const);
}

function redactHeader(name: string, value: string, keys: ReadonlySet<string>): string {
  if (!isSecretHeader(name, keys)) return redactText(value);
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
