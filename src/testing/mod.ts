/**
 * Sends requests to an application in tests, without a socket.
 *
 * @example A test of one route
 * ```ts
 * import { App } from "@webfw/core";
 * import { TestClient } from "@webfw/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/hello/{name}", async (_request, { name }) => ({ hello: name }));
 *
 * await using client = new TestClient(app);
 * assertEquals(await client.get("/hello/Ada").json(), { hello: "Ada" });
 * const missing = await client.get("/nothing").problem();
 * assertEquals(missing.status, 404);
 * ```
 *
 * @module
 */
import { load } from "../base/async_context.ts";
import type { AnyDependency, Dependency, DependencyValue, None } from "../binding/dependency.ts";
import { type Client, makeClient } from "../client/client.ts";
import { type OptionNames, quote, readOptions } from "../base/options.ts";
import type { AppProtocol } from "../app/app.ts";
import { override } from "../app/override.ts";
import {
  addCookies,
  connectionFrom,
  type RequestDefaults,
  requestOf,
  type TestConnection,
  type TestRequestInit,
} from "./request.ts";
import { CookieJar } from "./cookie_jar.ts";
import { TestEvents, type TestEventsInit } from "./events.ts";
import { mediaType, TestHandshake, TestReply } from "./reply.ts";
import { openSocket } from "./socket_pair.ts";
import type { TestSocket, TestSocketInit } from "./websocket.ts";
import type { HttpRequest } from "../http/request.ts";

export type { TestConnection } from "./request.ts";
export { type TestEvent, TestEvents, type TestEventsInit } from "./events.ts";
export { type InvalidInput, TestHandshake, TestReply } from "./reply.ts";
export type { QueryPart, TestRequestInit } from "./request.ts";
export type { TestSocket, TestSocketInit } from "./websocket.ts";

const WEBFW_APP: unique symbol = Symbol.for("webfw.app");

/** @ignore An application, or any object with a `fetch`. */
export interface Testable {
  /** Answers a request. There is a connection if the client has an address. */
  readonly fetch: (request: Request, info?: TestConnection) => Response | Promise<Response>;
  /** Runs before the first request. */
  start?(): Promise<void>;
  /** Runs when the client is closed. */
  stop?(): Promise<void>;
}

/** The options of a test client. */
export interface TestClientOptions<Given extends readonly AnyDependency[] = readonly AnyDependency[]> {
  /**
   * The URL to which paths are appended. A request also accepts a URL below it, such as that of a
   * `location` header; any other URL is an error.
   *
   * @default {"http://localhost"}
   */
  base?: string;
  /**
   * The client's IP address, which becomes `request.remoteAddress` unless a trusted proxy sends
   * another one. Without it, rate limits by the address do not count.
   */
  address?: string;
  /** Headers of all requests. Those of a request take precedence. */
  headers?: HeadersInit;
  /**
   * Whether the client stores the cookies of replies and sends them, as a browser does. `Secure`
   * cookies are sent to `https:` and to `localhost`. The `cookies` of a request take precedence,
   * and a header `cookie` is sent unchanged.
   *
   * @default {false}
   */
  cookies?: boolean;
  /**
   * Pairs of a dependency and its replacement: an async function or another dependency. The
   * dependencies that only the replaced one needs do not run either, and their inputs are not
   * validated. A replaced guard is still a guard, and the document does not change.
   *
   * A replacement may list the original in its own `deps`.
   */
  override?: Overrides<Given>;
  /**
   * Answers all webhooks that the application sends while the client is open, in place of the
   * network: a function of a `Request`, such as the `fetch` of another application. Wait for them
   * by `app.consumers.idle()`.
   */
  webhooks?: (request: Request) => Response | Promise<Response>;
}

/** The clients of each application that have sent something and are open. */
const openClients = new WeakMap<Testable, Set<object>>();

const OPTIONS: OptionNames<TestClientOptions> = {
  base: true,
  address: true,
  headers: true,
  cookies: true,
  override: true,
  webhooks: true,
};

