/** Routers: groups of routes that applications and other routers include. */
import { atCaller } from "../base/errors.ts";
import type { DependencyLike, None, RequiredState, StateType } from "../binding/dependency.ts";
import { REGISTRY_CHECKS } from "../describe/route_check.ts";
import { checkOptions, type OptionNames } from "../base/options.ts";
import type { GroupOptions } from "../http/route_info.ts";
import type { Middleware } from "../routing/middleware.ts";
import type { RegisterFiles } from "../routing/files.ts";
import type { RegisterMount } from "../routing/mount.ts";
import { Registry } from "../routing/registry.ts";
import { OPTION_NAMES, type RateLimitOption, type ScopeDependencies } from "../routing/scope.ts";
import type { Mistake } from "../schema/schema.ts";
import { type DeclaredTopic, RouterTopics } from "../topics/declared_topic.ts";
import type {
  MethodsOption,
  PathNames,
  PrefixText,
  RegisterDeclared,
  RegisterRoute,
  RegisterWebSocket,
} from "../routing/route_options.ts";

/**
 * The options of an include.
 *
 * @category Applications
 */
export interface IncludeOptions<
  Prefix extends string = string,
  State = Record<string, unknown>,
  Counted = unknown,
> extends GroupOptions, RateLimitOption<State, Counted> {
  /**
   * A prefix before that of the router. It is empty, or starts with a slash and does not end with
   * one. It may contain `{name}`.
   *
   * @default {""}
   */
  prefix?: PrefixText<Prefix>;
  /**
   * Guards of the routes. They are resolved before those of the router, and handlers do not get
   * their values.
   */
  deps?: Readonly<Record<string, DependencyLike<unknown, State>>>;
}

/** @ignore A router that can be included where the state is `State`. */
export interface Includable<State> {
  /**
   * Carries the type; absent at run time. A router without a type of state can be included
   * everywhere.
   */
  readonly "~state"?: ((state: RequiredState<State>) => void) | undefined;
}

const INCLUDE_OPTIONS: OptionNames<IncludeOptions> = { prefix: true, ...OPTION_NAMES.group };

/**
 * Adds the routes of a router to a registry, and freezes the router.
 *
 * @throws {TypeError} If it is not a router, or an option is unknown.
 */
export function includeRouter<State, Counted>(
  registry: Registry,
  router: unknown,
  options: IncludeOptions<string, State, Counted>,
): void {
  if (!(router instanceof Router)) {
    throw new TypeError("Cannot include: the first argument must be a Router, write include(router, { prefix })");
  }
  checkOptions(options, INCLUDE_OPTIONS, "include the router");
  atCaller(() => registry.include(registryOf(router), options.prefix ?? "", options))();
}

let registryOf: (router: object) => Registry;

/**
 * Options of a {@linkcode Router}.
 *
 * @category Applications
 */
export interface RouterOptions<State, Prefix extends string, Given = None, Counted = unknown>
  extends GroupOptions, RateLimitOption<State, Counted> {
  /**
   * The prefix of all paths. It is empty, or starts with a slash and does not end with one. It may
   * contain `{name}`, a parameter that the handlers get like any other.
   *
   * @default {""}
   */
  prefix?: PrefixText<Prefix>;
  /** The type of `request.state`, made by `stateType()`. */
  state?: StateType<State>;
  /**
   * Guards of all routes, also of those in included routers. The routes of this router get the
   * values as arguments by these names. Guards of outer scopes are resolved before them.
   */
  deps?: ScopeDependencies<State, PathNames<Prefix>, Given>;
}

const ROUTER_OPTIONS: OptionNames<RouterOptions<unknown, string>> = {
  prefix: true,
  state: true,
  ...OPTION_NAMES.group,
};

/**
 * A group of routes for an application or another router.
 *
 * Declare all routes first: an included router cannot change.
 *
 * @example A prefix with a parameter
 * ```ts
 * import { App, Router } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const shelf = new Router({ prefix: "/shelves/{shelf}" });
 * shelf.get("", async (_request, { shelf }) => ({ shelf }));
 * shelf.get("/books/{id}", async (_request, { shelf, id }) => ({ shelf, id }));
 *
 * const app = new App();
 * app.include(shelf, { prefix: "/v1" });
 * const response = await app.fetch(new Request("http://localhost/v1/shelves/top/books/7"));
 * assertEquals(await response.json(), { shelf: "top", id: "7" });
 * ```
 *
 * @category Applications
 */
export class Router<
  State = Record<string, unknown>,
  const Prefix extends string = string,
  Given = None,
  Counted = unknown,
