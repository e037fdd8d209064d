/** Where an application shows its board, and who may see it. The board itself is loaded late. */
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import type { Service } from "../base/service.ts";
import { HTTPError, RouteError } from "../base/errors.ts";
import { type DependencyLike, type PreparedDependency, toDependencies } from "../binding/dependency.ts";
import { checkInputs, NO_INPUTS } from "../binding/inputs.ts";
import type { Replacements } from "../binding/replacements.ts";
import type { AppHandle } from "../http/app_handle.ts";
import { type Fetch, LoggedConnection } from "../http/connection.ts";
import { isSafe, OriginList, refuseCrossOrigin } from "../http/origin.ts";
import { isLocalRequest } from "../http/proxy.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { describeError, log } from "../log/log.ts";
import type { RateLimiters } from "../rate_limit/limiter.ts";
import type { Dispatcher } from "../routing/dispatch.ts";
import { type MountedApp, MountRoute } from "../routing/mount.ts";
import { parsePath } from "../routing/path.ts";
import type { RequestRecorder } from "../routing/recorder.ts";
import type { AnyRoute } from "../routing/registry.ts";
import { compileRoute } from "../routing/route.ts";
import { toLevel } from "../routing/scope.ts";
import { ANY_METHOD } from "../routing/table.ts";
import type { Topics } from "../topics/topics.ts";
import type { Crons } from "../work/cron/crons.ts";
import type { BuiltIn } from "./built_in.ts";

/**
 * The board of an application in production: requests, messages and work, for users that its guards
 * accept.
 *
 * It shows the nodes that share the store, with their topics, consumers and crons, and the requests
 * of the node that serves the page: their paths, headers without secrets, errors and log entries.
 *
 * @example A board for the staff
 * ```ts
 * import { App } from "@webfw/core";
 * import { basic, equal } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const admin = basic(async (name, password) => equal(password, "secret") && name, { realm: "Board" });
 * const app = new App({ board: { url: "/board", deps: { admin } } });
 *
 * const ask = async (headers: HeadersInit) => {
 *   const response = await app.fetch(new Request("http://localhost/board/", { headers }));
 *   await response.body?.cancel();
 *   return response.status;
 * };
 * assertEquals(await ask({}), 401);
 * assertEquals(await ask({ authorization: `Basic ${btoa("Ada:secret")}` }), 200);
 * await app.stop();
 * ```
 */
export interface BoardOptions<State = Record<string, unknown>> {
  /**
   * The path of the board. Everything below it belongs to the board.
   *
   * @default {"/board"}
   */
  url?: string;
  /** Guards of the board, at least one. The log names them with each action. */
  deps: Readonly<Record<string, DependencyLike<unknown, NoInfer<State>>>>;
  /**
   * Whether the board only shows, and changes nothing: no publishing, retry, pause or run.
   *
   * @default {true}
   */
  readOnly?: boolean;
}

const OPTIONS: OptionNames<BoardOptions> = { url: true, deps: true, readOnly: true };

/** One of the places where an application shows its board. */
export interface Entrance {
  readonly url: string;
  readonly deps: ReadonlyMap<string, PreparedDependency>;
  readonly readOnly: boolean;
  /** Whether only clients on this machine may enter. */
  readonly isLocal: boolean;
}

/** Where `webfw run --reload` shows the board. */
const LOCAL: Entrance = { url: "/_board", deps: new Map(), readOnly: false, isLocal: true };

/** A request of the board that its entrance accepts. */
export interface Visit {
  /** Below the path of the board, with a slash and the query. */
  readonly target: string;
  /** For the log. */
  readonly by: string;
  readonly readOnly: boolean;
  /** Whether its client is on this machine, and may see bodies and send requests again. */
  readonly isLocal: boolean;
  /** The path of the application, for links out of the board. */
  readonly basePath: string;
}

/** An application that a board shows: its own, or one that is mounted there. */
export interface ShownApp {
  /** Where it is mounted; empty for the application itself. */
  readonly at: string;
  /** What is before the paths of its routes. */
  readonly prefix: string;
  /** The mounts around it. */
  readonly mounts: readonly AnyRoute[];
  readonly app: AppHandle;
  readonly topics: Topics;
  readonly crons: Pick<Crons<never>, "report" | "runNow" | "upcoming">;
  readonly routes: readonly AnyRoute[];
}

export interface BoardTarget {
  readonly app: AppHandle & { readonly fetch: Fetch };
  /** The application, and those that are mounted in it, each once. */
  readonly apps: readonly ShownApp[];
  readonly openSockets: () => number;
  /** Whether credentials are kept in memory, to send requests again. */
  readonly isLocal: boolean;
}

