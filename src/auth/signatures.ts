/** How the bodies of requests are signed: the schemes, their headers and keys, and `sign()`. */
import { checkInputName } from "../binding/dependency.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { nodeCrypto } from "../base/runtime.ts";
import { checkString, MAX_CREDENTIAL } from "./credentials.ts";

/**
 * How a sender signs its requests: by an HMAC of the body in a header.
 *
 * @category Dependencies
 */
export interface SignatureScheme {
  /** The header of the signature. It may contain several, separated by spaces. */
  header: string;
  /**
   * The text before each signature, such as `v0=`. Signatures with another one are ignored.
   *
   * @default {""}
   */
  prefix?: string;
  /**
   * How the bytes of the signature are written.
   *
   * @default {"hex"}
   */
  encoding?: "hex" | "base64";
  /**
   * The hash function of the HMAC.
   *
   * @default {"SHA-256"}
   */
  algorithm?: "SHA-1" | "SHA-256" | "SHA-512";
  /**
   * What is signed, such as `"v0:{timestamp}:{body}"`: the body, and the headers `timestamp` and
   * `id`.
   *
   * @default {"{body}"}
   */
  content?: string;
  /**
   * The header of the time of sending, in seconds since 1970. `content` must have `{timestamp}`.
   */
  timestamp?: string;
  /** The header of the message's id. `content` must have `{id}`. */
  id?: string;
}

export type SigningScheme = "standard" | "github" | "stripe" | SignatureScheme;

/** Of an array, each counts. */
export type SigningSecret = string | readonly string[];

/** The parts of a request's headers that are signed, and its signatures. */
export interface Sent {
  readonly signatures: readonly string[];
  readonly timestamp: string;
  readonly id: string;
}

/** A checked {@linkcode SignatureScheme}. */
export interface Scheme extends Required<Omit<SignatureScheme, "timestamp" | "id">> {
  readonly name: string;
  readonly timestamp: string | undefined;
  readonly id: string | undefined;
  /** The headers besides that of the signature. */
  readonly furtherHeaders: readonly string[];
  /** Undefined if a part is missing. */
  readonly read: (headers: Headers) => Sent | undefined;
  /** The headers of a signed request, as `read` reads them. */
  readonly write: (sent: Sent) => Record<string, string>;
  /** Converts a secret to the bytes of the key; undefined if it is malformed. */
  readonly keyOf: (secret: string) => Uint8Array | undefined;
}

const SCHEME_OPTIONS: OptionNames<SignatureScheme> = {
  header: true,
  prefix: true,
  encoding: true,
  algorithm: true,
  content: true,
  timestamp: true,
  id: true,
};

const ALGORITHMS: Readonly<Record<NonNullable<SignatureScheme["algorithm"]>, string>> = {
  "SHA-1": "sha1",
  "SHA-256": "sha256",
  "SHA-512": "sha512",
};

