/** The application: what is declared of it, and its public methods. */
import { load } from "../base/async_context.ts";
import type { None, RequiredState } from "../binding/dependency.ts";
import type { Replacements } from "../binding/replacements.ts";
import { REGISTRY_CHECKS } from "../describe/route_check.ts";
import { type AppOptions, resolveAppOptions } from "./app_options.ts";
import { BoardHost, registerBoardHost } from "./board_host.ts";
import { type BuiltIn, builtIns, Documents } from "./built_in.ts";
import type { DeclareCron } from "../work/cron/options.ts";
import { checkErrorShape, type ErrorShape } from "../describe/openapi/replies.ts";
import { ProtectedResource } from "../describe/mcp/protected_resource.ts";
import { documentBelow } from "../describe/openapi/openapi.ts";
import type { OpenAPIDocument } from "../describe/openapi/document.ts";
import { RouteError } from "../base/errors.ts";
import type { ConnectionInfo } from "../http/connection.ts";
import type { AppHandle } from "../http/app_handle.ts";
import type { RouteInfo } from "../http/route_info.ts";
import type { Lifespan } from "./lifecycle.ts";
import { type Log, logFor, loggerOf, makeLog } from "../log/log.ts";
import { checkOptions } from "../base/options.ts";
import type { Overridable } from "./override.ts";
import type { Records } from "../store/records.ts";
import { type Includable, type IncludeOptions, includeRouter } from "./router.ts";
import type { Dispatcher } from "../routing/dispatch.ts";
import { checkErrorHandler, errorBoundary, type ErrorHandler, type Middleware } from "../routing/middleware.ts";
import { Registry } from "../routing/registry.ts";
import { type Access, accessOf } from "../routing/scope.ts";
import type { RegisterFiles } from "../routing/files.ts";
import {
  type MountableApp,
  type MountedApp,
  MOUNTING,
  type RegisterMount,
  registerMountable,
} from "../routing/mount.ts";
import type {
  ExtraKeys,
  MethodsOption,
  RegisterDeclared,
  RegisterRoute,
  RegisterWebSocket,
} from "../routing/route_options.ts";
import type { Mistake } from "../schema/schema.ts";
import { checkRunOptions, type RunOptions } from "../server/run_options.ts";
import { startWithDenoServe } from "../server/serve.ts";
import { AppService } from "./app_service.ts";
import { openDurableStore, schemaOf } from "../store/lazy_store.ts";
import { isLocationSet, type StoreLocation } from "../store/location.ts";
import type { TopicStore } from "../store/topic_store.ts";
import { MemoryStore } from "../store/memory/memory_store.ts";
import type { Consumers } from "../topics/consumers.ts";
import type { DeclaredTopic } from "../topics/declared_topic.ts";
import type { Topic } from "../topics/topic.ts";
import type { TopicOptions } from "../topics/topic_options.ts";
import type { TopicsReport } from "../topics/topic_report.ts";
import { Topics } from "../topics/topics.ts";
import { AppConsumers } from "../work/app_consumers.ts";
import { Crons } from "../work/cron/crons.ts";
import type { Webhook, WebhookOptions } from "../topics/webhook.ts";
import { Webhooks } from "../webhooks/webhooks.ts";

const WEBFW_APP: unique symbol = Symbol.for("webfw.app");

/** What the command line and the test client need of an `App`, perhaps of another release. */
export interface AppProtocol {
  readonly version: 1;
  /** Makes the AsyncAPI document. */
  readonly asyncapi: () => Promise<object>;
  /** Those of each route, in the order of `routes`. */
  readonly access: () => readonly Access[];
  readonly checkTopic: (name: string) => Promise<void>;
  /** The SQL that makes the tables of the store of topics. */
  readonly storeSchema: () => Promise<string>;
  readonly runCron: (name: string) => Promise<void>;
  /** Gives webhooks to a function in place of the network. */
  readonly receiveWebhooks: (receiver: Webhooks["receiver"]) => void;
  readonly publishScheduled: (topic: string | undefined) => Promise<number>;
  /** Waits for the tasks and cleanups after the replies so far. */
  readonly afterReplies: () => Promise<void>;
  /** Shows the board to this machine, and returns its path. Call it before the App serves. */
  readonly showBoard: () => string;
  readonly overridable: () => Overridable;
}

/**
 * An application: routes, middleware, lifespans and topics.
 *
 * Export it as default for `deno serve`, or call `app.run()` in another file for `deno run`. Tests
 * call `app.fetch(request)` without a socket.
 *
 * `State` is the type of `request.state`, which the lifespans yield.
 *
 * @example A route with a typed parameter and a response model
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
 *
 * @category Applications
 */