export interface OpenBoard {
  readonly recorder: RequestRecorder & {
    /** For the applications that are mounted. */
    readonly mounted: RequestRecorder;
  };
  answer(request: HttpRequest, visit: Visit): Promise<Response>;
  /** Ends its streams. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Loads the board, which is made with the App and so above it. */
type LoadBoard = () => Promise<{ readonly openBoard: (target: BoardTarget) => Promise<OpenBoard> }>;

let loadBoard: LoadBoard | undefined;

/** The entry point connects the board. */
export function provideBoard(load: LoadBoard): void {
  loadBoard = load;
}

/**
 * Checks the option `board` of an application.
 *
 * @throws {TypeError} If an option is unknown or wrong, or there are no guards.
 * @throws {RouteError} If the path cannot be parsed.
 */
export function readBoard<State>(options: BoardOptions<State> | undefined): Entrance | undefined {
  if (options === undefined) return undefined;
  checkOptions(options, OPTIONS as OptionNames<BoardOptions<State>>, "make the App", "board.");
  const { url = "/board", readOnly = true } = options;
  if (typeof readOnly !== "boolean") {
    throw new TypeError(`Cannot make the App: "board.readOnly" must be true or false, got ${quote(readOnly)}`);
  }
  const isPath = typeof url === "string" && url.startsWith("/") && !url.endsWith("/");
  if (!isPath || parsePath(url, "set board.url").names.length > 0) {
    throw new TypeError(
      `Cannot make the App: "board.url" must be a path without parameters and without a slash at its end, such as "/board", got ${
        quote(url)
      }`,
    );
  }
  const deps = toDependencies(options.deps);
  if (deps.size === 0) {
    throw new TypeError(
      'Cannot make the App: "board.deps" must have a guard, since the board shows requests and messages, write board: { deps: { admin } }',
    );
  }
  return { url, deps, readOnly, isLocal: false };
}

interface BoardHostParts extends Pick<BoardTarget, "app" | "openSockets">, Pick<ShownApp, "topics" | "crons"> {
  readonly routes: () => readonly AnyRoute[];
  readonly declared: Entrance | undefined;
  readonly dispatcher: () => Dispatcher;
}

/** By what their applications mount. */
const hosts = new WeakMap<MountedApp, BoardHost>();

/** The board of an application that mounts this one shows it, too. */
export function registerBoardHost(mounted: MountedApp, host: BoardHost): void {
  hosts.set(mounted, host);
}

/** The board of an application. Nothing is loaded or recorded without an entrance. */
export class BoardHost implements Service {
  readonly #parts: BoardHostParts;
  #hasLocal = false;
  #open: OpenBoard | undefined;

  constructor(parts: BoardHostParts) {
    this.#parts = parts;
  }

  get isOn(): boolean {
    return this.#hasLocal || this.#parts.declared !== undefined;
  }

  /** @throws {RouteError} If a route has the path for clients on this machine, or one below it. */
  checkLocalPath(routes: readonly AnyRoute[]): void {
    const taken = routes.find(({ path }) => path === LOCAL.url || path.startsWith(`${LOCAL.url}/`));
    if (!taken) return;
    throw new RouteError(
      "conflict",
      `Cannot show the board at "${LOCAL.url}": ${taken.name} is there, give the route another path`,
    );
  }

  /** Also shows the board to clients on this machine, and returns its path. */
  showLocally(): string {
    this.#hasLocal = true;
    return LOCAL.url;
  }

  /** The endpoints that the option `board` declares. */
  endpoints(limiters: RateLimiters, replacements?: Replacements): readonly BuiltIn[] {
    const { declared } = this.#parts;
    if (!declared) return [];
    return this.#endpointsOf({ ...declared, deps: replacements?.ofAll(declared.deps) ?? declared.deps }, limiters);
  }

  /** The endpoints for clients on this machine. */
  localEndpoints(limiters: RateLimiters): readonly BuiltIn[] {
    return this.#hasLocal ? this.#endpointsOf(LOCAL, limiters) : [];
  }

