/** The request, as handlers see it. */
import { checkOptions, quote } from "../base/options.ts";
import { type Log, makeLog } from "../log/log.ts";
import type { AppHandle } from "./app_handle.ts";
import type { RequestContext } from "./context.ts";
import { addCookie, addDeletion, type Cookie, type CookieAttributes, readCookies } from "./cookies.ts";
import { checkIfMatch } from "./entity_tag.ts";
import { idempotencyKeyOf } from "./headers.ts";
import { type LinkOptions, type LinkTarget, makeLink } from "./link.ts";
import type { RouteInfo } from "./route_info.ts";

let getContext: (request: HttpRequest<unknown>) => RequestContext;

/**
 * A request: a thin wrapper over the platform's `Request`, which is `raw`. Each part is read on
 * first use. `State` is the type of what the lifespans yield.
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
 *
 * @category Requests and replies
 */
export class HttpRequest<State = Record<string, unknown>> {
  /** The platform's request. Read its body by the methods of this class, which apply limits. */
  readonly raw: Request;
  /** The application that serves the request. */
  readonly app: AppHandle;
  /** What the lifespans yielded: one frozen object for all requests. */
  readonly state: Readonly<State>;
  readonly #context: RequestContext;
  #params: Readonly<Record<string, string>> | undefined;
  #cookies: Readonly<Record<string, string>> | undefined;
  #locals: Map<unknown, unknown> | undefined;

  static {
    getContext = (request) => request.#context;
  }

  /**
   * Wraps a request; the application calls it.
   *
   * @ignore
   */
  constructor(context: RequestContext, state: Readonly<State>) {
    this.raw = context.raw;
    this.app = context.app;
    this.state = state;
    this.#context = context;
  }

  /** The method in upper case. */
  get method(): string {
    return this.raw.method;
  }

  /** The whole URL. With `trustProxy`, scheme and host are those that the client used. */
  get url(): URL {
    return this.#context.location;
  }

  /** The path, not decoded, but with unreserved characters unescaped: `/%61dmin` is `/admin`. */
  get path(): string {
    return this.#context.path;
  }

  /**
   * The path below which the application is served, or `""`: from the `X-Forwarded-Prefix` of a
   * trusted proxy, else the option `basePath`, else a mount. {@linkcode HttpRequest.link} puts it
   * in front of a path.
   */
  get basePath(): string {
    return this.#context.basePath;
  }

  /**
   * Makes a link to a route: its path behind the `basePath` and the prefixes of its includes, or of
   * the mount of its application. Of several includes, the one that this request came by counts.
   *
   * A handler that returns a link to its own route needs a return type.
   *
   * @param target What the verb returned.
   * @param rest The values for path and query by name, and `{ absolute: true }` for a link with
   * scheme and host: set `hosts`, or the client names the host.
   * @throws {TypeError} If a value is missing, or would change the path; if the application does
   * not serve the route, or serves it by several includes and the request came by none of them.
   *
   * @example A link to another route
   * ```ts
   * import { App, Router } from "@webfw/core";
   * import { TestClient } from "@webfw/core/testing";
   * import { assertEquals } from "@std/assert";
   *
   * const books = new Router({ prefix: "/books" });
   * const getBook = books.get("/{title}", async (_request, { title }) => title);
   * books.get("", async (request) => [request.link(getBook, { title: "Mansfield Park" })]);
   *
   * const app = new App({ basePath: "/shop" });
   * app.include(books, { prefix: "/v1" });
   * await using client = new TestClient(app);
   * assertEquals(await client.get("/v1/books").json(), ["/shop/v1/books/Mansfield%20Park"]);
   * ```
   */
  link<Values extends readonly unknown[]>(
    target: LinkTarget<Values>,
    ...rest: [...values: Values, options?: LinkOptions]
  ): string {
    return makeLink(this, target, rest);
  }

  /** The route that serves the request; null if there is none. */
  get route(): RouteInfo | null {
    return this.#context.matched.info;
  }

