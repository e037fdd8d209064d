/** The declarations of an application or a router: its routes and middlewares. */
import { type PreparedDependency, type SessionCookieOf, withNeeded } from "../binding/dependency.ts";
import { declaredOn } from "../binding/levels.ts";
import { atCaller, RouteError } from "../base/errors.ts";
import type { RouteDeclaration, WebSocketDeclaration } from "../http/route_info.ts";
import { WEBSOCKET } from "../http/websocket/handshake.ts";
import { type OptionNames, readOptions } from "../base/options.ts";
import { type DeclaredLimit, readRateLimits } from "../rate_limit/rate_limit.ts";
import { type FilesOptions, FilesRoute, type RegisterFiles } from "./files.ts";
import { checkMiddleware } from "./middleware.ts";
import { type MountOptions, MountRoute, type Place, type RegisterMount } from "./mount.ts";
import { parsePath, parsePrefix, type PathTemplate } from "./path.ts";
import { assignOperationIds, Route } from "./route.ts";
import { RouteReference } from "./route_reference.ts";
import type { MethodsOption, RegisterDeclared, RegisterRoute, RegisterWebSocket } from "./route_options.ts";
import { OPTION_NAMES, Scope, type ScopeDeclaration } from "./scope.ts";
import { RouteList } from "./table.ts";
import { DeclaredTopic, type TopicDeclarations } from "../topics/declared_topic.ts";
import { WebSocketRoute } from "./websocket_route.ts";

const METHOD = /^[A-Z][A-Z-]*$/;

/** The reference of a route without its types. */
type Untyped = Readonly<Record<never, never>>;

export type AnyRoute = Route | WebSocketRoute;

const METHODS_OPTIONS: OptionNames<RouteDeclaration & MethodsOption> = { ...OPTION_NAMES.route, methods: true };

/** A path that the application serves itself. */
export interface ReservedPath {
  readonly path: string;
  readonly what: string;
  readonly option: string;
}

/** Checks that scopes and routes can be documented, and can be the tools that they declare. */
export interface RegistryChecks {
  /** @throws {TypeError} If a scope cannot be documented. */
  readonly scope: (scope: Scope, action: string) => void;
  /** @throws {TypeError | RouteError} If a new route cannot be documented, or be a tool. */
  readonly route: (route: AnyRoute) => void;
  /** @throws {RouteError} If a route cannot be a tool in its outer scopes. */
  readonly included: (route: AnyRoute) => void;
}

interface RegistryParts {
  readonly prefix: string;
  /** Whether it is an application: paths are complete and start with a slash. */
  readonly isRoot: boolean;
  readonly options: ScopeDeclaration;
  /** The store of limits without one of their own. */
  readonly limitStore?: DeclaredLimit["store"];
  readonly checks: RegistryChecks;
  readonly topics: TopicDeclarations;
}

export class Registry {
  readonly scope: Scope;
  readonly #prefix: string;
  readonly #checks: RegistryChecks;
  readonly #topics: TopicDeclarations;
  readonly #routes = new RouteList<AnyRoute>();
  readonly #prefixes = new Set<string>();
  readonly #sessionCookies = new SessionCookies();
  readonly #places = new Map<object, readonly Place[]>();
  /** By the shape of the path. */
  readonly #reserved = new Map<string, ReservedPath>();
  /** Why no more declarations are possible. */
  #frozen: string | undefined;

  /**
   * @throws {RouteError} With code `path`, if the prefix is malformed; with code `conflict`, if it
   * has the name of a dependency.
   * @throws {TypeError} If an option is wrong.
   */
  constructor({ prefix, isRoot, options, limitStore, checks, topics }: RegistryParts) {
    const action = isRoot ? "make the App" : "make a router";
    this.#prefix = prefix;
    if (prefix !== "") this.#prefixes.add(prefix);
    this.#checks = checks;
    this.#topics = topics;
    this.scope = this.#newScope(options, action, isRoot, limitStore);
    assertNamesDiffer(prefix, this.scope, action);
    this.use(declaredOn(this.scope.level), action);
  }