  async start(): Promise<void> {
    if (!this.isOn || this.#open) return;
    if (!loadBoard) throw new Error("Cannot show the board: the App was not imported from @webfw/core");
    const { openBoard } = await loadBoard();
    const { app, openSockets } = this.#parts;
    const shown = this.#shownFrom({ at: "", prefix: "", mounts: [] });
    const open = this.#open = await openBoard({ app, apps: [...shown.values()], openSockets, isLocal: this.#hasLocal });
    this.#parts.dispatcher().recordBy(open.recorder);
    for (const host of shown.keys()) if (!host.isOn) host.#parts.dispatcher().recordBy(open.recorder.mounted);
  }

  /** Where an application is mounted twice, the first place counts. */
  #shownFrom(
    place: Pick<ShownApp, "at" | "prefix" | "mounts">,
    found: Map<BoardHost, ShownApp> = new Map(),
  ): ReadonlyMap<BoardHost, ShownApp> {
    const { app, topics, crons } = this.#parts;
    const routes = this.#parts.routes();
    if (found.has(this)) return found;
    found.set(this, { ...place, app, topics, crons, routes });
    for (const route of routes) {
      const host = route instanceof MountRoute && route.app ? hosts.get(route.app) : undefined;
      if (!host) continue;
      const { path, prefix } = route as MountRoute;
      host.#shownFrom(
        { at: place.prefix + path, prefix: place.prefix + prefix, mounts: [...place.mounts, route] },
        found,
      );
    }
    return found;
  }

  async drain(): Promise<void> {
    await this.#open?.drain();
  }

  abort(): void {}

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    // It only shows: its failure must not keep an application from closing its stores.
    await open?.close().catch((error) => log("warn", "The board did not close", { error: describeError(error) }));
  }

  #endpointsOf(entrance: Entrance, limiters: RateLimiters): BuiltIn[] {
    const { url, deps, isLocal } = entrance;
    const identify = identifyBy(deps, limiters);
    const handler = async (request: HttpRequest): Promise<Response> => {
      const { connection, raw, pathEnd, basePath } = contextOf(request);
      if (connection instanceof LoggedConnection) connection.isLogged = false;
      const by = await identify(request);
      if (!this.#open) throw new HTTPError(503, "The board is not open");
      const below = request.path.slice(url.length);
      // The URLs of the page are relative to a folder.
      if (below === "") return new Response(null, { status: 308, headers: { location: `./${lastOf(url)}/` } });
      const target = below + raw.url.slice(pathEnd);
      return await this.#open.answer(request, { target, by, readOnly: entrance.readOnly, isLocal, basePath });
    };
    const pages = { precheck: isLocal ? refuseOthers : refusePages, cors: undefined };
    const common = { method: ANY_METHOD, handler, pages, isPrivate: true, isApart: true };
    return [url, `${url}/`, `${url}/{path...}`].map((path) => ({
      ...common,
      path,
      what: "its board",
      option: "board.url",
    }));
  }
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Pages of other origins must not use the board, whatever `origins` of the application says. They
 * could not read a reply, but open its streams. A link to the board may be anywhere.
 */
function refusePages(request: HttpRequest): void {
  const isLink = isSafe(request.method) && request.raw.headers.get("sec-fetch-mode") === "navigate";
  if (!isLink) refuseCrossOrigin(request.raw, contextOf(request).host, OriginList.none);
}

/**
 * Refuses all but clients on this machine. The host is checked because of pages that rebind their
 * name to a loopback address.
 */
function refuseOthers(request: HttpRequest): void {
  const { host, peer } = contextOf(request);
  if (!isLocalRequest(request.headers, peer, host)) throw new HTTPError(404, "Not found");
  refusePages(request);
}

/** Runs the guards, and names the caller for the log. */
function identifyBy(
  deps: ReadonlyMap<string, PreparedDependency>,
  limiters: RateLimiters,
): (request: HttpRequest) => Promise<string> {
  if (deps.size === 0) return async () => "this machine";
  const levels = [toLevel(deps, []), toLevel(new Map(), [])];
  checkInputs(NO_INPUTS, [], levels, "the board");
  const { authorize, binder } = compileRoute({ inputs: NO_INPUTS, pathNames: [], name: "board", levels, limiters });
  return async (request) => {
    const values = await authorize!(request);
    const names = Array.from(deps, ([name, guard]) => {
      const value = binder.isSingle ? values : (values as readonly unknown[])[binder.indices.get(guard)!];
      const user = nameOf(value, guard);
      return user === undefined ? name : `${name} ${user}`;
    });
    return names.join(", ");
  };
}

/**
 * The name of a user, as guards usually give it. A string may be a secret, except with passwords.
 */
function nameOf(value: unknown, { security }: PreparedDependency): string | undefined {
  const isBasic = security.flatMap((way) => [...way.values()]).some(({ scheme }) =>
    scheme.type === "http" && scheme.scheme.toLowerCase() === "basic"
  );
  if (typeof value === "string") return isBasic ? value.slice(0, 100) : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const key of ["name", "login", "email", "sub", "id"]) {
    const name: unknown = Reflect.get(value, key);
    if (typeof name === "string" || typeof name === "number") return String(name).slice(0, 100);
  }
  return undefined;
}
