import { RouteError } from "../errors.ts";
import { type OptionNames, readOptions } from "../options.ts";
import { checkMiddleware, type Middleware } from "./middleware.ts";
import { assignOperationIds, type MiddlewareScope, Route, ROUTE_OPTIONS } from "./route.ts";
import { parsePath, parsePrefix } from "./path.ts";
import type { RouteDeclaration, WebSocketDeclaration } from "../http/route_info.ts";
import { RouteList } from "./table.ts";
import { WEBSOCKET_OPTIONS, WebSocketRoute } from "./websocket_route.ts";
import type { RegisterDeclared, RegisterRoute } from "./route_options.ts";
import type { RegisterWebSocket } from "./websocket_options.ts";

/** What was declared in one place: routes, middlewares, and whether it is too late to add any. */

const METHOD = /^[A-Z][A-Z-]*$/;

/** A route of whichever kind. */
export type AnyRoute = Route | WebSocketRoute;

/** A place that the application serves by itself. */
export interface ReservedPath {
  readonly path: string;
  /** What is served there. */
  readonly what: string;
  /** The option of the application that moves it, or turns it off. */
  readonly option: string;
}

/** The declarations of an application or a router. */
export class Registry implements MiddlewareScope {
  readonly #prefix: string;
  readonly #isRoot: boolean;
  readonly #check: (route: AnyRoute) => void;
  readonly #middlewares: Middleware[] = [];
  readonly #routes = new RouteList<AnyRoute>();
  /** By the shape of their paths. */
  readonly #reserved = new Map<string, ReservedPath>();
  #frozen: string | undefined;

  /**
   * Makes an empty registry.
   *
   * @param prefix Stands before all paths.
   * @param isRoot Whether its paths are those that requests have, which start with a slash.
   * @param check Refuses, by an error, a route that cannot be told to those whom it asks to be told to.
   * @throws {RouteError} With code `path`, when the prefix cannot be read.
   */
  constructor(prefix: string, isRoot: boolean, check: (route: AnyRoute) => void) {
    parsePrefix(prefix, "make a router");
    this.#prefix = prefix;
    this.#isRoot = isRoot;
    this.#check = check;
  }

  /** The middlewares, the outermost first. */
  get middlewares(): readonly Middleware[] {
    return this.#middlewares;
  }

  /** The routes, in the order of their registration. */
  get routes(): readonly AnyRoute[] {
    return this.#routes.all;
  }

  /**
   * Gives each operation a name of its own. Those of WebSockets come last: no document has them, and they must not change one.
   */
  nameOperations(): void {
    assignOperationIds(
      this.routes.toSorted((a, b) => Number(a instanceof WebSocketRoute) - Number(b instanceof WebSocketRoute)),
    );
  }

  /** Those of them that answer requests. */
  get httpRoutes(): readonly Route[] {
    return this.#routes.all.filter((route) => route instanceof Route);
  }

  /**
   * Keeps paths for the application itself, whatever the method.
   *
   * @throws {RouteError} With code `conflict`, when two of them are the same.
   */
  reserve(places: Iterable<ReservedPath>): void {
    for (const place of places) {
      const { shape } = parsePath(place.path, `serve ${place.what}`);
      this.#assertFree(shape, `serve ${place.what} at "${place.path}"`);
      this.#reserved.set(shape, place);
    }
  }

  /** Makes any further declaration throw, for the reason given. */
  freeze(reason: string): void {
    this.#frozen ??= reason;
  }

  /**
   * Adds a route for each method, all or none.
   *
   * @throws {TypeError} When the handler is not async, or an option or method is wrong.
   * @throws {RouteError} When the path cannot be read or is taken, a name is bound twice, the route cannot be a tool, or it is too
   * late.
   */
  register(
    methods: readonly string[],
    path: string,
    options: RouteDeclaration,
    handler: unknown,
  ): void {
    const full = this.#place(path, methods.join(", "));
    const wrong = methods.find((method) => !METHOD.test(method) || method === "CONNECT" || method === "TRACE");
    if (wrong !== undefined) {
      throw new TypeError(
        `Cannot register a route at "${full}": "${wrong}" is no method that can be served`,
      );
    }
    checkOrder(options, `register ${methods.join(", ")} ${full}`);
    const declared = readOptions(options, ROUTE_OPTIONS, `register ${methods.join(", ")} ${full}`);
    const routes = methods.map((method, index) =>
      Route.declare(method, full, index === 0 ? declared : withoutNames(declared), handler, this)
    );
    this.#add(routes);
  }

  /**
   * Adds a WebSocket route.
   *
   * @throws {TypeError} When the handler is not async, or an option is wrong.
   * @throws {RouteError} When the path cannot be read or is taken, a name is bound twice, or it is too late.
   */
  registerWebSocket(path: string, options: WebSocketDeclaration, handler: unknown): void {
    const full = this.#place(path, "WEBSOCKET");
    checkOrder(options, `register WEBSOCKET ${full}`);
    if (typeof options === "object" && options !== null && "tool" in options) {
      throw new RouteError(
        "tool",
        `Cannot expose WEBSOCKET ${full} as a tool: agents cannot converse over a WebSocket, leave out "tool"`,
      );
    }
    const declared = readOptions(options, WEBSOCKET_OPTIONS, `register WEBSOCKET ${full}`);
    this.#add([WebSocketRoute.declare(full, declared, handler, this)]);
  }

