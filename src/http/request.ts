/** The request as handlers, dependencies and middleware see it. */
import { getCookies } from "@std/http/cookie";
import { HTTPError } from "../errors.ts";
import type { AppHandle } from "./app_handle.ts";
import { BodyReader } from "./body.ts";
import { Completion } from "./completion.ts";
import type { ResolvedLimits } from "./limits.ts";
import type { RouteInfo } from "./route_info.ts";

/** What a server tells of a connection; the part of `Deno.ServeHandlerInfo` that webfw reads. */
export interface ConnectionInfo {
  /** The address of the client. */
  readonly remoteAddr?: Deno.Addr;
  /** Settles when the reply has been sent, or cannot be any more. */
  readonly completed?: Promise<void>;
}

/** What serves a request, as far as the request has to know it. */
export interface MatchedRoute {
  /** The route, for others to read; null where none matches. */
  readonly info: RouteInfo | null;
  /** The names of the path's parameters, in their order. */
  readonly names: readonly string[];
  /** The bounds that hold for it. */
  readonly limits: ResolvedLimits;
}

let getCompletion: (request: HttpRequest<unknown>) => Completion | undefined;
let openCompletion: (request: HttpRequest<unknown>) => Completion;
let getPathValues: (request: HttpRequest<unknown>) => readonly string[];
let getLimits: (request: HttpRequest<unknown>) => ResolvedLimits;
let getReplyHeaders: (request: HttpRequest<unknown>) => Headers | undefined;
let readJsonText: (request: HttpRequest<unknown>) => Promise<string>;
let getPathEnd: (request: HttpRequest<unknown>) => number;
let getConnection: (
  request: HttpRequest<unknown>,
) => ConnectionInfo | undefined;

/**
 * A request: a thin wrapper over the platform's own, which is at hand as `raw`. Everything is read when it is asked for.
 *
 * `State` is what the application's lifespans yield.
 *
 * @example The parts of a request
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/echo/{word}", async (request) => ({
 *   method: request.method,
 *   path: request.path,
 *   word: request.params.word,
 *   loud: request.query.get("loud"),
 *   agent: request.headers.get("user-agent"),
 * }));
 * const response = await app.fetch(
 *   new Request("http://localhost/echo/hi?loud=yes", { headers: { "user-agent": "me" } }),
 * );
 * assertEquals(await response.json(), { method: "GET", path: "/echo/hi", word: "hi", loud: "yes", agent: "me" });
 * ```
 */
export class HttpRequest<State = Record<string, unknown>> {
  /** The platform's request. Its body is better read through the methods of this class, which are bounded. */
  readonly raw: Request;
  /** The application that serves the request. */
  readonly app: AppHandle;
  /** What the lifespans yielded. It is shared by all requests, and frozen. */
  readonly state: Readonly<State>;
  readonly #matched: MatchedRoute;
  readonly #values: readonly string[];
  readonly #pathEnd: number;
  readonly #info: ConnectionInfo | undefined;
  #params: Readonly<Record<string, string>> | undefined;
  #url: URL | undefined;
  #cookies: Readonly<Record<string, string>> | undefined;
  #body: BodyReader | undefined;
  #completion: Completion | undefined;
  #replyHeaders: Headers | undefined;
  #locals: Map<unknown, unknown> | undefined;

  static {
    getCompletion = (request) => request.#completion;
    openCompletion = (request) => request.#completion ??= new Completion();
    getPathValues = (request) => request.#values;
    getLimits = (request) => request.#matched.limits;
    getReplyHeaders = (request) => request.#replyHeaders;
    readJsonText = (request) => request.#reader().jsonText();
    getPathEnd = (request) => request.#pathEnd;
    getConnection = (request) => request.#info;
  }

