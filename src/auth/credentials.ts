/** What all guards share: their options, and how they read, compare and refuse credentials. */
import type { DeclaredReply } from "../binding/dependency.ts";
import type { SecurityRequirement, SecurityScheme } from "../binding/security.ts";
import { HTTPError } from "../base/errors.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { nodeCrypto } from "../base/runtime.ts";
import type { HttpRequest } from "../http/request.ts";

/**
 * The options of each guard.
 *
 * @category Dependencies
 */
export interface GuardOptions {
  /**
   * The name of the security scheme in the document. Guards with different schemes need different
   * names. By default the name of the function: `bearer`, `basic`, `apiKey`, `jwt`, `session`.
   */
  scheme?: string;
  /** The description of the scheme in the document, such as how to get credentials. */
  description?: string;
}

const GUARD_OPTIONS: OptionNames<GuardOptions> = { scheme: true, description: true };

/** Checks the options of each guard, and the names of the others. */
export function checkGuardOptions<Options extends GuardOptions>(
  options: Options,
  names: OptionNames<Omit<Options, keyof GuardOptions>>,
  action: string,
): void {
  checkOptions(options, { ...names, ...GUARD_OPTIONS } as OptionNames<Options>, action);
  for (const name of ["scheme", "description"] as const) checkString(options[name], name, action);
}

export function requirementOf(
  name: string,
  scheme: SecurityScheme,
  description: string | undefined,
): SecurityRequirement {
  return { [name]: description === undefined ? scheme : { ...scheme, description } };
}

export function checkString(value: unknown, name: string, action: string): void {
  if (value === undefined || typeof value === "string") return;
  throw new TypeError(`Cannot ${action}: "${name}" must be a string, got ${quote(value)}`);
}

export function checkVerify(verify: unknown, action: string): void {
  if (typeof verify === "function") return;
  throw new TypeError(`Cannot ${action}: the first argument must be an async function, got ${quote(verify)}`);
}

/** The most characters of a credential. Tokens with many claims have some thousand. */
export const MAX_CREDENTIAL = 16_384;

/** Whether a request has an `Authorization` header of any scheme. */
export function hasAuthorization(request: HttpRequest): boolean {
  return request.raw.headers.has("authorization");
}

/**
 * The credentials of one scheme in the `Authorization` header (RFC 9110, section 11.4). Null if
 * there are none of this scheme, undefined if they are malformed or too long.
 *
 * @param scheme The name of the scheme in lower case.
 */
export function credentialsOf(request: HttpRequest, scheme: string): string | null | undefined {
  const header = request.raw.headers.get("authorization");
  if (header === null || header.slice(0, scheme.length).toLowerCase() !== scheme) return null;
  if (header.length > scheme.length && header[scheme.length] !== " ") return null;
  const credentials = header.slice(scheme.length + 1).trim();
  // Two headers are joined by ", ", which has a space.
  return credentials.length <= MAX_CREDENTIAL && /^[\x21-\x7e]+$/.test(credentials) ? credentials : undefined;
}

/**
 * Compares two secrets in constant time. `===` stops at the first difference, so its time shows an
 * attacker how much of a guess was right.
 *
 * The SHA-256 hashes of both are compared, so they can have different lengths. The time grows with
 * these lengths, and does not depend on where the secrets differ.
 *
 * @param given What the client sent. A string is compared by its UTF-8.
 * @param expected The secret.
 * @throws {TypeError} If a value is neither a string nor bytes.
 *
 * @example A token from the environment
 * ```ts
 * import { equal } from "@webfw/core/auth";
 * import { assert, assertFalse } from "@std/assert";
 *
 * const secret = "0b72d3c1";
 * assert(equal("0b72d3c1", secret));
 * assertFalse(equal("0b72d3c2", secret));
 * assertFalse(equal("0b7", secret));
 * ```
 *
 * @category Dependencies
 */
export function equal(given: string | Uint8Array, expected: string | Uint8Array): boolean {
  return nodeCrypto().timingSafeEqual(digest(given), digest(expected));
}

function digest(value: string | Uint8Array): Uint8Array {
  if (typeof value !== "string" && !(value instanceof Uint8Array)) {
    throw new TypeError(`Cannot compare the secrets: both must be a string or bytes, got ${quote(value)}`);
  }
  return nodeCrypto().createHash("sha256").update(value).digest();
}

const CHALLENGE = { "WWW-Authenticate": "How to authenticate (RFC 9110)." };

export const UNAUTHORIZED: DeclaredReply = {
  status: 401,
  description: "The credentials are missing or not valid.",
  headers: CHALLENGE,
};

export const FORBIDDEN: DeclaredReply = {
  status: 403,
  description: "The credentials are valid, and do not permit this.",
  headers: CHALLENGE,
};

export const UNAVAILABLE: DeclaredReply = {
  status: 503,
  description: "The credentials cannot be verified at present.",
  headers: { "Retry-After": "The seconds after which to try again." },
};

export function unauthorized(detail: string, challenge: string): HTTPError {
  return new HTTPError(401, detail, { headers: { "www-authenticate": challenge } });
}

/** Whether the function of a user accepted the credentials. */
export function isAccepted<Value>(value: Value | null | undefined | false): value is Value {
  return value !== null && value !== undefined && value !== false;
}
