import { getCookies } from "@std/http/cookie";
import { HTTPError } from "../errors.ts";
import type { RouteInfo } from "./route_info.ts";
import { pathStart } from "./query.ts";
import { BodyReader } from "./body.ts";
import { AfterResponse, type Task } from "./after_response.ts";
import type { ResolvedLimits } from "./limits.ts";
import type { Topic } from "../topics/topic.ts";
import type { TopicOptions } from "../topics/topic_options.ts";

/** What a request can see of the application that serves it. Cuts the knot between the application and its requests. */

/** The application as its requests see it. */
export interface AppHandle {
  /** The title of the application. */
  readonly title: string;
  /** The version of the application. */
  readonly version: string;
  /** What the application is for, where it says so. */
  readonly description: string | undefined;
  /** The path of the OpenAPI document; null where it is not served. */
  readonly openapiUrl: string | null;
  /** The path of the documentation page; null where it is not served. */
  readonly docsUrl: string | null;
  /** The path of the endpoint for agents; null where it is not served. */
  readonly mcpUrl: string | null;
  /** All routes, in the order of their registration. */
  readonly routes: readonly RouteInfo[];
  /** The topic of a name: the same one every time. Options have to be given where it is declared, and nowhere else. */
  topic<Data = unknown, Input = Data>(name: string, options?: TopicOptions<Data, Input>): Topic<Data, Input>;
}

/** What the framework knows of one request and its reply, and keeps from handlers: they see an `HttpRequest`. */

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

/** One request and what belongs to it. */
export class RequestContext {
  /** The platform's request. */
  readonly raw: Request;
  /** The application that serves it. */
  readonly app: AppHandle;
  /** What serves it. */
  readonly matched: MatchedRoute;
  /** The values of the path's parameters, decoded, in their order. */
  readonly values: readonly string[];
  /** Where the path ends in the URL's text. */
  readonly pathEnd: number;
  /** What the server tells of the connection; undefined where the request came by none. */
  readonly connection: ConnectionInfo | undefined;
  /** The work that is left when the reply has gone, if there is any. */
  afterResponse: AfterResponse | undefined;
  /** Headers for the handler's reply, if any were set. */
  replyHeaders: Headers | undefined;
  /** The reply whose headers are known to be open to changes. */
  mutableReply: Response | undefined;
  #body: BodyReader | undefined;

  constructor(
    raw: Request,
    app: AppHandle,
    matched: MatchedRoute,
    values: readonly string[],
    pathEnd: number,
    connection: ConnectionInfo | undefined,
  ) {
    this.raw = raw;
    this.app = app;
    this.matched = matched;
    this.values = values;
    this.pathEnd = pathEnd;
    this.connection = connection;
    this.afterResponse = undefined;
    this.replyHeaders = undefined;
    this.mutableReply = undefined;
  }

  /** The body, within the limits. */
  get body(): BodyReader {
    return this.#body ??= new BodyReader(this, this.matched.limits, this.connection === undefined);
  }

  /** Lets go of what nobody is going to read of the body any more. */
  releaseBody(): void {
    this.#body?.release();
  }

  /** Runs a task when the reply has gone, before the cleanups. */
  addTask(task: Task): void {
    (this.afterResponse ??= new AfterResponse()).addTask(task);
  }

  /** Runs a cleanup when the reply has gone, before those that were added earlier. */
  addCleanup(cleanup: Task): void {
    (this.afterResponse ??= new AfterResponse()).addCleanup(cleanup);
  }
}

/** The request as handlers, dependencies and middleware see it. */

let getContext: (request: HttpRequest<unknown>) => RequestContext;

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
  readonly #context: RequestContext;
  #params: Readonly<Record<string, string>> | undefined;
  #url: URL | undefined;
  #cookies: Readonly<Record<string, string>> | undefined;
  #locals: Map<unknown, unknown> | undefined;

  static {
    getContext = (request) => request.#context;
  }

  /**
   * Wraps a request; the application does it.
   *
   * @ignore
   *
   * @param context The request and what belongs to it.
   * @param state What the lifespans yielded.
   */
  constructor(context: RequestContext, state: Readonly<State>) {
    this.raw = context.raw;
    this.app = context.app;
    this.state = state;
    this.#context = context;
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
    return this.raw.url.slice(pathStart(this.raw.url), this.#context.pathEnd);
  }

  /** The route that serves the request; null where none does. */
  get route(): RouteInfo | null {
    return this.#context.matched.info;
  }

  /** The parameters of the path as text, decoded. A handler's arguments hold them converted. */
  get params(): Readonly<Record<string, string>> {
    if (this.#params) return this.#params;
    const params: Record<string, string> = Object.create(null);
    const { matched, values } = this.#context;
    matched.names.forEach((name, index) => params[name] = values[index] ?? "");
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
    const address = this.#context.connection?.remoteAddr;
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
    return this.#context.replyHeaders ??= new Headers();
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
    return this.#context.body.json();
  }

  /**
   * The body as text.
   *
   * @throws {HTTPError} With 408 when it comes too slowly, 413 when it is too large.
   */
  text(): Promise<string> {
    return this.#context.body.text();
  }

  /**
   * The body as bytes. Of a body that was bound as JSON they are those of its text: a byte order mark, and what is no UTF-8, are not
   * in it, which no JSON has (RFC 8259, section 8.1).
   *
   * @throws {HTTPError} With 408 when it comes too slowly, 413 when it is too large.
   */
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#context.body.bytes();
  }

  /**
   * The body as the fields of a form, urlencoded or multipart. Large files of it lie on disk until the reply has gone.
   *
   * @throws {HTTPError} With 400 when it is not well formed, 408 when it comes too slowly, 413 when it, a file or the number of
   * its fields is over a limit, 415 when it is no form.
   */
  formData(): Promise<FormData> {
    return this.#context.body.formData();
  }

  /**
   * The body as it comes, of any size. One that is no larger than the limit of JSON can be read again, another fails with 413 then.
   * It fails with 400 where the body is cut short. What is not read of it is let go when the reply has gone.
   *
   * @throws {TypeError} When it was read through `raw`.
   */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#context.body.stream();
  }

  /**
   * Runs a task after the last byte of the reply has gone, also when the client left or the handler failed. Tasks run one after
   * another, before the dependencies are cleaned up; one that throws is logged.
   *
   * @param task What to do.
   */
  after(task: () => unknown): void {
    this.#context.addTask(task);
  }
}

/** What the framework keeps of a request. */
export function contextOf<State>(request: HttpRequest<State>): RequestContext {
  return getContext(request);
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