  /**
   * Wraps a request; the application does it.
   *
   * @ignore
   *
   * @param raw The platform's request.
   * @param app The application that serves it.
   * @param state What the lifespans yielded.
   * @param matched What serves it.
   * @param values The values of the path's parameters.
   * @param pathEnd Where the path ends in the URL's text.
   * @param info What the server tells of the connection.
   */
  constructor(
    raw: Request,
    app: AppHandle,
    state: Readonly<State>,
    matched: MatchedRoute,
    values: readonly string[],
    pathEnd: number,
    info: ConnectionInfo | undefined,
  ) {
    this.raw = raw;
    this.app = app;
    this.state = state;
    this.#matched = matched;
    this.#values = values;
    this.#pathEnd = pathEnd;
    this.#info = info;
  }

  /** The method, in upper case. */
  get method(): string {
    return this.raw.method;
  }

  /** The whole URL. */
  get url(): URL {
    return this.#url ??= parseUrl(this.raw.url);
  }

  /** The path as it was sent, not decoded. */
  get path(): string {
    return this.raw.url.slice(pathStart(this.raw.url), this.#pathEnd);
  }

  /** The route that serves the request; null where none does. */
  get route(): RouteInfo | null {
    return this.#matched.info;
  }

  /** The parameters of the path as text, decoded. A handler's arguments hold them converted. */
  get params(): Readonly<Record<string, string>> {
    if (this.#params) return this.#params;
    const params: Record<string, string> = Object.create(null);
    this.#matched.names.forEach((name, index) => params[name] = this.#values[index] ?? "");
    return this.#params = params;
  }

  /** The query, not validated. A handler's arguments hold what was declared of it. */
  get query(): URLSearchParams {
    return this.url.searchParams;
  }

  /** The headers. */
  get headers(): Headers {
    return this.raw.headers;
  }

  /** The cookies by name. The last wins where a name was sent twice. */
  get cookies(): Readonly<Record<string, string>> {
    return this.#cookies ??= readCookies(this.raw.headers);
  }

  /** Is aborted when the client has gone; by Deno's default also when the reply has been sent. */
  get signal(): AbortSignal {
    return this.raw.signal;
  }

  /** The id of the last event that a reader of a stream has seen: the `Last-Event-ID` header, else the query's `lastEventId`. */
  get lastEventId(): string | null {
    return this.raw.headers.get("last-event-id") ??
      this.query.get("lastEventId");
  }

  /** The address of the client; null where the request came by no network. Behind a proxy it is the proxy's. */
  get remoteAddress(): string | null {
    const address = this.#info?.remoteAddr;
    return address && "hostname" in address ? address.hostname : null;
  }

  /**
   * Headers to add to the reply of the handler, whatever it returns: the `location` of what it created, a cookie. They replace
   * those that the reply has, but for `set-cookie`, which adds. An error reply goes without them.
   *
   * @example Where the new book is
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.post("/books", { status: 201 }, async (request) => {
   *   request.replyHeaders.set("location", "/books/1");
   *   return { id: 1 };
   * });
   * const response = await app.fetch(new Request("http://localhost/books", { method: "POST" }));
   * assertEquals(response.headers.get("location"), "/books/1");
   * assertEquals(await response.json(), { id: 1 });
   * ```
   */
  get replyHeaders(): Headers {
    return this.#replyHeaders ??= new Headers();
  }

  /**
   * A place for what a middleware finds out and others use: a request id, the user. Nothing of it is shared between requests.
   *
   * @example A request id
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.middleware(async (request, next) => {
   *   request.locals.set("id", "r-1");
   *   return await next(request);
   * });
   * app.get("/id", async (request) => request.locals.get("id"));
   * const response = await app.fetch(new Request("http://localhost/id"));
   * assertEquals(await response.json(), "r-1");
   * ```
   */
  get locals(): Map<unknown, unknown> {
    return this.#locals ??= new Map();
  }

  /**
   * The body as what its JSON says, not validated.
   *
   * @throws {HTTPError} With 400 when it is not JSON, 408 when it comes too slowly, 413 when it is too large.
   */
  json(): Promise<unknown> {
    return this.#reader().json();
  }

  /**
   * The body as text.
   *
   * @throws {HTTPError} With 408 when it comes too slowly, 413 when it is too large.
   */
  text(): Promise<string> {
    return this.#reader().text();
  }

  /**
   * The body as bytes.
   *
   * @throws {HTTPError} With 408 when it comes too slowly, 413 when it is too large.
   */
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#reader().bytes();
  }

  /**
   * The body as the fields of a form, urlencoded or multipart.
   *
   * @throws {HTTPError} With 400 when it is not well formed, 408 when it comes too slowly, 413 when it is too large, 415 when
   * it is no form.
   */
  formData(): Promise<FormData> {
    return this.#reader().formData();
  }

  /**
   * The body as it comes, of any size. One that is within the limits can be read again; a larger one fails with 413 then.
   *
   * @throws {TypeError} When it was read through `raw`.
   */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#reader().stream();
  }

