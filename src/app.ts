/** The application: wires the routes, lifespans and the dispatcher together, and is what a server serves. */
import type { RequiredState } from "./binding/dependency.ts";
import { checkRoute } from "./describe/route_check.ts";
import { type AppOptions, resolveAppOptions } from "./app_options.ts";
import { type BuiltIn, builtIns, type BuiltInUrls } from "./built_in.ts";
import { checkErrorShape, type DocumentedErrors, type ErrorShape } from "./describe/openapi/replies.ts";
import type { OriginPolicy } from "./describe/mcp/origin_policy.ts";
import { openapiDocument } from "./describe/openapi/openapi.ts";
import type { OpenAPIDocument } from "./describe/openapi/document.ts";
import { HTTPError, RouteError } from "./errors.ts";
import type { AppHandle, ConnectionInfo } from "./http/request.ts";
import type { ResolvedLimits } from "./http/limits.ts";
import { problemReply } from "./http/reply.ts";
import type { RouteInfo } from "./http/route_info.ts";
import { type Lifespan, Lifespans } from "./lifespan.ts";
import { describeError, log } from "./log.ts";
import { checkOptions, quote } from "./options.ts";
import { type Includable, type IncludeOptions, includeRouter } from "./router.ts";
import { Dispatcher } from "./routing/dispatch.ts";
import { errorBoundary, type ErrorHandler, type Middleware } from "./routing/middleware.ts";
import { type MethodsOption, Registry } from "./routing/registry.ts";
import type { ExtraKeys, RegisterDeclared, RegisterRoute } from "./routing/route_options.ts";
import type { RegisterWebSocket } from "./routing/websocket_options.ts";
import type { Mistake } from "./schema/schema.ts";
import { checkRunOptions, type RunOptions, type Servable, serve, stopWithDenoServe } from "./serve.ts";
import { openDurableStore } from "./topics/durable_store.ts";
import { MemoryStore } from "./topics/memory_store.ts";
import type { Topic } from "./topics/topic.ts";
import type { TopicOptions } from "./topics/topic_options.ts";
import type { TopicReport } from "./topics/topic_report.ts";
import { Topics } from "./topics/topics.ts";

/** The number of the protocol between an application and the command line, which may be of another version. */
const PROTOCOL = 1;
const WEBFW_APP: unique symbol = Symbol.for("webfw.app");
const WEBFW_CHECK_TOPIC: unique symbol = Symbol.for("webfw.checkTopic");

/**
 * An application: routes, what surrounds them, and what they need.
 *
 * Its `fetch` is all that a server needs: `export default app` is for `deno serve`, another file that
 * calls `app.run()` is for `deno run`, and tests call `app.fetch(request)` without a socket.
 *
 * `State` is what the lifespans yield.
 *
 * @example A route with a typed parameter and a model
 * ```ts
 * import { App, HTTPError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const id = v.pipe(v.number(), v.integer());
 * const Book = v.pipe(v.object({ id, title: v.string() }), v.title("Book"));
 *
 * const app = new App({ title: "Books", version: "1.0.0" });
 * app.get("/books/{id}", { params: { id }, response: Book }, async (_request, { id }) => {
 *   if (id !== 1) throw new HTTPError(404, "No such book");
 *   return { id, title: "Middlemarch" };
 * });
 *
 * const found = await app.fetch(new Request("http://localhost/books/1"));
 * assertEquals(await found.json(), { id: 1, title: "Middlemarch" });
 * const invalid = await app.fetch(new Request("http://localhost/books/one"));
 * assertEquals(invalid.status, 422);
 * await invalid.body?.cancel();
 * ```
 */
export class App<State = Record<string, unknown>> implements AppHandle {
  /** The title of the application. */
  readonly title: string;
  /** The version of the application. */
  readonly version: string;
  /** What the application is for. */
  readonly description: string | undefined;
  /** The path of the OpenAPI document; null where it is not served. */
  readonly openapiUrl: string | null;
  /** The path of the documentation page; null where it is not served. */
  readonly docsUrl: string | null;
  /** The path of the endpoint for agents; null where it is not served. */
  readonly mcpUrl: string | null;
  /** Tells the command line that this is an application, whichever copy of the package made it. */
  readonly [WEBFW_APP]: number = PROTOCOL;
  /** Has the command line know whether there is a durable topic of a name before it makes one. */
  readonly [WEBFW_CHECK_TOPIC] = (name: string): Promise<void> => this.#topics.check(name);