  /**
   * Adds the routes of another registry, all or none, and freezes that.
   *
   * @throws {RouteError} With code `conflict`, `path` or `frozen`.
   */
  include(other: Registry, prefix: string): void {
    this.#assertOpen("include a router");
    if (other === this) {
      throw new TypeError("Cannot include the router: it cannot hold itself");
    }
    parsePrefix(prefix, "include a router");
    const whole = parsePrefix(this.#prefix + prefix, "include a router");
    const copies = other.routes.map((route) => route.under(whole, this));
    for (const copy of copies) {
      this.#assertServable(copy.path, `include ${copy.method}`);
    }
    this.#routes.add(copies, "include the router");
    other.freeze(
      "the router has been included, declare everything on it before you include it",
    );
  }

  /**
   * Adds a middleware, inside those before it.
   *
   * @throws {TypeError} When it is not an async function.
   * @throws {RouteError} With code `frozen`, when it is too late.
   */
  addMiddleware(middleware: unknown): void {
    this.#assertOpen("add the middleware");
    this.#middlewares.push(checkMiddleware(middleware));
  }

  /** The full path of a route that is about to be registered, once it is clear that it can stand there. */
  #place(path: string, methods: string): string {
    const full = this.#prefix + path;
    const action = `register ${methods}`;
    this.#assertOpen(`${action} ${full}`);
    parsePath(path, action);
    this.#assertServable(full, action);
    return full;
  }

  #add(routes: readonly AnyRoute[]): void {
    for (const route of routes) this.#check(route);
    this.#routes.add(routes, "register the route");
  }

  #assertOpen(action: string): void {
    if (this.#frozen === undefined) return;
    throw new RouteError("frozen", `Cannot ${action}: ${this.#frozen}`);
  }

  #assertServable(path: string, action: string): void {
    if (!this.#isRoot) return;
    if (!path.startsWith("/")) {
      throw new RouteError("path", `Cannot ${action} at "${path}": a path of the App must start with "/"`);
    }
    this.#assertFree(parsePath(path, action).shape, `${action} at "${path}"`);
  }

  #assertFree(shape: string, action: string): void {
    const place = this.#reserved.get(shape);
    if (!place) return;
    const { what, option } = place;
    throw new RouteError(
      "conflict",
      `Cannot ${action}: the App serves ${what} there, choose another path, or set ${option} of the App to another or to null`,
    );
  }
}

/**
 * Refuses a handler where the options have their place.
 *
 * @throws {TypeError} When there is one.
 */
export function checkOrder(options: unknown, action: string): void {
  if (typeof options !== "function") return;
  throw new TypeError(`Cannot ${action}: the options come before the handler, write (path, options, handler)`);
}

/** A name is that of one operation, and of one tool: the further methods of a route get names of their own. */
function withoutNames({ operationId: _, ...options }: RouteDeclaration): RouteDeclaration {
  if (typeof options.tool !== "object" || options.tool === null) return options;
  // A copy would lose what is inherited.
  const tool = Object.create(options.tool, { name: { value: undefined } });
  return { ...options, tool };
}

/** The methods of applications and routers that register routes. */

/** The option that `route()` takes beside those of every route. */
export interface MethodsOption {
  /** The methods to serve, at least one. */
  methods: readonly string[];
}

const METHODS_OPTIONS: OptionNames<RouteDeclaration & MethodsOption> = { ...ROUTE_OPTIONS, methods: true };

/** Makes the function that registers routes for one method: `get`, `post`, … */
export function registersMethod<State, Prefix extends string>(
  registry: Registry,
  method: string,
): RegisterRoute<State, Prefix> {
  const register = (path: string, ...rest: unknown[]): void => {
    const [options, handler] = rest.length < 2 ? [{}, rest[0]] : rest;
    registry.register([method], path, options as RouteDeclaration, handler);
  };
  return register as RegisterRoute<State, Prefix>;
}

/** Makes `route`, which registers routes for the methods that its options name. */
export function registersMethods<State, Prefix extends string>(
  registry: Registry,
): RegisterDeclared<State, Prefix, MethodsOption> {
  const register = (path: string, options: RouteDeclaration & MethodsOption, handler: unknown): void => {
    checkOrder(options, `register a route at "${path}"`);
    const { methods, ...declared } = readOptions(options, METHODS_OPTIONS, `register a route at "${path}"`);
    if (!Array.isArray(methods) || methods.length === 0) {
      throw new TypeError(`Cannot register a route at "${path}": methods must be a list of at least one`);
    }
    const names = new Set(methods.map((method) => String(method).toUpperCase()));
    registry.register([...names], path, declared, handler);
  };
  return register as RegisterDeclared<State, Prefix, MethodsOption>;
}

/** Makes `websocket`, which registers WebSocket routes. */
export function registersWebSocket<State, Prefix extends string>(
  registry: Registry,
): RegisterWebSocket<State, Prefix> {
  const register = (path: string, ...rest: unknown[]): void => {
    const [options, handler] = rest.length < 2 ? [{}, rest[0]] : rest;
    registry.registerWebSocket(path, options as WebSocketDeclaration, handler);
  };
  return register as RegisterWebSocket<State, Prefix>;
}
