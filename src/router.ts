/** Where routes are declared: the verbs, include and middleware that applications and routers share, and the Router. */
import type { RequiredState, StateType } from "./binding/dependency.ts";
import { checkRoute } from "./describe/route_check.ts";
import { checkOptions, type OptionNames, readOptions } from "./options.ts";
import type { Middleware } from "./routing/middleware.ts";
import { checkOrder, Registry } from "./routing/registry.ts";
import { ROUTE_OPTIONS } from "./routing/route.ts";
import type { Mistake } from "./schema/schema.ts";
import type { RouteDeclaration, WebSocketDeclaration } from "./http/route_info.ts";
import type { PathText, RegisterDeclared, RegisterRoute } from "./routing/route_options.ts";
import type { RegisterWebSocket } from "./routing/websocket_options.ts";

/** Where an include puts the routes. */
export interface IncludeOptions<Prefix extends string = string> {
  /**
   * Stands before the router's own prefix. Empty, or starting with a slash and not ending with one; may hold `{name}`.
   *
   * @default {""}
   */
  prefix?: PathText<Prefix>;
}

/** What `route()` takes beside the options of every route. */
export interface MethodsOption {
  /** The methods to serve, at least one. */
  methods: readonly string[];
}

/** A router that can be included where the state is `State`. */
export interface Includable<State> {
  /** Carries the type; never there at run time. A router that says nothing of the state can go everywhere. */
  readonly "~state"?: ((state: RequiredState<State>) => void) | undefined;
}

const METHODS_OPTIONS: OptionNames<RouteDeclaration & MethodsOption> = { ...ROUTE_OPTIONS, methods: true };
const INCLUDE_OPTIONS: OptionNames<IncludeOptions> = { prefix: true };

let getRegistry: (scope: object) => Registry;

/** What applications and routers have in common: the ways to declare. */
export abstract class RouteScope<State, Prefix extends string> {
  /** Registers a route for GET, which serves HEAD as well. */
  readonly get: RegisterRoute<State, Prefix> = this.#verb("GET");
  /** Registers a route for POST. */
  readonly post: RegisterRoute<State, Prefix> = this.#verb("POST");
  /** Registers a route for PUT. */
  readonly put: RegisterRoute<State, Prefix> = this.#verb("PUT");
  /** Registers a route for PATCH. */
  readonly patch: RegisterRoute<State, Prefix> = this.#verb("PATCH");
  /** Registers a route for DELETE. */
  readonly delete: RegisterRoute<State, Prefix> = this.#verb("DELETE");
  /** Registers a route for any methods, named in its options; one for HEAD or OPTIONS wins over the automatic answers. */
  readonly route: RegisterDeclared<State, Prefix, MethodsOption> = this
    .#methods();
  /** Registers a WebSocket route. A GET route may have the same path: it answers what asks for no upgrade. */
  readonly websocket: RegisterWebSocket<State, Prefix> = this.#websocket();

  readonly #registry: Registry;

  static {
    getRegistry = (scope) => (scope as RouteScope<unknown, string>).#registry;
  }

  /**
   * Makes a scope without routes.
   *
   * @param prefix Stands before all paths.
   * @param isRoot Whether its paths are those that requests have.
   */
  constructor(prefix: string, isRoot: boolean) {
    this.#registry = new Registry(prefix, isRoot, checkRoute);
  }

  /**
   * Adds the routes of a router, which cannot change from then on.
   *
   * @param router The router; it can be included elsewhere as well.
   * @param options Where to put its routes.
   * @throws {TypeError} When it is no router, or an option is unknown.
   * @throws {RouteError} With code `conflict` when a method and shape is taken; nothing was added then, and the router stays
   * open. With code `path` when the prefix or a full path cannot be read. With code `frozen` when it is too late.
   */
  include<Needed = unknown, const At extends string = "">(
    router: RequiredState<State> extends Needed ? Includable<Needed>
      : Mistake<"The state that the router needs is not the one here: give both one stateType()">,
    options: IncludeOptions<At> = {},
  ): void {
    if (!(router instanceof Router)) {
      throw new TypeError("Cannot include: the argument must be a Router");
    }
    checkOptions(options, INCLUDE_OPTIONS, "include the router");
    this.#registry.include(registryOf(router), options.prefix ?? "");
  }