  readonly #registry = new Registry("", true, checkRoute);
  readonly #limits: ResolvedLimits;
  readonly #origins: readonly string[];
  readonly #lifespans: Lifespans<App<State>, State> = new Lifespans();
  readonly #topics: Topics;
  readonly #builtIns: readonly BuiltIn[];
  #errorHandler: ErrorHandler<State> | undefined;
  #documentedErrors: DocumentedErrors = "default";
  #document: { readonly routes: number; readonly document: OpenAPIDocument } | undefined;
  #dispatcher: Dispatcher | undefined;
  #starting: Promise<void> | undefined;
  #state: Readonly<State> | undefined;
  /** The same, but for an application that stops: it takes no more requests. */
  #openState: Readonly<State> | undefined;
  #stopping = new AbortController();

  /**
   * Makes an application without routes.
   *
   * @param options Its name and bounds.
   * @throws {TypeError} When an option is unknown, a path of an endpoint has a parameter, or origins are none.
   * @throws {RouteError} When the path of an endpoint cannot be read, or is that of another.
   * @throws {RangeError} When a bound is not a positive number.
   */
  constructor(options: AppOptions<State> = {}) {
    const { title, version, description, urls, limits, origins, topics, originPolicy } = resolveAppOptions(options);
    this.title = title;
    this.version = version;
    this.description = description;
    this.#limits = limits;
    this.#origins = origins;
    this.#topics = new Topics({ openStore: (isDurable) => isDurable ? openDurableStore(topics) : new MemoryStore() });
    this.openapiUrl = urls.openapiUrl;
    this.docsUrl = urls.docsUrl;
    this.mcpUrl = urls.mcpUrl;
    this.#builtIns = this.#endpoints(urls, originPolicy);
    this.#registry.reserve(this.#builtIns);
  }

  /**
   * Answers a request. It needs no socket; the first call starts the lifespans. An own property, as `deno serve` asks for.
   *
   * @param request The request.
   * @param info What the server tells of the connection.
   */
  readonly fetch = (request: Request, info?: ConnectionInfo): Promise<Response> => {
    const dispatcher = this.#dispatcher ??= this.#createDispatcher();
    if (this.#openState !== undefined) return dispatcher.dispatch(request, this.#openState, info);
    return this.#startThenDispatch(dispatcher, request, info);
  };

  readonly #servable: Servable = {
    fetch: this.fetch,
    start: () => this.start(),
    endStreams: () => this.#endStreams(),
    owner: this,
    background: () => this.#dispatcher?.background,
    hasBrokenSockets: () => this.#dispatcher?.openSockets.hasBroken ?? false,
    abandonPublishing: () => this.#topics.abandonPublishing(),
    stop: () => this.#unwind(),
  };

  /**
   * Registers a route for GET, which answers HEAD, too.
   *
   * @example A parameter of the path
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.get("/books/{id}", async (_request, { id }) => ({ id }));
   * const response = await app.fetch(new Request("http://localhost/books/7"));
   * assertEquals(await response.json(), { id: "7" });
   * ```
   */
  readonly get: RegisterRoute<State, ""> = this.#registry.registerMethod("GET");

  /**
   * Registers a route for POST.
   *
   * @example A JSON body that is checked
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   * import * as v from "valibot";
   *
   * const app = new App();
   * const Book = v.object({ title: v.string() });
   * app.post("/books", { body: Book, response: Book, status: 201 }, async (_request, { body }) => body);
   * const response = await app.fetch(
   *   new Request("http://localhost/books", {
   *     method: "POST",
   *     headers: { "content-type": "application/json" },
   *     body: JSON.stringify({ title: "Emma" }),
   *   }),
   * );
   * assertEquals(response.status, 201);
   * assertEquals(await response.json(), { title: "Emma" });
   * ```
   */
  readonly post: RegisterRoute<State, ""> = this.#registry.registerMethod("POST");

  /**
   * Registers a route for PUT.
   *
   * @example A route without a reply body
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.put("/books/{id}", async () => {});
   * const response = await app.fetch(new Request("http://localhost/books/7", { method: "PUT" }));
   * assertEquals(response.status, 204);
   * ```
   */
  readonly put: RegisterRoute<State, ""> = this.#registry.registerMethod("PUT");

