/** CORS: lets pages of other origins read replies (Fetch standard, section 3.2). */
import { type Duration, type OptionNames, quote, readOptions, toMilliseconds } from "../base/options.ts";
import { HTTPError } from "../base/errors.ts";
import type { OriginList } from "./origin.ts";
import { isToken } from "./headers.ts";

/**
 * How pages of the `origins` may use replies.
 *
 * @category Applications
 */
export interface CorsOptions {
  /**
   * Whether these pages can send credentials (cookies, HTTP authentication) and read the replies.
   * It cannot be combined with `"*"` in `origins`.
   *
   * @default {false}
   */
  credentials?: boolean;
  /**
   * Headers that pages may read, besides the safelisted ones and `Retry-After`, `Location`, `ETag`,
   * `RateLimit`, `RateLimit-Policy`, `Idempotency-Replayed`, `X-Request-Id`.
   *
   * @default {[]}
   */
  exposeHeaders?: readonly string[];
  /**
   * How long browsers cache a preflight.
   *
   * @default {"2h"}
   */
  maxAge?: Duration;
}

const OPTIONS: OptionNames<CorsOptions> = { credentials: true, exposeHeaders: true, maxAge: true };

const EXPOSED = [
  "retry-after",
  "location",
  "etag",
  "ratelimit",
  "ratelimit-policy",
  "idempotency-replayed",
  "x-request-id",
];

/** The most headers that a preflight can request. */
const MAX_HEADERS = 100;
/** In characters, of a method or a header. */
const MAX_NAME = 100;

export interface ResolvedCors {
  readonly credentials: boolean;
  /** In lower case. */
  readonly exposed: readonly string[];
  /** In seconds. */
  readonly maxAge: string;
}

export function resolveCors(options: CorsOptions, origins: OriginList): ResolvedCors {
  const { credentials = false, exposeHeaders = [], maxAge = "2h" } = readOptions(options, OPTIONS, "set cors");
  if (typeof credentials !== "boolean") {
    throw new TypeError(`Cannot set cors: "credentials" must be true or false, got ${quote(credentials)}`);
  }
  if (credentials && origins.isOpen) {
    throw new TypeError('Cannot set cors: browsers accept no credentials with "*", list the origins by their names');
  }
  if (!Array.isArray(exposeHeaders) || !exposeHeaders.every((name) => typeof name === "string" && isName(name))) {
    throw new TypeError('Cannot set cors: "exposeHeaders" must be an array of header names such as ["x-total"]');
  }
  return {
    credentials,
    exposed: [...new Set([...EXPOSED, ...exposeHeaders.map((name) => name.toLowerCase())])],
    maxAge: String(Math.round(toMilliseconds(maxAge, "maxAge of cors") / 1000)),
  };
}

interface SentHeaders {
  readonly vary: string | null;
  /** Comma-separated names of headers. */
  readonly exposed: string;
  /** Whether the handler itself allows credentials. */
  readonly hasCredentials: boolean;
}

const NOTHING_SENT: SentHeaders = { vary: null, exposed: "", hasCredentials: false };

export class Cors {
  readonly #origins: OriginList;
  /** The origins whose pages may send credentials. */
  readonly #credentialed: OriginList | undefined;
  readonly #exposed: ReadonlySet<string>;
  readonly #maxAge: string;

  constructor(origins: OriginList, { credentials, exposed, maxAge }: ResolvedCors, credentialed: OriginList = origins) {
    this.#origins = origins;
    this.#credentialed = credentials && !origins.isOpen ? credentialed : undefined;
    this.#exposed = new Set(exposed);
    this.#maxAge = maxAge;
  }

  /** Undefined if the request is no preflight. Throws a 403 if the origin is not allowed. */
  preflight(headers: Headers, methods: () => Iterable<string>): Response | undefined {
    const method = headers.get("access-control-request-method");
    const origin = headers.get("origin");
    if (method === null || origin === null) return undefined;
    if (!this.#origins.allows(origin)) {
      throw new HTTPError(
        403,
        'Pages of this origin may not send requests: the App can list it in "origins"',
      );
    }
    // Allow the requested method too, so that the page can read the 405.
    const allowed = new Set(methods());
    if (isName(method)) allowed.add(method);
    const reply = new Headers({
      "access-control-allow-methods": [...allowed].sort().join(", "),
      "access-control-max-age": this.#maxAge,
    });
    const names = readNames(headers.get("access-control-request-headers"));
    if (names !== "") reply.set("access-control-allow-headers", names);
    return new Response(null, { status: 204, headers: reply });
  }

  /** Adds the CORS headers. `hasBodyHeadersOnly`: the others only describe the body. */
  stamp(raw: Request, response: Response, hasBodyHeadersOnly = false): void {
    if (response.status === 101) return;
    const origin = raw.headers.get("origin");
    if (hasBodyHeadersOnly) return this.#write(response.headers, origin, NOTHING_SENT);
    const sent = { vary: null as string | null, exposed: "", hasCredentials: false };
    // One pass costs less than a search for each name.
    response.headers.forEach((value, name) => {
      if (name === "vary") sent.vary = value;
      else if (name === "access-control-allow-credentials") sent.hasCredentials = true;
      else if (this.#exposed.has(name)) sent.exposed += sent.exposed === "" ? name : `, ${name}`;
    });
    this.#write(response.headers, origin, sent);
  }

  #write(headers: Headers, origin: string | null, { vary, exposed, hasCredentials }: SentHeaders): void {
    if (this.#origins.isOpen) headers.set("access-control-allow-origin", "*");
    else {
      addVary(headers, vary);
      if (origin === null || !this.#origins.names(origin)) return;
      headers.set("access-control-allow-origin", origin);
    }
    if (origin !== null && this.#credentialed?.names(origin)) headers.set("access-control-allow-credentials", "true");
    // A handler that sets CORS itself allowed another origin than this list.
    else if (hasCredentials) headers.delete("access-control-allow-credentials");
    if (origin !== null && exposed !== "") headers.append("access-control-expose-headers", exposed);
  }
}

/** Caches must not send the reply for one origin to another origin, or to none. */
function addVary(headers: Headers, vary: string | null): void {
  if (vary === null) headers.set("vary", "Origin");
  else if (!/(?:^|,)\s*(?:\*|origin)\s*(?:,|$)/i.test(vary)) headers.append("vary", "Origin");
}

function isName(text: string): boolean {
  return text.length <= MAX_NAME && isToken(text);
}

/** The header names that a preflight requests. Invalid ones are dropped. */
function readNames(list: string | null): string {
  const names = list?.split(",", MAX_HEADERS).map((name) => name.trim().toLowerCase()) ?? [];
  return [...new Set(names.filter(isName))].join(", ");
}