  get routes(): readonly AnyRoute[] {
    return this.#routes.all;
  }

  /** The prefixes of routers and includes, up to their first parameter. */
  get prefixes(): readonly string[] {
    return [...new Set([...this.#prefixes].map((prefix) => prefix.replace(/\/\{.*$/s, "")))].filter(Boolean);
  }

  /**
   * Gives each operation a unique name. Routes outside the document come last, so that they do not
   * change the names in it.
   */
  nameOperations(): void {
    assignOperationIds(this.routes.toSorted((a, b) => Number(isDocumented(b)) - Number(isDocumented(a))));
  }

  /**
   * Reserves paths for the application itself, for all methods.
   *
   * @throws {RouteError} With code `conflict`, if two of them are equal.
   */
  reserve(paths: Iterable<ReservedPath>): void {
    for (const reserved of paths) {
      const { path, what } = reserved;
      const { shape } = parsePath(path, `serve ${what}`);
      this.#assertFree(shape, `serve ${what} at "${path}"`);
      this.#reserved.set(shape, reserved);
    }
  }

  freeze(reason: string): void {
    this.#frozen ??= reason;
  }

  registerMethod<State, Prefix extends string, Given, Method extends string>(
    method: Method,
  ): RegisterRoute<State, Prefix, Given, Method> {
    const register = (path: string, ...rest: unknown[]): Untyped => {
      const [options, handler] = rest.length < 2 ? [{}, rest[0]] : rest;
      return this.#register([method], path, options as RouteDeclaration, handler);
    };
    return atCaller(register) as RegisterRoute<State, Prefix, Given, Method>;
  }

  registerMethods<State, Prefix extends string, Given>(): RegisterDeclared<State, Prefix, MethodsOption, Given> {
    const register = (path: string, given: RouteDeclaration & MethodsOption, handler: unknown): Untyped => {
      const action = `register a route at "${path}"`;
      checkOrder(given, action);
      const { methods, ...options } = readOptions(given, METHODS_OPTIONS, action);
      if (!Array.isArray(methods) || methods.length === 0) {
        throw new TypeError(`Cannot ${action}: "methods" must be an array of at least one method`);
      }
      const names = new Set(methods.map((method) => String(method).toUpperCase()));
      return this.#register([...names], path, options, handler);
    };
    return atCaller(register) as RegisterDeclared<State, Prefix, MethodsOption, Given>;
  }

  registerWebSocket<State, Prefix extends string, Given>(): RegisterWebSocket<State, Prefix, Given> {
    const register = (path: string, ...rest: unknown[]): Untyped => {
      const [options, handler] = rest.length < 2 ? [{}, rest[0]] : rest;
      const full = this.#fullPath(path, WEBSOCKET);
      const action = `register ${WEBSOCKET} ${full}`;
      checkOrder(options, action);
      const has = (name: string) => typeof options === "object" && options !== null && name in options;
      if (has("tool")) {
        throw new RouteError(
          "tool",
          `Cannot expose ${WEBSOCKET} ${full} as a tool: agents cannot converse over a WebSocket, leave out "tool"`,
        );
      }
      if (has("idempotent")) {
        throw new RouteError(
          "idempotent",
          `Cannot ${action}: a WebSocket cannot be idempotent by a key, leave out "idempotent"`,
        );
      }
      const known = readOptions(options as WebSocketDeclaration, OPTION_NAMES.websocket, action);
      return this.#add([WebSocketRoute.declare(full, known, handler, this.scope)]);
    };
    return atCaller(register) as RegisterWebSocket<State, Prefix, Given>;
  }

  /**
   * Adds the routes of another registry, all or none, and freezes that registry.
   *
   * @throws {RouteError} With code `conflict`, `path`, `tool` or `frozen`.
   * @throws {TypeError} If an option is wrong.
   */
  include(other: Registry, prefix: string, options: ScopeDeclaration): void {
    this.#assertOpen("include a router");
    if (other === this) {
      throw new TypeError("Cannot include the router: it cannot hold itself");
    }
    parsePrefix(prefix, "include a router");
    const whole = parsePrefix(this.#prefix + prefix, "include a router");
    const scope = this.#newScope(options, "include the router", false);
    const outer = scope.isEmpty ? [this.scope] : [this.scope, scope];
    const copies = other.routes.map((route) => includedIn(route, whole, outer));
    for (const copy of copies) {
      this.#checks.included(copy);
      this.#assertServable(copy.path, `include ${copy.method}`);
    }
    for (const topic of other.#topics.declared) this.#topics.check(topic);
    this.#addRoutes(copies, "include the router");
    for (const topic of other.#topics.declared) this.#topics.declare(topic);
    for (const inner of ["", ...other.#prefixes]) this.#prefixes.add(whole.text + inner);
    other.freeze("the router has been included, declare everything on it before you include it");
  }

  registerMount<State, Prefix extends string, Given>(): RegisterMount<State, Prefix, Given> {
    return atCaller((path: string, handler: unknown, options: MountOptions = {}): void => {
      this.#addBelow(path, "mount a handler", (full) => MountRoute.mount(full, handler, options, this.scope));
    });
  }

  registerFiles<Prefix extends string, Given>(): RegisterFiles<Prefix, Given> {
    return atCaller((path: string, folder: unknown, options: FilesOptions = {}): void => {
      this.#addBelow(path, "serve files", (full) => FilesRoute.files(full, folder, options, this.scope));
    });
  }

  #addBelow(path: string, action: string, declare: (path: string) => Route): void {
    this.#assertOpen(action);
    // The slash alone is the prefix of all paths.
    const below = path === "/" ? "" : path;
    parsePrefix(below, action);
    const route = declare(this.#prefix + below);
    this.#assertServable(route.path, action);
    this.#addRoutes([route], action);
  }

  /**
   * @throws {TypeError} If it is not an async function.
   * @throws {RouteError} With code `frozen`, if it is too late.
   */
  addMiddleware(middleware: unknown): void {
    this.#assertOpen("add the middleware");
    this.scope.middlewares.push(checkMiddleware(middleware));
  }

  /**
   * @throws {TypeError} If it is no value of `topic()`, or another one has its name.
   * @throws {RouteError} With code `frozen`, if it is too late.
   */
  declareTopic(topic: unknown): void {
    if (!(topic instanceof DeclaredTopic)) {
      throw new TypeError("Cannot declare the topic: it must be what topic(name, options) returned");
    }
    this.#assertOpen(`declare the topic "${topic.name}"`);
    this.#topics.declare(topic);
  }

  #register(
    methods: readonly string[],
    path: string,
    options: RouteDeclaration,
    handler: unknown,
  ): RouteReference {
    const full = this.#fullPath(path, methods.join(", "));
    const wrong = methods.find((method) => !METHOD.test(method) || method === "CONNECT" || method === "TRACE");
    if (wrong !== undefined) {
      throw new TypeError(`Cannot register a route at "${full}": "${wrong}" is no method that can be served`);
    }
    const action = `register ${methods.join(", ")} ${full}`;
    checkOrder(options, action);
    const known = readOptions(options, OPTION_NAMES.route, action);
    const rateLimits = readRateLimits(known.rateLimit, action);
    return this.#add(
      methods.map((method, index) =>
        Route.declare(method, full, index === 0 ? known : withoutNames(known), handler, this.scope, rateLimits)
      ),
    );
  }

  /** The full path of a new route. Its checks precede those of the options. */
  #fullPath(path: string, methods: string): string {
    const full = this.#prefix + path;
    const action = `register ${methods}`;
    this.#assertOpen(`${action} ${full}`);
    parsePath(path, action);
    this.#assertServable(full, action);
    return full;
  }

  /** The routes differ only in their method. */
  #add(routes: readonly AnyRoute[]): RouteReference {
    for (const route of routes) this.#checks.route(route);
    this.#addRoutes(routes, "register the route");
    return new RouteReference(routes[0]!);
  }

  #addRoutes(routes: readonly AnyRoute[], action: string): void {
    const sessions = routes.map((route) => this.#checkSessions(route, action));
    this.#routes.add(routes, action);
    for (const found of sessions) this.#sessionCookies.add(found);
  }

  #checkSessions(route: AnyRoute, action: string): ReturnType<SessionCookies["check"]> {
    const mounted = route instanceof MountRoute ? route.app?.sessionCookies() : undefined;
    return this.#sessionCookies.check(route.dependencies, { action, route: route.name }, mounted);
  }

  /**
   * Adds sessions that mounted applications declared after the mount.
   *
   * @throws {TypeError} If two sessions have one cookie.
   */
  addMountedSessions(action: string): void {
    for (const route of this.routes) {
      if (route instanceof MountRoute) this.#sessionCookies.add(this.#checkSessions(route, action));
    }
  }

  /** Where the copies of a declared route are. Only for requests: before, more can be included. */
  placesOf(declared: object): readonly Place[] {
    return this.#places.getOrInsertComputed(declared, () =>
      this.routes.flatMap((route) => {
        if (route instanceof MountRoute) return route.placesOf(declared);
        return route.declared === declared ? [{ route, path: route.path }] : [];
      }));
  }

  get sessionCookies(): readonly SessionCookieOf[] {
    return this.#sessionCookies.all;
  }

  #newScope(...declared: ConstructorParameters<typeof Scope>): Scope {
    const scope = new Scope(...declared);
    this.#checks.scope(scope, declared[1]);
    return scope;
  }

  /**
   * Checks further dependencies.
   *
   * @throws {TypeError} If two sessions have one cookie.
   */
  use(dependencies: Iterable<PreparedDependency>, action: string): void {
    this.#sessionCookies.add(this.#sessionCookies.check(dependencies, { action }));
  }

  #assertOpen(action: string): void {
    if (this.#frozen === undefined) return;
    throw new RouteError("frozen", `Cannot ${action}: ${this.#frozen}`);
  }

  #assertServable(path: string, action: string): void {
    if (!this.scope.isRoot) return;
    if (!path.startsWith("/")) {
      throw new RouteError("path", `Cannot ${action} at "${path}": a path of the App must start with "/"`);
    }
    this.#assertFree(parsePath(path, action).shape, `${action} at "${path}"`);
  }