  /**
   * Registers a route for PATCH.
   *
   * @example A route that changes a part
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.patch("/books/{id}", async () => {});
   * const response = await app.fetch(new Request("http://localhost/books/7", { method: "PATCH" }));
   * assertEquals(response.status, 204);
   * ```
   */
  readonly patch: RegisterRoute<State, ""> = this.#registry.registerMethod("PATCH");

  /**
   * Registers a route for DELETE.
   *
   * @example A route that removes something
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.delete("/books/{id}", async () => {});
   * const response = await app.fetch(new Request("http://localhost/books/7", { method: "DELETE" }));
   * assertEquals(response.status, 204);
   * ```
   */
  readonly delete: RegisterRoute<State, ""> = this.#registry.registerMethod("DELETE");

  /**
   * Registers a route for several methods, or for a method that has no function here. A route for
   * HEAD or OPTIONS goes before the answer that the application makes by itself.
   *
   * @example Two methods
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.route("/books/{id}", { methods: ["PUT", "PATCH"] }, async (request) => request.method);
   * const response = await app.fetch(new Request("http://localhost/books/7", { method: "PATCH" }));
   * assertEquals(await response.json(), "PATCH");
   * ```
   */
  readonly route: RegisterDeclared<State, "", MethodsOption> = this.#registry.registerMethods();

  /**
   * Registers a WebSocket route. A GET route may have the same path: it answers requests that do not
   * ask for an upgrade.
   *
   * @example An echo
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.websocket("/books/echo", async (socket) => {
   *   for await (const message of socket) socket.send(message);
   * });
   * const response = await app.fetch(new Request("http://localhost/books/echo"));
   * assertEquals(response.status, 426);
   * await response.body?.cancel();
   * ```
   */
  readonly websocket: RegisterWebSocket<State, ""> = this.#registry.registerWebSocket();