export function hmac(
  { algorithm }: Scheme,
  key: Uint8Array,
  parts: readonly (string | Uint8Array)[],
): import("node:buffer").Buffer {
  const mac = nodeCrypto().createHmac(ALGORITHMS[algorithm], key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** The signature, encoded. */
export function signatureOf(
  scheme: Scheme,
  key: Uint8Array,
  { timestamp, id }: Pick<Sent, "timestamp" | "id">,
  body: string | Uint8Array,
): string {
  const parts = scheme.content.split(/(\{(?:body|timestamp|id)\})/).map((part) =>
    part === "{body}" ? body : part === "{timestamp}" ? timestamp : part === "{id}" ? id : part
  );
  return hmac(scheme, key, parts).toString(scheme.encoding);
}

/**
 * @throws {TypeError} If a secret is malformed. The message does not have it.
 */
export function keysOf(secrets: SigningSecret, scheme: Scheme, action: string): readonly Uint8Array[] {
  const all: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (all.length === 0) throw new TypeError(`Cannot ${action}: "secret" must have at least one, got an empty array`);
  return all.map((secret) => {
    const key = typeof secret === "string" ? scheme.keyOf(secret) : undefined;
    if (key && key.length > 0) return key;
    // Do not print the value: it may be a secret.
    const form = scheme.keyOf === base64Key ? ' in base64, perhaps after "whsec_"' : "";
    throw new TypeError(`Cannot ${action}: "secret" must be a string that is not empty${form}, or an array of such`);
  });
}

function textKey(secret: string): Uint8Array {
  return new TextEncoder().encode(secret);
}

function base64Key(secret: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(secret.replace(/^whsec_/, ""));
  } catch {
    return undefined;
  }
}

const STANDARD: SignatureScheme = {
  header: "webhook-signature",
  prefix: "v1,",
  encoding: "base64",
  content: "{id}.{timestamp}.{body}",
  timestamp: "webhook-timestamp",
  id: "webhook-id",
};

const GITHUB: SignatureScheme = { header: "x-hub-signature-256", prefix: "sha256=" };

/** All in one header: `t=1492774577,v1=5257a8…,v1=6ffbb5…`. */
const STRIPE: SignatureScheme = { header: "stripe-signature", content: "{timestamp}.{body}", timestamp: "t" };

/** @throws {TypeError} If it is wrong. */
export function readScheme(given: SigningScheme, action: string): Scheme {
  switch (given) {
    case "standard":
      return { ...completed(STANDARD, given), keyOf: base64Key };
    case "github":
      return completed(GITHUB, given);
    case "stripe":
      return { ...completed(STRIPE, given), furtherHeaders: [], read: readStripe, write: writeStripe };
  }
  if (typeof given !== "object" || given === null) {
    throw new TypeError(
      `Cannot ${action}: "scheme" must be "standard", "github", "stripe" or an object with "header", got ${
        quote(given)
      }`,
    );
  }
  checkOptions(given, SCHEME_OPTIONS, action, "scheme.");
  const scheme = completed(given, "signed");
  for (const name of ["header", "timestamp", "id"] as const) {
    const value = scheme[name];
    if (value === undefined) continue;
    if (typeof value !== "string" || value === "") {
      throw new TypeError(`Cannot ${action}: "scheme.${name}" must be the name of a header, got ${quote(value)}`);
    }
    checkInputName("headers", value, `scheme.${name}`);
  }
  if (scheme.header === undefined) throw new TypeError(`Cannot ${action}: "scheme.header" is missing`);
  checkString(scheme.prefix, "scheme.prefix", action);
  checkString(scheme.content, "scheme.content", action);
  if (!["hex", "base64"].includes(scheme.encoding)) {
    throw new TypeError(`Cannot ${action}: "scheme.encoding" must be "hex" or "base64", got ${quote(scheme.encoding)}`);
  }
  if (!Object.hasOwn(ALGORITHMS, scheme.algorithm)) {
    const names = Object.keys(ALGORITHMS).map((name) => `"${name}"`).join(", ");
    throw new TypeError(`Cannot ${action}: "scheme.algorithm" must be one of ${names}, got ${quote(scheme.algorithm)}`);
  }
  const signs = (part: string) => scheme.content.includes(`{${part}}`);
  if (!signs("body")) {
    throw new TypeError(`Cannot ${action}: "scheme.content" must contain {body}, got ${quote(scheme.content)}`);
  }
  for (const part of ["timestamp", "id"] as const) {
    if (signs(part) === (scheme[part] !== undefined)) continue;
    const cure = signs(part) ? `name its header by "scheme.${part}"` : `what is not signed can be forged`;
    throw new TypeError(
      `Cannot ${action}: "scheme.content" must have {${part}} if there is "scheme.${part}": ${cure}`,
    );
  }
  return { ...scheme, name: NAME.test(scheme.header) ? scheme.header.toLowerCase() : scheme.name };
}

/** The names of components that a document can have. */
const NAME = /^[a-zA-Z0-9._-]+$/;

function completed(given: SignatureScheme, name: string): Scheme {
  const { header, timestamp, id, prefix = "", encoding = "hex", algorithm = "SHA-256", content = "{body}" } = given;
  const read = (headers: Headers): Sent | undefined => {
    const text = headers.get(header);
    const sent = {
      timestamp: timestamp === undefined ? "" : headers.get(timestamp),
      id: id === undefined ? "" : headers.get(id),
    };
    if (text === null || text.length > MAX_CREDENTIAL || sent.timestamp === null || sent.id === null) return undefined;
    const all = text.split(" ").filter((signature) => signature !== "" && signature.startsWith(prefix));
    return {
      timestamp: sent.timestamp,
      id: sent.id,
      signatures: all.map((signature) => signature.slice(prefix.length)),
    };
  };
  const write = (sent: Sent): Record<string, string> => ({
    ...(id !== undefined && { [id]: sent.id }),
    ...(timestamp !== undefined && { [timestamp]: sent.timestamp }),
    [header]: sent.signatures.map((signature) => `${prefix}${signature}`).join(" "),
  });
  const furtherHeaders = [id, timestamp].filter((name) => name !== undefined);
  const parts = { name, header, timestamp, id, prefix, encoding, algorithm, content };
  return { ...parts, furtherHeaders, read, write, keyOf: textKey };
}

function readStripe(headers: Headers): Sent | undefined {
  const text = headers.get(STRIPE.header);
  if (text === null || text.length > MAX_CREDENTIAL) return undefined;
  const fields = text.split(",").map((field) => field.trim());
  const valuesOf = (name: string) =>
    fields.filter((field) => field.startsWith(`${name}=`)).map((field) => field.slice(name.length + 1));
  const [timestamp] = valuesOf("t");
  return timestamp === undefined ? undefined : { timestamp, id: "", signatures: valuesOf("v1") };
}

function writeStripe({ timestamp, signatures }: Sent): Record<string, string> {
  return { [STRIPE.header]: [`t=${timestamp}`, ...signatures.map((signature) => `v1=${signature}`)].join(",") };
}

/** @ignore How a body is signed. */
export interface SignOptions {
  /** As for {@linkcode signed}: the scheme that the receiver verifies. */
  scheme: "standard" | "github" | "stripe" | SignatureScheme;
  /**
   * The secret that is shared with the receiver; of an array, the body is signed with each, while
   * one replaces the other. Secrets of `standard` are base64, perhaps after `whsec_`.
   */
  secret: string | readonly string[];
  /**
   * The id of the message, which stays the same when it is sent again: visible ASCII without a dot.
   *
   * @default {crypto.randomUUID()}
   */
  id?: string;
  /**
   * The time of sending.
   *
   * @default {new Date()}
   */
  sentAt?: Date;
}

const SIGN_OPTIONS: OptionNames<SignOptions> = { scheme: true, secret: true, id: true, sentAt: true };

/**
 * Signs a body as {@linkcode signed} verifies it: for requests to other services, and for tests.
 *
 * @param body The bytes that are sent, or their text: do not write the JSON a second time.
 * @returns The headers to send with the body.
 * @throws {TypeError} If an option is missing or wrong. The message never has the secret.
 *
 * @example A signed request
 * ```ts
 * import { App } from "@webfw/core";
 * import { sign, signed } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
 * const app = new App();
 * app.post("/hooks", { deps: { sender: signed({ scheme: "standard", secret }) } }, async () => "Welcome");
 *
 * const body = JSON.stringify({ card: 7 });
 * const headers = sign(body, { scheme: "standard", secret });
 * assertEquals(Object.keys(headers), ["webhook-id", "webhook-timestamp", "webhook-signature"]);
 * const response = await app.fetch(new Request("http://localhost/hooks", { method: "POST", headers, body }));
 * assertEquals(await response.json(), "Welcome");
 * ```
 *
 * @category Dependencies
 */
export function sign(body: string | Uint8Array, options: SignOptions): Record<string, string> {
  const action = "sign the body";
  checkOptions(options, SIGN_OPTIONS, action);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new TypeError(
      `Cannot ${action}: it must be a string or bytes, write JSON.stringify(data), got ${quote(body)}`,
    );
  }
  const scheme = readScheme(options.scheme, action);
  const { id = crypto.randomUUID(), sentAt = new Date() } = options;
  checkMessageId(id, action);
  if (!(sentAt instanceof Date) || Number.isNaN(sentAt.getTime())) {
    throw new TypeError(`Cannot ${action}: "sentAt" must be a valid Date, got ${quote(sentAt)}`);
  }
  return signedHeaders(body, scheme, keysOf(options.secret, scheme, action), { id, sentAt });
}

export function signedHeaders(
  body: string | Uint8Array,
  scheme: Scheme,
  keys: readonly Uint8Array[],
  { id, sentAt }: { readonly id: string; readonly sentAt: Date },
): Record<string, string> {
  const timestamp = `${Math.floor(sentAt.getTime() / 1000)}`;
  const signatures = keys.map((key) => signatureOf(scheme, key, { timestamp, id }, body));
  return scheme.write({ signatures, timestamp, id });
}

/**
 * The parts of what is signed have dots between them: an id with a dot could be taken for two.
 *
 * @throws {TypeError} If it is no id.
 */
export function checkMessageId(id: unknown, action: string): void {
  if (typeof id === "string" && /^[!-\-/-~]{1,256}$/.test(id)) return;
  throw new TypeError(
    `Cannot ${action}: "id" must be 1 to 256 visible characters of ASCII without a dot, got ${quote(id)}`,
  );
}