  #assertFree(shape: string, action: string): void {
    const reserved = this.#reserved.get(shape);
    if (!reserved) return;
    const { what, option } = reserved;
    throw new RouteError(
      "conflict",
      `Cannot ${action}: the App serves ${what} there, choose another path, or set ${option} of the App to another or to null`,
    );
  }
}

/** @throws {RouteError} If the prefix of a router has the name of one of its dependencies. */
function assertNamesDiffer(prefix: string, { level: { deps } }: Scope, action: string): void {
  const name = parsePrefix(prefix, action).names.find((name) => deps.has(name));
  if (name === undefined) return;
  throw new RouteError(
    "conflict",
    `Cannot ${action} at "${prefix}": the prefix and a dependency both bind "${name}", rename one`,
  );
}

/** @throws {RouteError} If the full path is malformed, or a name is bound twice. */
function includedIn(route: AnyRoute, prefix: PathTemplate, outer: readonly Scope[]): AnyRoute {
  const { text } = route.template;
  const template = prefix.text === "" ? route.template : parsePath(prefix.text + text, `include ${route.method}`);
  const levels = [...outer.map(({ level }) => level), ...route.levels];
  const copy = route.with({ template, scopes: [...outer, ...route.scopes], levels });
  copy.checkInputs(prefix.names.length === 0);
  return copy;
}