  /**
   * Surrounds all of its routes, and those of included routers, with a function. The first one added is the outermost.
   *
   * @param middleware An async function that returns `await next(request)`, or a reply of its own.
   * @throws {TypeError} When it is not an async function.
   * @throws {RouteError} With code `frozen` when it is too late.
   */
  middleware(middleware: Middleware<State>): void {
    this.#registry.addMiddleware(middleware);
  }

  #verb(method: string): RegisterRoute<State, Prefix> {
    const register = (path: string, ...rest: unknown[]): void => {
      const [options, handler] = rest.length < 2 ? [{}, rest[0]] : rest;
      this.#registry.register(
        [method],
        path,
        options as RouteDeclaration,
        handler,
      );
    };
    return register as RegisterRoute<State, Prefix>;
  }

  #websocket(): RegisterWebSocket<State, Prefix> {
    const register = (path: string, ...rest: unknown[]): void => {
      const [options, handler] = rest.length < 2 ? [{}, rest[0]] : rest;
      this.#registry.registerWebSocket(path, options as WebSocketDeclaration, handler);
    };
    return register as RegisterWebSocket<State, Prefix>;
  }

  #methods(): RegisterDeclared<State, Prefix, MethodsOption> {
    const register = (
      path: string,
      options: RouteDeclaration & MethodsOption,
      handler: unknown,
    ): void => {
      checkOrder(options, `register a route at "${path}"`);
      const { methods, ...declared } = readOptions(options, METHODS_OPTIONS, `register a route at "${path}"`);
      if (!Array.isArray(methods) || methods.length === 0) {
        throw new TypeError(
          `Cannot register a route at "${path}": methods must be a list of at least one`,
        );
      }
      const names = new Set(
        methods.map((method) => String(method).toUpperCase()),
      );
      this.#registry.register([...names], path, declared, handler);
    };
    return register as RegisterDeclared<State, Prefix, MethodsOption>;
  }
}

/** The declarations of an application or router. */
export function registryOf(scope: object): Registry {
  return getRegistry(scope);
}

/** Options of a {@linkcode Router}. */
export interface RouterOptions<State, Prefix extends string> {
  /**
   * Stands before all of its paths. Empty, or starting with a slash and not ending with one; may hold `{name}`, which the
   * handlers get like any other parameter.
   *
   * @default {""}
   */
  prefix?: PathText<Prefix>;
  /** The type of `request.state`, by `stateType()`. */
  state?: StateType<State>;
}

const ROUTER_OPTIONS: OptionNames<RouterOptions<unknown, string>> = { prefix: true, state: true };

/**
 * A group of routes, to be included in an application or another router.
 *
 * Declare everything on it first: once it is included, it cannot change.
 *
 * @example Routes below a prefix that holds a parameter
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
 */
export class Router<
  State = Record<string, unknown>,
  const Prefix extends string = string,
> extends RouteScope<State, Prefix> implements Includable<State> {
  /** Carries the type of the state; never there at run time. */
  declare readonly "~state"?: ((state: RequiredState<State>) => void) | undefined;

  /**
   * Makes an empty router.
   *
   * @param options Its prefix and the type of the state.
   * @throws {TypeError} When an option is unknown.
   * @throws {RouteError} With code `path`, when the prefix cannot be read.
   */
  constructor(options: RouterOptions<State, Prefix> = {}) {
    checkOptions(options, ROUTER_OPTIONS, "make a router");
    super(options.prefix ?? "", false);
  }
}