> implements Includable<State> {
  /**
   * Carries the type of the state; absent at run time.
   *
   * @ignore
   */
  declare readonly "~state"?: ((state: RequiredState<State>) => void) | undefined;

  readonly #registry: Registry;

  static {
    registryOf = (router) => (router as Router).#registry;
  }

  /**
   * Makes an empty router.
   *
   * @param options Its prefix and the type of the state.
   * @throws {TypeError} If an option is unknown.
   * @throws {RouteError} With code `path`, if the prefix is malformed.
   */
  constructor(options: RouterOptions<State, Prefix, Given, Counted> = {}) {
    checkOptions(options, ROUTER_OPTIONS, "make a router");
    const topics = new RouterTopics();
    this.#registry = new Registry({
      ...{ prefix: options.prefix ?? "", isRoot: false, options, checks: REGISTRY_CHECKS, topics },
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
  }

  /** Registers a route for GET, which also answers HEAD. See {@linkcode App.get}. */
  readonly get: RegisterRoute<State, Prefix, Given, "GET">;

  /** Registers a route for POST. See {@linkcode App.post}. */
  readonly post: RegisterRoute<State, Prefix, Given, "POST">;

  /** Registers a route for PUT. See {@linkcode App.put}. */
  readonly put: RegisterRoute<State, Prefix, Given, "PUT">;

  /** Registers a route for PATCH. See {@linkcode App.patch}. */
  readonly patch: RegisterRoute<State, Prefix, Given, "PATCH">;

  /** Registers a route for DELETE. See {@linkcode App.delete}. */
  readonly delete: RegisterRoute<State, Prefix, Given, "DELETE">;

  /**
   * Registers a route for several methods, or for a method without its own function. A route for
   * HEAD or OPTIONS replaces the automatic reply. See {@linkcode App.route}.
   */
  readonly route: RegisterDeclared<State, Prefix, MethodsOption, Given>;

  /**
   * Registers a WebSocket route. A GET route can have the same path; it answers requests without an
   * upgrade. See {@linkcode App.websocket}.
   */
  readonly websocket: RegisterWebSocket<State, Prefix, Given>;

  /**
   * Hands everything below a path to a handler of the platform's `Request`, such as another
   * framework: with any method, and behind the middleware and guards. See {@linkcode App.mount}.
   */
  readonly mount: RegisterMount<State, Prefix, Given>;

  /**
   * Serves a folder of files where no route answers: a web page, or a single-page application. See
   * {@linkcode App.files}.
   */
  readonly files: RegisterFiles<Prefix, Given>;

  /**
   * Adds the routes of a router, behind the guards of the include. After that, the router cannot
   * change, but it can be included elsewhere too.
   *
   * @param router The router.
   * @param options The prefix of its routes.
   * @throws {TypeError} If it is not a router, or an option is unknown.
   * @throws {RouteError} With code `conflict` if a method and shape of path is taken; then nothing
   * is added, and the router stays open. With code `path` if the prefix or a full path is
   * malformed. With code `frozen` after the first request or include.
   */
  include<Needed = unknown, const At extends string = "", Counted = unknown>(
    router: RequiredState<State> extends Needed ? Includable<Needed>
      : Mistake<"The state that the router needs is not the one here: give both one stateType()">,
    options: IncludeOptions<At, State, Counted> = {},
  ): void {
    includeRouter(this.#registry, router, options);
  }

  /**
   * Declares a topic with each application that includes the router. Handlers use it by
   * `request.app.topic(Orders)`.
   *
   * @param declared What `topic(name, options)` returned.
   * @throws {TypeError} If the router has a topic of this name with other options, or it is no such
   * value. An include throws it if the application has one.
   * @throws {RouteError} With code `frozen` after the first include.
   *
   * @example A topic that comes with its routes
   * ```ts
   * import { App, Events, Router, SSE, topic } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   * import * as v from "valibot";
   *
   * const Orders = topic("orders", { schema: v.object({ id: v.number() }) });
   *
   * const orders = new Router({ prefix: "/orders" });
   * orders.topic(Orders);
   * orders.get("/events", { response: Events(Orders) }, async (request) => {
   *   return SSE(request.app.topic(Orders).subscribe());
   * });
   *
   * const app = new App();
   * app.include(orders);
   * assertEquals(await app.topic(Orders).publish({ id: 1 }).then(({ duplicate }) => duplicate), false);
   * ```
   */
  topic(declared: DeclaredTopic): void {
    this.#registry.declareTopic(declared);
  }

  /**
   * Adds a middleware around the requests of its routes and of the routers that it includes. The
   * first middleware is the outermost.
   *
   * @param middleware An async function that returns `await next(request)`, or its own reply.
   * @throws {TypeError} If it is not an async function.
   * @throws {RouteError} With code `frozen` after the first request or include.
   */
  middleware(middleware: Middleware<State>): void {
    this.#registry.addMiddleware(middleware);
  }
}