export function neededBy(routes: readonly AnyRoute[]): PreparedDependency[] {
  return routes.flatMap(({ dependencies }) => dependencies);
}

/** Folders are checked when the application starts. */
export function foldersOf(routes: readonly AnyRoute[]): FilesRoute[] {
  return routes.filter((route) => route instanceof FilesRoute);
}

export function isDocumented(route: AnyRoute): route is Route {
  return route instanceof Route && !route.options.hidden;
}

/** @throws {TypeError} If a handler is in the place of the options. */
function checkOrder(options: unknown, action: string): void {
  if (typeof options !== "function") return;
  throw new TypeError(`Cannot ${action}: the options come before the handler, write (path, options, handler)`);
}

/** The options for a further method of a route, without the unique names of operation and tool. */
function withoutNames({ operationId: _, ...options }: RouteDeclaration): RouteDeclaration {
  if (typeof options.tool !== "object" || options.tool === null) return options;
  // A copy would lose inherited members.
  const tool = Object.create(options.tool, { name: { value: undefined } });
  return { ...options, tool };
}

interface User {
  readonly action: string;
  readonly route?: string;
}

interface UsedCookie {
  readonly cookie: SessionCookieOf;
  readonly isMounted: boolean;
}

/** The session cookies of an application or a router, also those of mounted applications. */
export class SessionCookies {
  readonly #used: UsedCookie[] = [];