  /**
   * Adds the routes of a router. The router cannot change from then on; it can be included elsewhere,
   * too.
   *
   * @param router The router.
   * @param options The prefix of its routes.
   * @throws {TypeError} When it is no router, or an option is unknown.
   * @throws {RouteError} With code `conflict` when a method and shape is taken: nothing is added then,
   * and the router stays open. With code `path` when the prefix or a full path cannot be read. With
   * code `frozen` when it is too late.
   *
   * @example Routes below a prefix
   * ```ts
   * import { App, Router } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const books = new Router({ prefix: "/books" });
   * books.get("", async () => ["Emma"]);
   * const app = new App();
   * app.include(books, { prefix: "/v1" });
   * const response = await app.fetch(new Request("http://localhost/v1/books"));
   * assertEquals(await response.json(), ["Emma"]);
   * ```
   */
  include<Needed = unknown, const At extends string = "">(
    router: RequiredState<State> extends Needed ? Includable<Needed>
      : Mistake<"The state that the router needs is not the one here: give both one stateType()">,
    options: IncludeOptions<At> = {},
  ): void {
    includeRouter(this.#registry, router, options);
  }

  /**
   * Wraps a function around every request, those that no route answers too. The first one added is the
   * outermost.
   *
   * @param middleware An async function that returns `await next(request)`, or a reply of its own.
   * @throws {TypeError} When it is not an async function.
   * @throws {RouteError} With code `frozen` when it is too late.
   *
   * @example A header of every reply
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * app.middleware(async (request, next) => {
   *   const response = await next(request);
   *   response.headers.set("x-server", "one");
   *   return response;
   * });
   * app.get("/", async () => "Hello");
   * const response = await app.fetch(new Request("http://localhost/"));
   * assertEquals(response.headers.get("x-server"), "one");
   * await response.body?.cancel();
   * ```
   */
  middleware(middleware: Middleware<State>): void {
    this.#registry.addMiddleware(middleware);
  }

  /** All routes, those of included routers too, in the order of their registration: read your own tools off it. */
  get routes(): readonly RouteInfo[] {
    const registry = this.#registry;
    registry.nameOperations();
    return registry.routes;
  }

  /**
   * Adds what is opened before the first request and closed after the last. Lifespans start in order and unwind in reverse, also
   * when a later one fails to start.
   *
   * @param lifespan An `async function*` that yields a part of the state, or nothing.
   * @throws {TypeError} When it is not an async generator function.
   * @throws {RouteError} With code `frozen`, when the application has started.
   *
   * @example Opening and closing
   * ```ts
   * import { App } from "@webfw/core";
   * import { TestClient } from "@webfw/core/testing";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App<{ names: Set<string> }>();
   * let open = false;
   * app.lifespan(async function* () {
   *   open = true;
   *   yield { names: new Set(["Ada"]) };
   *   open = false;
   * });
   * app.get("/names", async (request) => [...request.state.names]);
   *
   * {
   *   await using client = new TestClient(app);
   *   assertEquals(await client.get("/names").json(), ["Ada"]);
   *   assertEquals(open, true);
   * }
   * assertEquals(open, false);
   * ```
   */
  lifespan<Part extends Partial<State> | void>(
    lifespan: (
      app: App<State>,
    ) => AsyncGenerator<
      ExtraKeys<Part, State> extends never ? Part : Mistake<`The state has no '${ExtraKeys<Part, State>}'`>,
      void,
      void
    >,
  ): void {
    if (this.#starting) {
      throw new RouteError("frozen", "Cannot add a lifespan: the application has started");
    }
    this.#lifespans.add(lifespan as Lifespan<App<State>, State>);
  }

  /**
   * The topic of a name: the same one every time, here and by `request.app.topic(name)`.
   *
   * @param name The name, 1 to 256 characters. Beyond 10,000, topics that were made while the application serves, without anyone
   * using them, are forgotten with their options: give those each time.
   * @param options What messages hold, and how long they are kept. Where they are given again, they must agree.
   * @throws {TypeError} When the name or an option cannot be used, or an option is not what it was before.
   * @throws {RangeError} When a bound cannot be kept.
   */
  topic<Data = unknown, Input = Data>(name: string, options?: TopicOptions<Data, Input>): Topic<Data, Input> {
    return this.#topics.topic(name, options);
  }

  /**
   * What the store of durable topics holds, of applications that share it too: for operators, and
   * for `webfw topics`. It reads all that is kept.
   *
   * @param options The id that a reader has come to: the topic that it belongs to tells how far
   * behind the reader is.
   * @throws {SyntaxError} When the id is none.
   * @throws {TypeError} When the store is one of the application's own that cannot list its logs,
   * or an option is unknown.
   */
  async reportTopics(options: { after?: string } = {}): Promise<TopicReport[]> {
    checkOptions(options, { after: true }, "report the topics");
    return await this.#topics.report(options.after);
  }

  /**
   * The OpenAPI document, made of the routes. Nothing is started for it. Do not change it: it is the one that is served.
   *
   * @throws {TypeError} When a schema cannot be told in JSON Schema.
   *
   * @example What is documented of a route
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App({ title: "Books" });
   * app.get("/books/{id}", async function getBook(_request, { id }) {
   *   "One book";
   *   return { id };
   * });
   * const { info, paths } = app.openapi();
   * assertEquals(info.title, "Books");
   * assertEquals(paths["/books/{id}"]?.get?.summary, "One book");
   * ```
   */
  openapi(): OpenAPIDocument {
    const { httpRoutes: routes } = this.#registry;
    // Routes are only ever added, so their number tells whether the document is still the latest.
    if (this.#document?.routes !== routes.length) {
      this.#registry.nameOperations();
      const { title, version, description } = this;
      const parts = { title, version, description, routes, errors: this.#documentedErrors };
      this.#document = { routes: routes.length, document: openapiDocument(parts) };
    }
    return this.#document.document;
  }

  /**
   * Shapes all error replies in one place, and what the document says of them.
   *
   * @param handler Gets every error reply as an `HTTPError`, and gives the reply, or nothing for
   * the default one.
   * @param shape The schema of the replies' body, for the document, and their content type.
   * @throws {TypeError} When the handler is no function; when the shape has no schema, or more than
   * a schema and a content type.
   * @throws {RouteError} With code `conflict`, when there is one already; `frozen`, when the
   * application serves.
   */
  onError(handler: ErrorHandler<State>, shape?: ErrorShape): void {
    if (this.#dispatcher) {
      throw new RouteError("frozen", "Cannot set the error handler: the application serves already");
    }
    if (this.#errorHandler) throw new RouteError("conflict", "Cannot set the error handler: there is one already");
    if (typeof handler !== "function") {
      throw new TypeError(
        `Cannot set the error handler: it must be a function, got ${quote(handler)}; write (error, request) => …`,
      );
    }
    if (shape !== undefined) checkErrorShape(shape);
    this.#errorHandler = handler;
    this.#documentedErrors = shape ?? "undocumented";
    this.#document = undefined;
  }

  /**
   * Serves until SIGINT, SIGTERM or the signal. Then it takes no more connections, ends streams,
   * waits for requests in flight, unwinds the lifespans, and resolves. What is still being
   * published at the end of the grace period is given up.
   *
   * @param options Where to listen, and how to stop.
   * @throws {TypeError} When an option is unknown.
   * @throws {Deno.errors.AddrInUse} When the port is taken, in one line that names it.
   * @throws {Error} When the process is `deno serve`, which serves a default export itself: call
   * this in another file. Seen on Linux by programs that may do everything (`-A`). Also when `webfw`
   * loads the module that calls this: it serves the App that a module exports.
   */
  async run(options: RunOptions = {}): Promise<void> {
    checkRunOptions(options);
    this.#dispatcher ??= this.#createDispatcher();
    if (options.workers) {
      const { openWorkerStore } = await import("./topics/worker_store.ts");
      this.#topics.use(openWorkerStore(options.workers));
    }
    try {
      await serve(this.#servable, options);
    } finally {
      this.#stopping = new AbortController();
    }
  }

  /**
   * Makes sure that durable topics can work, and starts the lifespans, once. {@linkcode App.run}
   * and the first request do it.
   *
   * @throws {Error} When durable topics cannot work as they are configured. A store that is away
   * for a while is no error.
   */
  start(): Promise<void> {
    return this.#starting ??= this.#lifespans.start(this, () => this.#topics.open()).then((state) => {
      this.#state = this.#openState = state;
    }).catch((error) => {
      this.#starting = undefined;
      throw error;
    });
  }

  /**
   * Ends streams, WebSockets and subscriptions, waits for what replies have left to do, unwinds the lifespans, waits for what is
   * being published, for 30 seconds at most, and forgets what topics hold. A later request starts the lifespans again.
   */
  async stop(): Promise<void> {
    await this.#endStreams();
    await this.#dispatcher?.background.drain();
    await this.#unwind();
    this.#stopping = new AbortController();
  }

  async #endStreams(): Promise<void> {
    this.#openState = undefined;
    this.#stopping.abort();
    this.#topics.endSubscriptions();
    await this.#dispatcher?.openSockets.close();
  }

  async #unwind(): Promise<void> {
    await this.#starting?.catch(() => {});
    this.#starting = undefined;
    this.#state = this.#openState = undefined;
    await this.#lifespans.stop();
    await this.#topics.close();
  }