/**
 * Sends requests to an application. The lifespans start with the first request and end with the
 * last open client of the application: use `await using`, or call `close()`.
 *
 * A reply has its whole body: read endless streams by `events`, or abort the request by its
 * `signal`. Several clients of one application can replace different dependencies at the same time;
 * each of those counts rate limits separately.
 *
 * @example A route without its database
 * ```ts
 * import { App, dependency } from "@webfw/core";
 * import { bearer } from "@webfw/core/auth";
 * import { TestClient } from "@webfw/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const openDatabase = async (): Promise<{ titleOf(id: string): string }> => {
 *   throw new Error("There is no database here");
 * };
 * const database = dependency(async () => await openDatabase());
 * const user = bearer(async (token) => token === "f2a9" && { name: "Ada" });
 *
 * const app = new App();
 * app.get("/books/{id}", { deps: { database, user } }, async (_request, { id, database, user }) => {
 *   return `${database.titleOf(id)}, read by ${user.name}`;
 * });
 *
 * await using client = new TestClient(app, {
 *   override: [
 *     [database, async () => ({ titleOf: () => "Emma" })],
 *     [user, async () => ({ name: "a test" })],
 *   ],
 * });
 * assertEquals(await client.get("/books/7").json(), "Emma, read by a test");
 * ```
 */
