/** The common parts of guards: options, and functions that read, compare and refuse credentials. */
import type { DeclaredReply, Dependency, PreparedDependency, RequiredState, StateType } from "../binding/dependency.ts";
import { makeGuard } from "../binding/guard.ts";
import { type OAuth2Flows, readSecurity, type SecurityRequirement, type SecurityScheme } from "../binding/security.ts";
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
   * The name of the security scheme, unique in the document. By default that of the function:
   * `bearer`, `basic`, `apiKey`, `jwt`, `session`.
   */
  scheme?: string;
  /** The description in the document, such as how to get credentials. */
  description?: string;
}

/**
 * The options of guards whose function gets the request.
 *
 * @ignore
 */
export interface StatefulGuardOptions<State> extends GuardOptions {
  /** The type of `request.state` in the function, made by `stateType`. */
  state?: StateType<State>;
}

/** Where clients get a token for the name and the password of a user. */
export interface PasswordFlow {
  /**
   * The URL of the token endpoint, absolute or on the host of the application, such as `/token`. It
   * gets a form with `username` and `password`, and replies with
   * `{ access_token, token_type: "bearer" }` (RFC 6749, section 4.3).
   */
  tokenUrl: string;
  /** The available scopes with their descriptions. */
  scopes?: Record<string, string>;
}

const PASSWORD_FLOW: OptionNames<PasswordFlow> = { tokenUrl: true, scopes: true };

/** Checks the option `passwordFlow`. */
export function readPasswordFlow(flow: PasswordFlow, action: string): NonNullable<OAuth2Flows["password"]> {
  checkOptions(flow, PASSWORD_FLOW, action, "passwordFlow.");
  const { tokenUrl, scopes = {} } = flow;
  if (typeof tokenUrl !== "string" || tokenUrl === "" || !URL.canParse(tokenUrl, "https://host.invalid")) {
    throw new TypeError(
      `Cannot ${action}: "passwordFlow.tokenUrl" must be a URL or a path, such as "/token", got ${quote(tokenUrl)}`,
    );
  }
  if (Array.isArray(scopes)) {
    throw new TypeError(`Cannot ${action}: "passwordFlow.scopes" must be descriptions by name, write { read: "Read" }`);
  }
  return { tokenUrl, scopes };
}

const GUARD_OPTIONS: OptionNames<GuardOptions> = { scheme: true, description: true };

/** @param names Those of the further options. */
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

interface VerifyingGuard<Value>
  extends Pick<PreparedDependency, "isSent">, Partial<Pick<PreparedDependency, "callerOf">> {
  readonly name: string;
  readonly scheme: SecurityScheme;
  readonly description: string | undefined;
  readonly resolve: (request: HttpRequest<never>) => Promise<Value>;
}

/** Makes a guard of credentials that the application verifies. */
export function makeVerifyingGuard<Value, State>(
  { name, scheme, description, resolve, ...parts }: VerifyingGuard<Value>,
): Dependency<Value, RequiredState<State>> {
  return makeGuard<Value, RequiredState<State>>({
    name,
    security: readSecurity(requirementOf(name, scheme, description), name),
    replies: [UNAUTHORIZED],
    resolve: (request) => resolve(request as HttpRequest<never>),
    ...parts,
  });
}

export function checkString(value: unknown, name: string, action: string): void {
  if (value === undefined || typeof value === "string") return;
  throw new TypeError(`Cannot ${action}: "${name}" must be a string, got ${quote(value)}`);
}

export function checkVerify(verify: unknown, action: string): void {
  if (typeof verify === "function") return;
  throw new TypeError(`Cannot ${action}: the first argument must be an async function, got ${quote(verify)}`);
}

/** In characters. Tokens with many claims have some thousand. */
export const MAX_CREDENTIAL = 16_384;

export function hasAuthorization(request: HttpRequest): boolean {
  return request.raw.headers.has("authorization");
}

/**
 * Credentials in the `Authorization` header (RFC 9110, section 11.4): null if absent, undefined if
 * malformed or too long.
 *
 * @param scheme In lower case.
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
 * Compares two secrets in constant time: the time of `===` depends on how much of a guess was
 * right. Only the lengths, which may differ, change the time: SHA-256 hashes are compared.
 *
 * @param given The value from the client. Strings are compared as UTF-8.
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

/** The result of a `verify` function. */
export function isAccepted<Value>(value: Value | null | undefined | false): value is Value {
  return value !== null && value !== undefined && value !== false;
}