  #endpoints(urls: BuiltInUrls, originPolicy: OriginPolicy): readonly BuiltIn[] {
    const { title, version, description } = this;
    const registry = this.#registry;
    return builtIns(urls, {
      title,
      version,
      description,
      originPolicy,
      limits: this.#limits,
      get routes() {
        registry.nameOperations();
        return registry.httpRoutes;
      },
      document: () => this.openapi(),
      // A call of an agent is a part of the request that makes it, which is answered while the application stops.
      fetch: (request, info) => {
        const state = this.#state;
        return state === undefined ? this.fetch(request, info) : this.#dispatcher!.dispatch(request, state, info);
      },
      refuse: (request, refusal, info) => {
        if (this.#state === undefined) throw new HTTPError(503, "The server stops");
        return this.#dispatcher!.refuse(request, refusal, this.#state, info);
      },
      find: (method, path) => (this.#dispatcher ??= this.#createDispatcher()).routeOf(method, path),
    });
  }

  #createDispatcher(): Dispatcher {
    stopWithDenoServe(this.#servable);
    this.#topics.serve();
    this.#registry.freeze("the application serves already; declare everything before the first request");
    this.#registry.nameOperations();
    return new Dispatcher({
      app: this,
      routes: this.#registry.routes,
      builtIns: this.#builtIns,
      middlewares: this.#registry.middlewares,
      limits: this.#limits,
      origins: this.#origins,
      toErrorReply: errorBoundary(this.#errorHandler as ErrorHandler | undefined),
      stopping: () => this.#stopping.signal,
    });
  }

  async #startThenDispatch(dispatcher: Dispatcher, request: Request, info?: ConnectionInfo): Promise<Response> {
    if (this.#stopping.signal.aborted) {
      return problemReply(new HTTPError(503, "The server stops", { headers: { connection: "close" } }));
    }
    try {
      // A stop that came in between has closed what the start opened.
      while (this.#state === undefined) await this.start();
    } catch (error) {
      log("error", "The application failed to start", { error: describeError(error) });
      return problemReply(new HTTPError(500));
    }
    return dispatcher.dispatch(request, this.#state, info);
  }
}
