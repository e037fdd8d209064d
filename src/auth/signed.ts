/** Webhooks that come in: requests whose body the sender has signed with a shared secret. */
import { checkInputName, type Dependency, type RequiredState } from "../binding/dependency.ts";
import { makeGuard } from "../binding/guard.ts";
import { readSecurity } from "../binding/security.ts";
import { checkOptions, type Duration, type OptionNames, quote, toMilliseconds } from "../base/options.ts";
import { nodeCrypto } from "../base/runtime.ts";
import { quotedString } from "../http/headers.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { checkString, equal, MAX_CREDENTIAL, requirementOf, UNAUTHORIZED, unauthorized } from "./credentials.ts";

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

type SigningSecret = string | readonly string[];

/**
 * The options of a guard of signed requests.
 *
 * @category Dependencies
 */
export interface SignedOptions<State = Record<string, unknown>> {
  /**
   * How the requests are signed: as Standard Webhooks, GitHub or Stripe do it, or by parts of your
   * own.
   */
  scheme: "standard" | "github" | "stripe" | SignatureScheme;
  /**
   * The secret that is shared with the sender; of an array, each is accepted, so that it can be
   * replaced without a gap. An async function returns the secret of a tenant; if it returns
   * undefined or null, the request is refused. Secrets of `standard` are base64, perhaps after
   * `whsec_`.
   */
  secret:
    | string
    | readonly string[]
    | ((request: HttpRequest<State>) => Promise<string | readonly string[] | null | undefined>);
  /**
   * How far the time of sending may be from now, in the past and in the future. GitHub sends no
   * time, so that a recorded request can be sent again.
   *
   * @default {"5m"}
   */
  tolerance?: Duration;
  /** The description of the scheme in the document, such as where to get the secret. */
  description?: string;
}

/**
 * What a signed request says of itself, besides its body. The signature covers it.
 *
 * @category Dependencies
 */
export interface SignedMessage {
  /**
   * The id of the message, which stays the same when it is sent again; null if it is not signed.
   */
  readonly id: string | null;
  /** The time of sending; null if it is not signed. */
  readonly sentAt: Date | null;
}

/** The parts of a request's headers that are signed, and its signatures. */
interface Sent {
  readonly signatures: readonly string[];
  readonly timestamp: string;
  readonly id: string;
}

/** A checked {@linkcode SignatureScheme}. */
interface Scheme extends Required<Omit<SignatureScheme, "timestamp" | "id">> {
  readonly name: string;
  readonly timestamp: string | undefined;
  readonly id: string | undefined;
  /** Undefined if a part is missing. */
  readonly read: (headers: Headers) => Sent | undefined;
  /** Converts a secret to the bytes of the key; undefined if it is malformed. */
  readonly keyOf: (secret: string) => Uint8Array | undefined;
}

const OPTIONS: OptionNames<SignedOptions> = { scheme: true, secret: true, tolerance: true, description: true };

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

/**
 * A guard of requests that their sender has signed, such as the webhooks of a payment provider.
 *
 * It reads the body up to the limit `body`, and compares its HMAC in constant time; the handler
 * gets the same body without a second read. A request without a valid signature, or one that was
 * sent too long ago, is refused with 401. Within the tolerance a recorded request can come again:
 * keep the ids, or make the work `idempotent`.
 *
 * @returns A dependency. Its value is the id and the time of the message.
 * @throws {TypeError} If an option is missing or wrong.
 * @throws {RangeError} If the tolerance is no duration.
 *
 * @example A webhook
 * ```ts
 * import { App } from "@webfw/core";
 * import { signed } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const sender = signed({ scheme: "github", secret: "It's a Secret to Everybody" });
 * const app = new App();
 * const Push = v.object({ ref: v.string() });
 * app.post("/push", { deps: { sender }, body: Push }, async (_request, { body }) => body.ref);
 *
 * const response = await app.fetch(new Request("http://localhost/push", { method: "POST", body: "{}" }));
 * assertEquals(response.status, 401);
 * ```
 *
 * @category Dependencies
 */