export class TestClient<Api = unknown, const Given extends readonly AnyDependency[] = readonly AnyDependency[]>
  implements AsyncDisposable {
  readonly #app: Testable;
  readonly #served: Pick<Testable, "fetch" | "start">;
  readonly #defaults: RequestDefaults;
  readonly #jar: CookieJar | undefined;
  readonly #connection: TestConnection | undefined;
  readonly #open = new Set<Pick<TestSocket | TestEvents, "close">>();
  readonly #receives: boolean;
  #api: { readonly client: unknown; readonly end: AbortController } | undefined;

  /**
   * Makes a client.
   *
   * @param app The application.
   * @param options The options, or only the `base`.
   * @throws {TypeError} If an option is unknown or invalid.
   */
  constructor(app: Testable, options: TestClientOptions<Given> | string = {}) {
    const given = typeof options === "string" ? { base: options } : options;
    const { base = "http://localhost", address, headers = {}, cookies, override, webhooks } = readOptions<
      TestClientOptions<Given>
    >(given, OPTIONS, "make a test client");
    if (cookies !== undefined && typeof cookies !== "boolean") {
      throw new TypeError(`Cannot make a test client: "cookies" must be true or false, got ${quote(cookies)}`);
    }
    if (!/^https?:\/\//.test(base) || !URL.canParse(base)) {
      throw new TypeError(
        `Cannot make a test client: "base" must be an address such as "http://localhost", got ${quote(base)}`,
      );
    }
    this.#connection = address === undefined ? undefined : connectionFrom(address);
    this.#app = app;
    if (webhooks !== undefined) receiveWebhooks(app, webhooks);
    this.#receives = webhooks !== undefined;
    this.#served = override === undefined ? app : overridden(app, override);
    this.#jar = cookies ? new CookieJar() : undefined;
    this.#defaults = { base, headers, cookiesFor: (url) => this.#jar?.cookiesFor(url) ?? {} };
  }

  /**
   * A typed client of `@webfw/core/client`, without a connection, for the routes of a module:
   * `new TestClient<typeof api>(app)`. It sends the headers and cookies of this client, and closes
   * with it.
   *
   * @example Calls of typed routes
   * ```ts
   * import { App } from "@webfw/core";
   * import { TestClient } from "@webfw/core/testing";
   * import { assertEquals } from "@std/assert";
   * import * as v from "valibot";
   *
   * // books.ts; a test has: import * as api from "./books.ts"
   * const app = new App();
   * const Book = v.object({ id: v.number(), title: v.string() });
   * const getBook = app.get("/books/{id}", { params: { id: v.number() }, response: Book }, async (_request, { id }) => {
   *   return { id, title: "Emma" };
   * });
   *
   * await using client = new TestClient<{ getBook: typeof getBook }>(app);
   * const { title } = await client.api.get("/books/{id}", { id: 7 });
   * assertEquals(title.toUpperCase(), "EMMA");
   * ```
   */
  get api(): [unknown] extends [Api] ? unknown : Client<Api> {
    this.#api ??= this.#makeApi();
    return this.#api.client as [unknown] extends [Api] ? unknown : Client<Api>;
  }

  /** Sends a GET request. */
  get(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("GET", path, init);
  }

  /** Sends a HEAD request. */
  head(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("HEAD", path, init);
  }

  /** Sends a POST request. */
  post(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("POST", path, init);
  }

  /** Sends a PUT request. */
  put(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("PUT", path, init);
  }

  /** Sends a PATCH request. */
  patch(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("PATCH", path, init);
  }

  /** Sends a DELETE request. */
  delete(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("DELETE", path, init);
  }

  /**
   * Sends a request of any method.
   *
   * @param method The method.
   * @param path The path, with or without a query.
   * @param init The query, headers and body.
   * @throws {TypeError} If an option is unknown.
   */
  request(method: string, path: string, init: TestRequestInit = {}): TestReply {
    return new TestReply(this.#send(requestOf(method, path, init, this.#defaults)));
  }

  /**
   * Listens to server-sent events. The request is sent at once, and only once: to resume, send
   * `last-event-id` in `headers`.
   *
   * @param path The path, with or without a query.
   * @param init The options of a request, `method`, and `raw` for `SSE()` with `encode: "text"`.
   * @throws {TypeError} If an option is unknown.
   *
   * @example The messages of a topic
   * ```ts
   * import { App, SSE } from "@webfw/core";
   * import { TestClient } from "@webfw/core/testing";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * const orders = app.topic<{ item: string }>("orders");
   * app.get("/orders", async () => SSE(orders.subscribe()));
   *
   * await using client = new TestClient(app);
   * await using events = client.events<{ item: string }>("/orders");
   * await events.opened();
   * await orders.publish({ item: "Tea" });
   * await orders.publish({ item: "Milk" });
   * const [first, second] = await events.take(2);
   * assertEquals([first?.data, second?.data], [{ item: "Tea" }, { item: "Milk" }]);
   *
   * assertEquals((await client.events("/nothing").problem()).status, 404);
   * ```
   */
  events<Data = unknown>(path: string, init: TestEventsInit = {}): TestEvents<Data> {
    const { method = "GET", raw = false, ...rest } = init;
    const request = requestOf(method, path, rest, this.#defaults);
    if (!request.headers.has("accept")) request.headers.set("accept", "text/event-stream");
    const reply = this.#fetch(request).then(async (response) => {
      return response.ok && mediaType(response) === "text/event-stream" ? response : await whole(response);
    });
    const events = new TestEvents<Data>(reply, request.signal, raw);
    this.#open.add(events);
    events.ended.then(() => this.#open.delete(events));
    return events;
  }

  /**
   * Opens a WebSocket, without a connection. A message takes a turn of the event loop.
   *
   * @param path The path, with or without a query.
   * @param init The options of a request, `protocols`, and the schemas as the client sees them:
   * `receive` is what the server sends. Without schemas, messages are strings and bytes.
   * @throws {TypeError} If an option is unknown or invalid.
   *
   * @example A conversation
   * ```ts
   * import { App, WebSocketClosedError } from "@webfw/core";
   * import { TestClient } from "@webfw/core/testing";
   * import { assertEquals, assertRejects } from "@std/assert";
   * import * as v from "valibot";
   *
   * const Said = v.object({ text: v.string() });
   * const Heard = v.object({ text: v.string(), room: v.string() });
   *
   * const app = new App();
   * app.websocket("/rooms/{room}", { receive: Said, send: Heard }, async (socket, { room }) => {
   *   for await (const { text } of socket) {
   *     if (text === "Bye") return;
   *     await socket.send({ text, room });
   *   }
   * });
   *
   * await using client = new TestClient(app);
   * await using socket = await client.websocket("/rooms/a", { receive: Heard, send: Said });
   * await socket.send({ text: "Hello" });
   * assertEquals(await socket.receive(), { text: "Hello", room: "a" });
   * await socket.send({ text: "Bye" });
   * assertEquals((await socket.ended).code, 1000);
   * await assertRejects(() => socket.receive(), WebSocketClosedError);
   *
   * assertEquals((await client.websocket("/nothing").problem()).status, 404);
   * ```
   */
  websocket<Receive = string | Uint8Array<ArrayBuffer>, Send = string | Uint8Array>(
    path: string,
    init: TestSocketInit<Receive, Send> = {},
  ): TestHandshake<Receive, Send> {
    const { receive, send, protocols, ...rest } = init;
    const request = requestOf("GET", path, rest, this.#defaults);
    if (protocols) request.headers.set("sec-websocket-protocol", protocols.join(", "));
    return new TestHandshake(this.#openSocket(request, { receive, send }));
  }

  #makeApi(): { readonly client: unknown; readonly end: AbortController } {
    const { base, headers, cookiesFor } = this.#defaults;
    const end = new AbortController();
    const send = async (request: Request) => {
      addCookies(request.headers, cookiesFor(new URL(request.url)));
      return await this.#fetch(request);
    };
    const client = makeClient({
      base,
      options: { headers: Object.fromEntries(new Headers(headers)), fetch: send, signal: end.signal },
      openSocket(address, headers, protocols) {
        if (protocols) headers.set("sec-websocket-protocol", protocols.join(", "));
        const opening = openSocket(new Request(address.replace(/^ws/, "http"), { headers }), send);
        // The socket reports the failure to the client.
        opening.response.catch(() => {});
        return opening.socket;
      },
    });
    return { client, end };
  }

  async #openSocket<Receive, Send>(
    request: Request,
    schemas: { readonly receive: unknown; readonly send: unknown },
  ): Promise<TestSocket<Receive, Send> | Response> {
    const { codecOf, TestSocket } = await load(() => import("./websocket.ts"));
    const codec = codecOf(new URL(request.url).pathname, schemas);
    const { socket: end, response } = openSocket(request, (request) => this.#send(request));
    const reply = await response;
    if (reply.status !== 101) return reply;
    const socket = new TestSocket<Receive, Send>(end, codec);
    this.#open.add(socket);
    const close = () => void socket.close();
    request.signal.addEventListener("abort", close);
    socket.ended.then(() => {
      this.#open.delete(socket);
      request.signal.removeEventListener("abort", close);
    });
    return socket;
  }

  /**
   * Runs a cron now, regardless of its schedule, and waits for its handler. It rejects as the
   * handler does.
   *
   * @param name The name of the cron.
   * @throws {TypeError} If there is no cron of this name, or the client does not test an `App`.
   */
  async runCron(name: string): Promise<void> {
    const protocol = protocolOf(this.#app);
    if (!protocol) throw new TypeError("Cannot run a cron: the client must test an App, and not an object with fetch");
    await this.#start();
    await protocol.runCron(name);
  }

  /**
   * Publishes the scheduled messages of the application's topics now, regardless of their times:
   * those of `publish` with `after` or `at`. Those that are due first come first.
   *
   * @param topic The name of a topic; by default all.
   * @returns How many messages were scheduled.
   * @throws {TypeError} If there is no topic of this name, or the client does not test an `App`.
   *
   * @example A reminder that comes in two days
   * ```ts
   * import { App } from "@webfw/core";
   * import { TestClient } from "@webfw/core/testing";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * const reminders = app.topic<string>("reminders");
   * app.post("/orders", async () => {
   *   await reminders.publish("How was it?", { after: "2d" });
   * });
   *
   * await using client = new TestClient(app);
   * await using sent = reminders.subscribe();
   * await client.post("/orders");
   * assertEquals(await client.publishScheduled("reminders"), 1);
   * const { value } = await sent.next();
   * assertEquals(value && "data" in value && value.data, "How was it?");
   * ```
   */
  async publishScheduled(topic?: string): Promise<number> {
    const protocol = protocolOf(this.#app);
    if (!protocol?.publishScheduled) {
      throw new TypeError(
        "Cannot publish scheduled messages: the client must test an App, and not an object with fetch",
      );
    }
    await this.#start();
    return await protocol.publishScheduled(topic);
  }

  /**
   * Waits for the work after the replies so far: tasks of `request.after()`, and the code after the
   * `yield` of dependencies. For consumers, there is `app.consumers.idle()`.
   *
   * @throws {TypeError} If the client does not test an `App`.
   *
   * @example A mail after the reply
   * ```ts
   * import { App } from "@webfw/core";
   * import { TestClient } from "@webfw/core/testing";
   * import { assertEquals } from "@std/assert";
   *
   * const mails: string[] = [];
   * const app = new App();
   * app.post("/orders", async (request) => request.after(async () => void mails.push("Thank you")));
   *
   * await using client = new TestClient(app);
   * await client.post("/orders");
   * await client.idle();
   * assertEquals(mails, ["Thank you"]);
   * ```
   */
  async idle(): Promise<void> {
    const protocol = protocolOf(this.#app);
    if (!protocol?.afterReplies) {
      throw new TypeError(
        "Cannot wait for the work after replies: the client must test an App, not an object with fetch",
      );
    }
    await protocol.afterReplies();
  }

  /**
   * Closes all streams and sockets. The last client of the application stops it, which ends its
   * lifespans.
   */
  async close(): Promise<void> {
    this.#api?.end.abort(new DOMException("The test client is closed", "AbortError"));
    this.#api = undefined;
    await Promise.all(Array.from(this.#open, (open) => open.close()));
    const clients = openClients.get(this.#app);
    clients?.delete(this);
    if (!clients?.size) await this.#app.stop?.();
    if (this.#receives) protocolOf(this.#app)?.receiveWebhooks(undefined);
  }

  /** Does what {@linkcode TestClient.close} does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #start(): Promise<void> {
    const clients = openClients.get(this.#app);
    if (clients) clients.add(this);
    else openClients.set(this.#app, new Set([this]));
    await this.#served.start?.();
  }

  async #fetch(request: Request): Promise<Response> {
    await this.#start();
    const response = await this.#served.fetch(request, this.#connection);
    this.#jar?.store(new URL(request.url), response);
    return response;
  }

  /** Reads the whole body, which also waits for the tasks after the reply. */
  async #send(request: Request): Promise<Response> {
    const response = await this.#fetch(request);
    if (response.body === null || response.status === 101) return response;
    const { signal } = request;
    return await whole(new Response(response.body.pipeThrough(new TransformStream(), { signal }), response));
  }
}

async function whole(response: Response): Promise<Response> {
  return response.body === null ? response : new Response(await response.bytes(), response);
}

/** @throws {TypeError} If it is no `App`, or the pairs are invalid. */
function overridden(app: Testable, pairs: unknown): Pick<Testable, "fetch" | "start"> {
  const protocol = protocolOf(app);
  if (protocol) return override(pairs, protocol.overridable());
  throw new TypeError("Cannot override dependencies: the client must test an App, and not an object with fetch");
}

/** @throws {TypeError} If it is no `App`, or the receiver is no function. */
function receiveWebhooks(app: Testable, receiver: NonNullable<TestClientOptions["webhooks"]>): void {
  const action = "Cannot make a test client";
  if (typeof receiver !== "function") {
    throw new TypeError(`${action}: "webhooks" must be a function of a Request, got ${quote(receiver)}`);
  }
  const protocol = protocolOf(app);
  if (!protocol) throw new TypeError(`${action}: "webhooks" needs an App, and not an object with fetch`);
  protocol.receiveWebhooks(receiver);
}

/** What an `App` does for tests; undefined for another object. */
function protocolOf(app: Testable): AppProtocol | undefined {
  return (app as { readonly [WEBFW_APP]?: AppProtocol })[WEBFW_APP];
}

/** @ignore A dependency or an async function that replaces a dependency. */
export type Replacement<Value> =
  | Dependency<Value, never>
  | ((request: HttpRequest, args: None) => Promise<Value> | AsyncGenerator<Value, void, void>);

/** @ignore Pairs of a dependency and its replacement. */
export type Overrides<Given extends readonly AnyDependency[]> = readonly [
  ...{
    [Index in keyof Given]: readonly [
      dependency: Given[Index],
      replacement: Replacement<DependencyValue<Given[Index]>>,
    ];
  },
];