  /** The parameters of the path as decoded strings. A handler's arguments have them converted. */
  get params(): Readonly<Record<string, string>> {
    if (this.#params) return this.#params;
    const params: Record<string, string> = Object.create(null);
    const { matched, values } = this.#context;
    matched.names.forEach((name, index) => params[name] = values[index] ?? "");
    return this.#params = params;
  }

  /** The query, not validated. A handler's arguments have the declared part of it. */
  get query(): URLSearchParams {
    return this.url.searchParams;
  }

  /**
   * The headers.
   *
   * @throws {HTTPError} With 400, if the Host header is not the host of the request's target.
   */
  get headers(): Headers {
    return this.#context.headers;
  }

  /** The cookies by name. If a name occurs twice, the first one counts. */
  get cookies(): Readonly<Record<string, string>> {
    return this.#cookies ??= readCookies(this.raw.headers);
  }

  /** Aborts when the client disconnects, and by `timeout()`. Deno also aborts it after replies. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }

  /** A random UUID made on first use, or what `requestId()` took from a trusted proxy. */
  get id(): string {
    return this.#context.requestId;
  }

  /**
   * The log, for entries with `request_id`, and `trace_id` with OpenTelemetry. They go to stderr,
   * or to the App's option `log`.
   */
  get log(): Log {
    return makeLog(this.#context);
  }

  /** The client's `Idempotency-Key` without quotes, to pass on. Null if missing or malformed. */
  get idempotencyKey(): string | null {
    return idempotencyKeyOf(this.raw.headers) ?? null;
  }

  /** The last event id of a client: `Last-Event-ID`, or `lastEventId` of the query. */
  get lastEventId(): string | null {
    return this.#context.lastEventId;
  }

  /** The address of the client, or of the proxy without `trustProxy`; null without a network. */
  get remoteAddress(): string | null {
    const context = this.#context;
    return context.forwarded ? context.forwarded.address : context.peer;
  }

  /**
   * Makes the write conditional: refuses it if the client has read another version than the present
   * one (RFC 9110, section 13.1.1). Call it before you write, in the same transaction.
   *
   * @param tag The tag of the present version, as `etagOf()` makes it; null if there is none.
   * @throws {HTTPError} With 412 if `If-Match` is another version; with 428 if it is missing, and
   * the route has the option `ifMatch: "required"`.
   * @throws {TypeError} If the tag is no strong one.
   */
  ifMatch(tag: string | null): void {
    const { matched } = this.#context;
    checkIfMatch(this.raw.headers, tag, matched.info?.options.ifMatch === "required");
  }

  /**
   * Headers for the reply, whatever the handler returns. They replace headers of the reply;
   * `set-cookie` adds to them.
   *
   * An error reply gets them too, and so does a middleware's reply without `next`. On an error
   * reply they replace nothing, and headers that describe a success are left out: those of the
   * content, `etag`, `location`, and those that permit caching. The 101 of a WebSocket gets none.
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
   * ```
   */
  get replyHeaders(): Headers {
    return this.#context.reply.headers;
  }

  /**
   * Sets a cookie with the reply, also an error reply, but not with the 101 of a WebSocket. It
   * replaces one of the same name, domain and path. By default it is `HttpOnly`, `Secure` and
   * `SameSite=Lax`, with `Path=/`.
   *
   * @throws {TypeError} If browsers would refuse it, or the reply has begun.
   * @throws {RangeError} If it has more than 4,096 bytes with its attributes.
   */
  setCookie(cookie: Cookie): void {
    this.#context.reply.assertOpen("set the cookie", cookie?.name);
    addCookie(this.replyHeaders, cookie);
  }

  /**
   * Makes the browser delete a cookie, also with an error reply.
   *
   * @param attributes Those of the cookie: domain, path and `secure` must match.
   * @throws {TypeError} If the reply has begun.
   */
  deleteCookie(name: string, attributes: CookieAttributes = {}): void {
    this.#context.reply.assertOpen("delete the cookie", name);
    addDeletion(this.replyHeaders, name, attributes);
  }

  /** Values that middleware and handlers share, such as the user. Each request has its own. */
  get locals(): Map<unknown, unknown> {
    return this.#locals ??= new Map();
  }

  /**
   * The body as parsed JSON, not validated.
   *
   * @throws {HTTPError} With 400 if it is malformed, 408 if it is too slow, 413 if it is too large.
   */
  json(): Promise<unknown> {
    return this.#context.body.json();
  }

  /**
   * The body as text. Bytes that are not UTF-8 become replacement characters, as with `fetch`.
   *
   * @throws {HTTPError} With 408 if it arrives too slowly, 413 if it is too large.
   */
  text(): Promise<string> {
    return this.#context.body.text();
  }

  /**
   * The body as bytes.
   *
   * @throws {HTTPError} With 408 if it arrives too slowly, 413 if it is too large.
   */
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#context.body.bytes();
  }

  /**
   * The body as the fields of a form, urlencoded or multipart. Large files of it are on disk until
   * the reply is sent.
   *
   * @throws {HTTPError} With 400 if it is malformed, 408 if it arrives too slowly, 413 if it, a
   * file or the number of fields is over a limit, 415 if it is not a form.
   */
  formData(): Promise<FormData> {
    return this.#context.body.formData();
  }

  /**
   * The body as a stream of any size. It fails with 400 when the client disconnects. A body within
   * the limit for JSON can be read again; a larger one then fails with 413.
   *
   * @throws {TypeError} If the body was read through `raw`.
   */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#context.body.stream();
  }

  /**
   * Runs a task after the last byte of the reply, or when the client has disconnected. Tasks run
   * one by one, before the cleanups of dependencies without `until: "handler"`. Errors are logged.
   *
   * If an error becomes the reply or ends the stream after this call, the task does not run, unless
   * `always` is set: it then runs after dependencies have closed.
   *
   * @example A mail for an order that was taken
   * ```ts
   * import { App, HTTPError } from "@webfw/core";
   * import { TestClient } from "@webfw/core/testing";
   * import { assertEquals } from "@std/assert";
   *
   * const log: string[] = [];
   * const app = new App();
   * app.post("/orders/{item}", async (request, { item }) => {
   *   request.after(() => log.push(`mail for ${item}`));
   *   request.after(() => log.push(`seen ${item}`), { always: true });
   *   if (item === "Emma") throw new HTTPError(409, "Sold out");
   * });
   *
   * {
   *   await using client = new TestClient(app);
   *   await client.post("/orders/Emma").problem(409);
   *   await client.post("/orders/Persuasion");
   * }
   * assertEquals(log, ["seen Emma", "mail for Persuasion", "seen Persuasion"]);
   * ```
   */
  after(task: () => unknown, options: { always?: boolean } = {}): void {
    if (typeof task !== "function") {
      throw new TypeError(
        `Cannot run a task after the reply: it must be a function, got ${quote(task)}; write () => …`,
      );
    }
    checkOptions(options, { always: true }, "run a task after the reply");
    this.#context.addTask(task, options.always ?? false);
  }

  /** Method and path only: JSON of a request, in a log or by mistake in a reply, has no secrets. */
  toJSON(): { readonly method: string; readonly path: string } {
    return { method: this.method, path: this.path };
  }
}

export function contextOf<State>(request: HttpRequest<State>): RequestContext {
  return getContext(request);
}