export function signed<State = Record<string, unknown>>(
  options: SignedOptions<State>,
): Dependency<SignedMessage, RequiredState<State>> {
  const action = "make a signed guard";
  checkOptions(options, OPTIONS as OptionNames<SignedOptions<State>>, action);
  const { description, secret } = options;
  checkString(description, "description", action);
  const scheme = readScheme(options.scheme, action);
  const { name, header, timestamp } = scheme;
  if (options.tolerance !== undefined && timestamp === undefined) {
    throw new TypeError(`Cannot ${action}: "tolerance" needs a timestamp, and ${name} signs none`);
  }
  const tolerance = toMilliseconds(options.tolerance ?? "5m", "the tolerance of a signed guard");
  const keysFor = readSecret(secret as SignedOptions<never>["secret"], scheme, action);
  const callers = new WeakMap<SignedMessage, string>();
  const challenge = `Signature realm=${quotedString(name)}, header=${quotedString(header)}`;
  return makeGuard<SignedMessage, RequiredState<State>>({
    name,
    security: readSecurity(requirementOf(name, { type: "apiKey", in: "header", name: header }, description), name),
    replies: [UNAUTHORIZED],
    isSent: (request) => request.raw.headers.has(header),
    readHeaders: [scheme.timestamp, scheme.id].filter((name) => name !== undefined),
    // The sender, whose secret may be one of several: of a function, each secret is a sender.
    callerOf: (_request, value) => callers.get(value as SignedMessage),
    resolve: async (request) => {
      const sent = scheme.read(request.raw.headers);
      if (!sent) throw unauthorized(`Sign the request, and send the signature in the header ${header}`, challenge);
      const sentAt = timestamp === undefined ? null : dateOf(sent.timestamp);
      // Without the body, as it need not be read.
      if (sentAt && !(Math.abs(Date.now() - sentAt.getTime()) <= tolerance)) {
        throw unauthorized("The request was signed too long ago, or the clocks differ: sign it again", challenge);
      }
      const keys = await keysFor(request);
      const body = await contextOf(request).body.sentBytes();
      const key = keys.find((key) => isSignedBy(key, scheme, sent, body));
      if (!key) throw unauthorized("The signature is not valid", challenge);
      const message: SignedMessage = { id: scheme.id === undefined ? null : sent.id, sentAt };
      callers.set(message, typeof secret === "function" ? hmac(scheme, key, ["caller"]).toString("hex") : name);
      return message;
    },
  });
}

function isSignedBy(key: Uint8Array, scheme: Scheme, { signatures, timestamp, id }: Sent, body: Uint8Array): boolean {
  const parts = scheme.content.split(/(\{(?:body|timestamp|id)\})/).map((part) =>
    part === "{body}" ? body : part === "{timestamp}" ? timestamp : part === "{id}" ? id : part
  );
  const expected = hmac(scheme, key, parts).toString(scheme.encoding);
  return signatures.some((signature) =>
    equal(scheme.encoding === "hex" ? signature.toLowerCase() : signature, expected)
  );
}

function hmac(
  { algorithm }: Scheme,
  key: Uint8Array,
  parts: readonly (string | Uint8Array)[],
): import("node:buffer").Buffer {
  const mac = nodeCrypto().createHmac(ALGORITHMS[algorithm], key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** Invalid unless it is seconds since 1970. */
function dateOf(timestamp: string): Date {
  return new Date(/^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1000 : NaN);
}

/** The keys of a request; none if the program knows no secret for it. */
type KeysFor = (request: HttpRequest) => Promise<readonly Uint8Array[]>;

function readSecret(secret: SignedOptions<never>["secret"], scheme: Scheme, action: string): KeysFor {
  if (typeof secret === "function") {
    return async (request) => {
      const secrets = await secret(request as HttpRequest<never>);
      return secrets === undefined || secrets === null ? [] : keysOf(secrets, scheme, "verify a signature");
    };
  }
  const keys = keysOf(secret, scheme, action);
  if (keys.length === 0) throw new TypeError(`Cannot ${action}: "secret" must have at least one, got an empty array`);
  return async () => keys;
}

function keysOf(secrets: SigningSecret, scheme: Scheme, action: string): readonly Uint8Array[] {
  const all: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
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

function readScheme(given: SignedOptions["scheme"], action: string): Scheme {
  switch (given) {
    case "standard":
      return { ...completed(STANDARD, given), keyOf: base64Key };
    case "github":
      return completed(GITHUB, given);
    case "stripe":
      return { ...completed(STRIPE, given), read: readStripe };
  }
  if (typeof given === "string") {
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
  return { name, header, timestamp, id, prefix, encoding, algorithm, content, read, keyOf: textKey };
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