  get all(): readonly SessionCookieOf[] {
    return this.#used.map(({ cookie }) => cookie);
  }

  /**
   * Finds the sessions of dependencies, and of those that they need.
   *
   * @param mounted The cookies of a mounted application. Browsers send it only the cookies whose
   * paths cover its own, so the same name is no conflict elsewhere.
   * @throws {TypeError} If another session has the same cookie.
   */
  check(
    dependencies: Iterable<PreparedDependency>,
    { action, route }: User,
    mounted: readonly SessionCookieOf[] = [],
  ): readonly UsedCookie[] {
    const found: UsedCookie[] = [
      ...cookiesOf(dependencies).map((cookie) => ({ cookie, isMounted: false })),
      ...mounted.map((cookie) => ({ cookie, isMounted: true })),
    ];
    for (const [index, one] of found.entries()) {
      const other = [...this.#used, ...found.slice(0, index)].find((other) => isConflict(one, other));
      if (!other) continue;
      const user = route === undefined ? "" : `in ${route}, `;
      const { name, session } = one.cookie;
      throw new TypeError(
        `Cannot ${action}: ${user}the session "${session.name}" has the cookie of another session "${other.cookie.session.name}", ${name}, use one of them, or give one another name, cookie: { name: "admin" }`,
      );
    }
    return found;
  }

  add(found: readonly UsedCookie[]): void {
    for (const one of found) {
      const isKnown = this.#used.some(({ cookie, isMounted }) =>
        cookie.session === one.cookie.session && isMounted === one.isMounted
      );
      if (!isKnown) this.#used.push(one);
    }
  }
}

/** The cookies of dependencies, of those that they need, and of guards within them. */
function cookiesOf(dependencies: Iterable<PreparedDependency>): SessionCookieOf[] {
  const all = withNeeded<PreparedDependency>(dependencies, "inner");
  return [...all].flatMap(({ cookie }) => cookie ?? []);
}

function isConflict(
  { cookie: one, isMounted }: UsedCookie,
  { cookie: other, isMounted: isOtherMounted }: UsedCookie,
): boolean {
  if (one.name !== other.name || one.session === other.session) return false;
  const isInOneApplication = !isMounted && !isOtherMounted;
  return isInOneApplication || (isSentTo(one, other) && isOfDomain(one, other));
}

/** Whether browsers send both cookies to some path (RFC 6265, section 5.1.4). */
function isSentTo({ path: one }: SessionCookieOf, { path: other }: SessionCookieOf): boolean {
  const [above = "", below = ""] = one.length < other.length ? [one, other] : [other, one];
  return below === above || below.startsWith(above.endsWith("/") ? above : `${above}/`);
}

/** Whether browsers may send both cookies to some host. Without a domain, that is any host. */
function isOfDomain({ domain: one }: SessionCookieOf, { domain: other }: SessionCookieOf): boolean {
  if (one === undefined || other === undefined) return true;
  const [above = "", below = ""] = [one, other].map((domain) => `.${domain.replace(/^\./, "").toLowerCase()}`)
    .sort((a, b) => a.length - b.length);
  return below.endsWith(above);
}