export class App<State = Record<string, unknown>, Given = None, Counted = unknown> implements AppHandle, MountableApp {
  // AppHandle documents these.
  readonly title: string;
  readonly version: string;
  readonly description: string | undefined;
  readonly basePath: string;
  readonly openapiUrl: string | null;
  readonly docsUrl: string | null;
  readonly mcpUrl: string | null;
  readonly records: Records;
  readonly consumers: Consumers;
  readonly log: Log;
  /** Runs a function at times, on one of all nodes. */
  readonly cron: DeclareCron<State>;
  /** @ignore For the command line and the test client. */
  readonly [WEBFW_APP]: AppProtocol = {
    version: 1,
    asyncapi: () => this.#documents.asyncapi(),
    access: () => this.#registry.routes.map(({ levels }) => accessOf(levels)),
    checkTopic: (name) => this.#topics.checkStored(name),
    storeSchema: () => schemaOf(this.#location),
    runCron: (name) => this.#crons.runNow(name),
    receiveWebhooks: (receiver) => this.#service.mounted.receiveWebhooks(receiver),
    publishScheduled: (topic) => this.#topics.publishScheduled(topic),
    afterReplies: async () => await this.#service.target.background()?.done(),
    showBoard: () => this.#service.showBoard(),
    overridable: () => this.#service.overridable(this.#endpoints),
  };

  /** @ignore Lets another application mount this one. */
  readonly [MOUNTING]: MountedApp;

  readonly #documents: Documents;
  readonly #registry: Registry;
  readonly #service: AppService<App<State>, State>;
  readonly #topics: Topics;
  readonly #location: StoreLocation | TopicStore | undefined;
  readonly #crons: Crons<State>;
  readonly #webhooks: Webhooks;
  readonly #endpoints: (dispatcher: () => Dispatcher, replacements?: Replacements) => readonly BuiltIn[];
  #errorHandler: ErrorHandler<State> | undefined;

  /**
   * Makes an application without routes.
   *
   * @param options Its description, limits and endpoints.
   * @throws {TypeError} If an option is unknown or wrong, or the path of an endpoint has a
   * parameter.
   * @throws {RouteError} If the path of an endpoint is malformed, or two endpoints have the same.
   * @throws {RangeError} If a number is out of its range.
   */
  constructor(options: AppOptions<State, Given, Counted> = {}) {
    const {
      title,
      version,
      description,
      scope,
      limitStore,
      described,
      urls,
      limits,
      precheck,
      topics,
      log,
      basePath,
      webhooks,
      board: entrance,
      ...shown
    } = resolveAppOptions(options);
    this.log = makeLog(loggerOf(this));
    this.title = title;
    this.version = version;
    this.description = description;
    this.basePath = basePath;
    this.#location = topics;
    this.#topics = new Topics({
      openStore: (isDurable) => isDurable ? logFor(this, () => openDurableStore(topics)) : new MemoryStore(),
      isStoreNamed: () => topics !== undefined || isLocationSet(),
    });
    this.records = this.#topics.records;
    this.consumers = new AppConsumers(this.#topics, () => this.start());
    this.#crons = new Crons({ topics: this.#topics, startApp: () => this.start() });
    this.#webhooks = new Webhooks(this.#topics, webhooks);
    this.cron = this.#crons.declare;
    this.openapiUrl = urls.openapiUrl;
    this.docsUrl = urls.docsUrl;
    this.mcpUrl = urls.mcpUrl;
    this.#registry = new Registry({
      ...{ prefix: "", isRoot: true, options: scope, limitStore, checks: REGISTRY_CHECKS, topics: this.#topics },
    });
    const info = { title, version, description };
    this.#documents = new Documents({
      info,
      described,
      registry: this.#registry,
      topics: this.#topics,
      webhooks: this.#webhooks,
    });
    this.get = this.#registry.registerMethod("GET");
    this.post = this.#registry.registerMethod("POST");
    this.put = this.#registry.registerMethod("PUT");
    this.patch = this.#registry.registerMethod("PATCH");
    this.delete = this.#registry.registerMethod("DELETE");
    this.route = this.#registry.registerMethods();
    this.websocket = this.#registry.registerWebSocket();
    this.mount = this.#registry.registerMount();
    this.files = this.#registry.registerFiles();
    const resource = new ProtectedResource({ title, ...urls, originPolicy: shown.originPolicy });
    const guardsOfPage = [...shown.docs.deps.values(), ...entrance?.deps.values() ?? []];
    this.#registry.use(guardsOfPage, "make the App");
    const board = new BoardHost({
      ...{ app: this as unknown as AppHandle & Pick<App, "fetch">, topics: this.#topics, crons: this.#crons },
      declared: entrance,
      dispatcher: () => this.#service.dispatcher,
      routes: () => this.#registry.routes,
      openSockets: () => this.#service.openSockets,
    });
    const { limiters } = this.#registry.scope;
    this.#endpoints = (dispatcher, replacements) => [
      ...builtIns(urls, {
        ...{ title, version, description, limits, ...shown, dispatcher, replacements },
        document: (basePath) => documentBelow(this.#documents.openapi(), basePath),
        metadataHint: (tool, request) => resource.hintForTool(tool, request),
        stateForCall: () => this.#service.stateForCall,
        limiters,
      }),
      ...board.endpoints(limiters, replacements),
    ];
    const endpoints = this.#endpoints(() => this.#service.dispatcher);
    this.#registry.reserve(endpoints);
    this.#service = new AppService({
      ...{ log, limits, precheck, guardsOfPage, board, readyUrl: urls.readyUrl, builtIns: endpoints },
      ...{ app: this as unknown as App<State>, registry: this.#registry, topics: this.#topics, crons: this.#crons },
      webhooks: this.#webhooks,
      endpointsFor: (routes) => resource.endpoints(routes),
      metadataHint: (route, request) => resource.hintFor(route, request),
      errorBoundary: () => errorBoundary(this.#errorHandler as ErrorHandler | undefined),
    });
    this.fetch = this.#service.fetch;
    this[MOUNTING] = this.#service.mounted;
    registerMountable(this[MOUNTING]);
    registerBoardHost(this[MOUNTING], board);
    startWithDenoServe(this, this.#service.target);
  }

  /**
   * Answers a request, without a socket. The first call starts the lifespans. It is an own
   * property, because `deno serve` requires that.
   *
   * @param request The request.
   * @param info The connection, if a server calls it.
   */
  readonly fetch: (request: Request, info?: ConnectionInfo) => Promise<Response>;

  /**
   * Registers a route for GET, which also answers HEAD.
   *
   * @example A path parameter
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
  readonly get: RegisterRoute<State, "", Given, "GET">;

  /**
   * Registers a route for POST.
   *
   * @example A validated JSON body
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
  readonly post: RegisterRoute<State, "", Given, "POST">;

  /**
   * Registers a route for PUT.
   *
   * @example Replace a note
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   * import * as v from "valibot";
   *
   * const app = new App();
   * let note = "";
   * app.put("/note", { body: v.string(), status: 204 }, async (_request, { body }) => void (note = body));
   * await app.fetch(new Request("http://localhost/note", {
   *   method: "PUT",
   *   headers: { "content-type": "application/json" },
   *   body: '"Tea"',
   * }));
   * assertEquals(note, "Tea");
   * ```
   */
  readonly put: RegisterRoute<State, "", Given, "PUT">;

  /**
   * Registers a route for PATCH.
   *
   * @example A part of a note
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   * import * as v from "valibot";
   *
   * const app = new App();
   * const Note = v.object({ text: v.string(), done: v.boolean() });
   * const note = { text: "Tea", done: false };
   * app.patch("/note", { body: v.partial(Note) }, async (_request, { body }) => ({ ...note, ...body }));
   * const response = await app.fetch(
   *   new Request("http://localhost/note", {
   *     method: "PATCH",
   *     headers: { "content-type": "application/json" },
   *     body: '{"done":true}',
   *   }),
   * );
   * assertEquals(await response.json(), { text: "Tea", done: true });
   * ```
   */
  readonly patch: RegisterRoute<State, "", Given, "PATCH">;

  /**
   * Registers a route for DELETE.
   *
   * @example 204 without a result
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * const books = new Set(["1"]);
   * app.delete("/books/{id}", async (_request, { id }) => void books.delete(id));
   * const response = await app.fetch(new Request("http://localhost/books/1", { method: "DELETE" }));
   * assertEquals([response.status, books.size], [204, 0]);
   * ```
   */
  readonly delete: RegisterRoute<State, "", Given, "DELETE">;

  /**
   * Registers a route for several methods, or for a method without its own function. A route for
   * HEAD or OPTIONS replaces the automatic reply.
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
  readonly route: RegisterDeclared<State, "", MethodsOption, Given>;

  /**
   * Registers a WebSocket route. A GET route can have the same path; it answers requests without an
   * upgrade.
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
  readonly websocket: RegisterWebSocket<State, "", Given>;

  /**
   * Hands everything below a path to a handler of the platform's `Request`, such as another
   * framework: with any method, and behind the middleware and guards.
   *
   * @example A handler that knows nothing of the application
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const other = (request: Request) => new Response(`${request.method} ${new URL(request.url).pathname}`);
   *
   * const app = new App();
   * app.mount("/other", other);
   * const response = await app.fetch(new Request("http://localhost/other/hello?to=Ada"));
   * assertEquals(await response.text(), "GET /hello");
   * ```
   */
  readonly mount: RegisterMount<State, "", Given>;

  /**
   * Serves a folder of files where no route answers: a web page, or a single-page application.
   *
   * @example A single-page application next to its API
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const dist = await Deno.makeTempDir();
   * await Deno.writeTextFile(`${dist}/index.html`, "<h1>Books</h1>");
   *
   * const app = new App();
   * app.get("/api/books", async () => ["Emma"]);
   * app.files("/", dist, { spa: "index.html", immutable: "assets/" });
   *
   * const request = new Request("http://localhost/books/7", { headers: { accept: "text/html" } });
   * assertEquals(await (await app.fetch(request)).text(), "<h1>Books</h1>");
   * await Deno.remove(dist, { recursive: true });
   * ```
   */
  readonly files: RegisterFiles<"", Given>;

  /**
   * Adds the routes of a router. After that, the router cannot change, but it can be included
   * elsewhere too.
   *
   * @param router The router.
   * @param options The prefix of its routes.
   * @throws {TypeError} If it is not a router, or an option is unknown.
   * @throws {RouteError} With code `conflict` if a method and shape of path is taken; then nothing
   * is added, and the router stays open. With code `path` if the prefix or a full path is
   * malformed. With code `frozen` after the first request or include.
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
  include<Needed = unknown, const At extends string = "", Counted = unknown>(
    router: RequiredState<State> extends Needed ? Includable<Needed>
      : Mistake<"The state that the router needs is not the one here: give both one stateType()">,
    options: IncludeOptions<At, State, Counted> = {},
  ): void {
    includeRouter(this.#registry, router, options);
  }

  /**
   * Adds a middleware around all requests, also those without a route. The first middleware is the
   * outermost.
   *
   * @param middleware An async function that returns `await next(request)`, or its own reply.
   * @throws {TypeError} If it is not an async function.
   * @throws {RouteError} With code `frozen` after the first request or include.
   *
   * @example A header for each reply
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

  get routes(): readonly RouteInfo[] {
    const registry = this.#registry;
    registry.nameOperations();
    return registry.routes;
  }

  /**
   * Adds a lifespan: code that runs before the first request, and cleanup after the last. Lifespans
   * start in order and end in reverse order, even if a later one fails to start.
   *
   * @param lifespan An `async function*` that yields a part of the state, or nothing.
   * @throws {TypeError} If it is not an async generator function.
   * @throws {RouteError} With code `frozen`, if the application has started.
   *
   * @example Start and cleanup
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
    lifespan: (app: App<State>) => AsyncGenerator<
      ExtraKeys<Part, State> extends never ? Part : Mistake<`The state has no '${ExtraKeys<Part, State>}'`>,
      void,
      void
    >,
  ): void {
    this.#service.lifecycle.add(lifespan as Lifespan<App<State>, State>);
  }

  /**
   * Declares a topic that `topic()` made, and returns it. It is the same object for each call, also
   * of `request.app.topic(Orders)`. A router declares its topics by `router.topic(Orders)`.
   *
   * @param declared What `topic(name, options)` returned.
   * @throws {TypeError} If the application has a topic of this name with other options.
   * @throws {RouteError} With code `frozen`, if the application serves and has not declared it.
   */
  topic<Data, Input>(
    declared: DeclaredTopic<Data, Input>,
  ): Topic<Data, Input, { readonly app: App<State>; readonly state: Readonly<State> }>;
  /**
   * Returns the topic with a name. It is the same object for each call, also of
   * `request.app.topic(name)`.
   *
   * Pass the options in each call if a program makes more than 10,000 topics while it serves: an
   * unused topic beyond that number is forgotten, with its options.
   *
   * @param name The name, 1 to 256 characters.
   * @param options The schema of messages, and how long they are kept. They must be equal in each
   * call that has them.
   * @throws {TypeError} If the name or an option is wrong, or an option differs from an earlier
   * call.
   * @throws {RangeError} If a limit is out of range.
   */
  topic<Data = unknown, Input = Data>(
    name: string,
    options?: TopicOptions<Data, Input>,
  ): Topic<Data, Input, { readonly app: App<State>; readonly state: Readonly<State> }>;
  topic<Data, Input>(
    given: string | DeclaredTopic<Data, Input>,
    options?: TopicOptions<Data, Input>,
  ): Topic<Data, Input, { readonly app: App<State>; readonly state: Readonly<State> }> {
    return this.#topics.topic(given, options);
  }

  /**
   * Declares a webhook: a signed request that the application sends to URLs of others. The document
   * has it under `webhooks`.
   *
   * @param name The name, such as `order.paid`.
   * @param options The schema of its body, and its description.
   * @throws {TypeError} If the name or an option is wrong, or JSON cannot represent the body.
   * @throws {RouteError} With code `conflict`, if there is a webhook of this name; with code
   * `frozen`, if the application has started.
   */
  webhook<Data, Input>(name: string, options: WebhookOptions<Data, Input>): Webhook<Input>;
  /**
   * Returns the declared webhook of a name, for modules that do not have it.
   *
   * @throws {TypeError} If there is none.
   */
  webhook<Input = unknown>(name: string): Webhook<Input>;
  webhook<Data, Input>(name: string, options?: WebhookOptions<Data, Input>): Webhook<Input> {
    return this.#webhooks.webhook(name, options as WebhookOptions | undefined) as Webhook<Input>;
  }

  // AppHandle documents it.
  async reportTopics(options: { after?: string } = {}): Promise<TopicsReport> {
    checkOptions(options, { after: true }, "report the topics");
    const { reportWork } = await load(() => import("../work/operate.ts"));
    return await reportWork(this.#topics, this.#crons, options.after);
  }

  /**
   * Returns the OpenAPI document of the routes, without starting anything. Do not change it,
   * because the application serves the same object.
   *
   * @throws {TypeError} If JSON Schema cannot express a schema, or `document` gives no document.
   * @throws {Error} If `document` throws.
   */
  openapi(): OpenAPIDocument {
    return documentBelow(this.#documents.openapi(), this.basePath);
  }

  /**
   * Sets the handler that makes all error replies, and their description in the document.
   *
   * @param handler Gets each error as an `HTTPError`. Returns the reply, nothing for the default
   * reply, or the `HTTPError` to reply with. It may throw that, too.
   * @param shape The schema of the body and the content type, for the document.
   * @throws {TypeError} If the handler is no function of two arguments; if the shape has no schema,
   * or has unknown members.
   * @throws {RouteError} With code `conflict`, if there is a handler already; with code `frozen`,
   * if the application serves.
   */
  onError(handler: ErrorHandler<State>, shape?: ErrorShape): void {
    if (this.#service.hasBegun) {
      throw new RouteError("frozen", "Cannot set the error handler: the application serves already");
    }
    if (this.#errorHandler) throw new RouteError("conflict", "Cannot set the error handler: there is one already");
    checkErrorHandler(handler);
    if (shape !== undefined) checkErrorShape(shape);
    this.#errorHandler = handler;
    this.#documents.errors = shape ?? "undocumented";
  }

  /**
   * Serves until SIGINT, SIGTERM or the signal. Then it stops accepting connections, ends streams,
   * waits for requests in flight, ends the lifespans, and resolves. Messages that are still being
   * published at the end of the grace period are abandoned.
   *
   * @param options The address, and how to stop.
   * @throws {TypeError} If an option is unknown.
   * @throws {Deno.errors.AddrInUse} If the port is taken. The message is one line that names it.
   * @throws {RangeError} If no port is given, and the environment variable `PORT` is no port.
   * @throws {Error} If the process is `deno serve` or `webfw`, which serve an exported App
   * themselves: call this in another file. `deno serve` is only detected on Linux, with all
   * permissions (`-A`).
   */
  async run(options: RunOptions = {}): Promise<void> {
    checkRunOptions(options);
    await this.#service.run(options);
  }

  /**
   * Prepares the guards, checks the store of durable topics and starts the lifespans, once.
   * {@linkcode App.run} and the first request call it.
   *
   * @throws {Error} If the configuration of guards or durable topics cannot work. A temporary
   * outage of their store is not an error.
   */
  start(): Promise<void> {
    return this.#service.start();
  }

  /**
   * Ends streams, WebSockets and subscriptions, waits for background tasks of replies, ends the
   * lifespans, waits at most 30 seconds for messages that are being published, and clears the
   * topics. A later request starts the lifespans again.
   */
  async stop(): Promise<void> {
    await this.#service.stop();
  }
}