  /**
   * Runs a task after the last byte of the reply has gone, also when the client left or the handler failed. Tasks run one after
   * another, before the dependencies are cleaned up; one that throws is logged.
   *
   * @param task What to do.
   */
  after(task: () => unknown): void {
    openCompletion(this).addTask(task);
  }

  #reader(): BodyReader {
    return this.#body ??= new BodyReader(
      this.raw,
      this.#matched.limits,
      this.#info === undefined,
    );
  }
}

/** The work that is left of a request, if there is any. */
export function completionOf<State>(
  request: HttpRequest<State>,
): Completion | undefined {
  return getCompletion(request);
}

/** The work that is left of a request, to add to. */
export function openCompletionOf<State>(
  request: HttpRequest<State>,
): Completion {
  return openCompletion(request);
}

/** The values of the path's parameters, decoded, in their order. */
export function pathValuesOf<State>(
  request: HttpRequest<State>,
): readonly string[] {
  return getPathValues(request);
}

/** What the server tells of the request's connection. */
export function connectionOf<State>(
  request: HttpRequest<State>,
): ConnectionInfo | undefined {
  return getConnection(request);
}

/** The headers that were set for the reply, if any were. */
export function replyHeadersOf<State>(request: HttpRequest<State>): Headers | undefined {
  return getReplyHeaders(request);
}

/** The body as text that is to be parsed as JSON. */
export function jsonTextOf<State>(request: HttpRequest<State>): Promise<string> {
  return readJsonText(request);
}

/** The bounds that hold for the request. */
export function limitsOf<State>(request: HttpRequest<State>): ResolvedLimits {
  return getLimits(request);
}

/** The query's text, without the question mark; sliced from the URL, which is never parsed for it. */
export function queryTextOf<State>(request: HttpRequest<State>): string {
  const { url } = request.raw;
  const start = getPathEnd(request);
  if (url.charCodeAt(start) !== 63 /* ? */) return "";
  const hash = url.indexOf("#", start);
  return hash < 0 ? url.slice(start + 1) : url.slice(start + 1, hash);
}

/** Where the path starts in the text of a URL: at the first slash after the authority. Below 0 where there is none. */
export function pathStart(url: string): number {
  return url.indexOf("/", authorityStart(url));
}

/**
 * Where the path ends in the text of a URL. Below its start where a query or fragment comes before it: a server may be sent a
 * target without a path.
 */
export function pathEnd(url: string, start: number): number {
  const authority = authorityStart(url);
  const query = url.indexOf("?", authority);
  const hash = url.indexOf("#", authority);
  const end = query < 0 ? url.length : query;
  return start < 0 ? -1 : hash >= 0 && hash < end ? hash : end;
}

function authorityStart(url: string): number {
  const isHttp = url.charCodeAt(4) === 58; // http:
  return isHttp ? 7 : url.indexOf("://") + 3;
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch (cause) {
    throw new HTTPError(400, "The Host header is malformed", { cause });
  }
}

/** Pairs without a name are left out: getCookies throws at them, and a neighbouring site may have set one. */
function readCookies(headers: Headers): Readonly<Record<string, string>> {
  const pairs = headers.get("cookie")?.split(";").map((pair) => pair.trim()) ?? [];
  const named = pairs.filter((pair) => pair !== "" && !pair.startsWith("="));
  const cookies = named.length === 0 ? {} : getCookies(new Headers({ cookie: named.join("; ") }));
  // Without a prototype, whichever object getCookies makes: the names are the client's choice.
  return Object.assign(Object.create(null), cookies);
}
