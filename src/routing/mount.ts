/** Mounts: handlers of the platform's requests that get everything below a path. */
import { load } from "../base/async_context.ts";
import type { None, SessionCookieOf } from "../binding/dependency.ts";
import type { Values } from "../binding/resolver.ts";
import { type ConnectionInfo, type Mounted, mountedOf, withMounted } from "../http/connection.ts";
import { makeLink } from "../http/link.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { RouteInfo } from "../http/route_info.ts";
import type { RouteDependencies } from "../idempotency/fingerprint.ts";
import { HTTPError, RouteError } from "../base/errors.ts";
import type { BackgroundTasks } from "../http/after_response.ts";
import type { Service } from "../base/service.ts";
import { type OptionNames, quote, readOptions } from "../base/options.ts";
import { countAgain } from "./route.ts";
import type { Segment } from "./path.ts";
import { type BaseRoute, Route, type RouteParts, routeParts } from "./route.ts";
import type { FreePrefix, PathNames } from "./route_options.ts";
import type { Scope } from "./scope.ts";
import { ANY_METHOD } from "./table.ts";
import type { OpenWebSockets } from "./websocket_route.ts";

/** The connection and the request of the application, for a mounted handler. */
export interface MountInfo<State = Record<string, unknown>> extends ConnectionInfo {
  /** The request as the application sees it: its state, path parameters and locals. */
  readonly request: HttpRequest<State>;
}

/**
 * A handler for `mount`: a function of the platform's `Request`, as other frameworks export it.
 *
 * @ignore
 */
export type MountedHandler<State = Record<string, unknown>> = (
  request: Request,
  info: MountInfo<State>,
) => Response | Promise<Response>;

export const MOUNTING: unique symbol = Symbol("webfw.mounting");

/** @ignore An application that another one can mount: an `App`. */
export interface MountableApp {
  /** @ignore */
  readonly [MOUNTING]: MountedApp;
}

export interface SharedWork {
  readonly background: BackgroundTasks;
  readonly openSockets: OpenWebSockets;
}

/** A mounted application, whose lifecycle is part of that of the application that mounts it. */
export interface MountedApp extends Service<unknown> {
  readonly fetch: (request: Request, info?: ConnectionInfo) => Promise<Response>;
  /** The applications that it mounts itself. */
  mounted(): readonly MountedApp[];
  /** The cookies of its sessions, and of those of its mounts. */
  sessionCookies(): readonly SessionCookieOf[];
  /**
   * Checks the sessions of its mounts again: more can be declared after a mount.
   *
   * @throws {TypeError} If two sessions have one cookie.
   */
  checkSessions(): void;
  /** Called if other workers of this process serve it, too. */
  expectWorkers(): void;
  reopen(): void;
  /** Answers webhooks in place of the network, in its mounts, too. */
  receiveWebhooks(receiver: ((request: Request) => Response | Promise<Response>) | undefined): void;
  /** Shares tasks and WebSockets with the application that mounts it. */
  join(outer: SharedWork): void;
  /** The option; empty without it. */
  readonly basePath: string;
  /** Where it serves the copies of a declared route, also in the applications that it mounts. */
  placesOf(declared: object): readonly Place[];
}

/** Where an application serves a route. */
export interface Place {
  readonly route: BaseRoute;
  /** With the prefixes of includes and mounts. */
  readonly path: string;
  /** That of a mounted application which has one of its own. */
  readonly basePath?: string | undefined;
}

/** Applications by their `fetch`: a mount gets it like a function of another framework. */
const applications = new WeakMap<object, MountedApp>();

export function registerMountable(app: MountedApp): void {
  applications.set(app.fetch, app);
}

export function mountedApps(routes: readonly BaseRoute[]): readonly MountedApp[] {
  const apps = routes.flatMap((route) => route instanceof MountRoute && route.app ? [route.app] : []);
  return [...new Set(apps)];
}

/**
 * Refuses an application that is mounted within itself: it would wait for its own start.
 *
 * @throws {RouteError} With code `conflict`.
 */
export function refuseMountInItself(app: MountedApp, within: readonly MountedApp[] = []): void {
  if (within.includes(app)) {
    throw new RouteError("conflict", "Cannot serve the App: it is mounted within itself, mount another one");
  }
  for (const inner of app.mounted()) refuseMountInItself(inner, [...within, app]);
}

/** Options of a mount. */
export interface MountOptions {
  /**
   * Whether the path of the mount is removed for the handler: `/hello` for `/other/hello`.
   *
   * @default {true}
   */
  strip?: boolean;
}

/**
 * Hands a path and everything below it, with any method, to a handler of the platform's `Request`,
 * such as another framework, or to another `App`.
 *
 * The middleware and the guards of the scopes run before it, and more specific routes come first.
 * The body is an unread stream without a limit of size. An `App` starts and stops with the
 * application that mounts it, and its WebSockets work; any other handler sees a WebSocket as a GET.
 *
 * @ignore
 */
export interface RegisterMount<State, Prefix extends string, Given = None> {
  /**
   * Mounts a handler.
   *
   * @param path The path. It may contain `{name}`, which the handler finds in
   * `info.request.params`.
   * @param handler Answers a request, or an `App`.
   * @param options Whether the handler sees the whole path.
   * @throws {TypeError} If the handler is neither a function nor an `App`, or an option is wrong.
   * @throws {RouteError} With code `conflict`, if a route has the path or takes all below it, or a
   * dependency has a name of the path; with code `path`, if the path is malformed; with code
   * `frozen` after the first request or include.
   */
  <const Path extends string>(
    path: FreePrefix<Path, PathNames<`${Prefix}${Path}`>, keyof Given>,
    handler: MountedHandler<State> | MountableApp,
    options?: MountOptions,
  ): void;
}

const MOUNT_OPTIONS: OptionNames<MountOptions> = { strip: true };

const OPTIONS: RouteInfo["options"] = { hidden: true };

export class MountRoute extends Route {
  readonly app: MountedApp | undefined;
  readonly #mounted: MountedHandler;
  readonly #strips: boolean;

  private constructor(parts: RouteParts, mounted: MountedHandler, strips: boolean) {
    const app = applications.get(mounted);
    super(parts, handlerOf(mounted, strips ? parts.template.segments.length : 0, app !== undefined));
    this.app = app;
    this.#mounted = mounted;
    this.#strips = strips;
  }

  /**
   * @param path The path with the prefix of the router; empty for the root.
   * @throws {TypeError} If the handler is neither a function nor an application, or an option is
   * wrong.
   * @throws {RouteError} If a name is bound twice.
   */
  static mount(path: string, given: unknown, options: MountOptions, scope: Scope): MountRoute {
    const action = `mount at "${path}"`;
    const { strip = true } = readOptions(options, MOUNT_OPTIONS, action);
    const mounted = isMountable(given) ? given[MOUNTING].fetch : given;
    if (typeof mounted !== "function") {
      throw new TypeError(
        `Cannot ${action}: the handler must be a function or an App, got ${quote(mounted)}; ${cureFor(mounted)}`,
      );
    }
    if (typeof strip !== "boolean") {
      throw new TypeError(`Cannot ${action}: "strip" must be true or false, got ${quote(strip)}`);
    }
    return new MountRoute(routeParts(ANY_METHOD, path, OPTIONS, "", scope, []), mounted as MountedHandler, strip);
  }

  override get path(): string {
    return this.template.text === "" ? "/" : this.template.text;
  }

  /** What the mounted application does not see of the path. */
  get prefix(): string {
    return this.#strips ? this.template.text : "";
  }

  override get name(): string {
    return `the mount ${this.path}`;
  }

  override get shapes(): readonly string[] {
    const { shape } = this.template;
    return [shape, `${shape}/`, `${shape}/{...}`];
  }

  override get patterns(): readonly (readonly Segment[])[] {
    const { segments } = this.template;
    return [segments, [...segments, { kind: "literal", text: "" }], [...segments, { kind: "rest", name: "" }]];
  }

  /** Where its application serves the copies of a declared route. */
  placesOf(declared: object): readonly Place[] {
    const { basePath = "", placesOf } = this.app ?? {};
    const places = placesOf?.(declared) ?? [];
    if (basePath !== "") return places.map((place) => ({ basePath, ...place }));
    const { prefix } = this;
    return places.map((place) => place.basePath === undefined ? { ...place, path: prefix + place.path } : place);
  }

  /** Stores the caller and the limits of a request for the mounted application. */
  keep(request: HttpRequest, values: Values): void {
    const context = contextOf(request);
    const { binder } = this.compiled;
    const outer = mountedOf(context.connection)?.countAgain;
    context.aroundMount = {
      callerOf: () => callerThroughMounts(request, values, binder),
      countAgain: this.isLimited
        ? async () => {
          await outer?.();
          await countAgain(request, values, this.compiled);
        }
        : outer,
    };
  }

  override with(changed: Partial<RouteParts>): MountRoute {
    return new MountRoute({ ...this.parts, ...changed }, this.#mounted, this.#strips);
  }
}

const NO_GUARDS: Pick<Mounted, "callerOf" | "countAgain"> = { callerOf: undefined, countAgain: undefined };

/**
 * Identifies the caller by the guards of the route, and by those around the mount: idempotency keys
 * belong to callers.
 */
export async function callerThroughMounts(
  request: HttpRequest,
  values: Values,
  route: RouteDependencies,
): Promise<string> {
  const { callerOf } = await load(() => import("../idempotency/fingerprint.ts"));
  const own = await callerOf(request, values, route);
  const outer = await mountedOf(contextOf(request).connection)?.callerOf?.();
  return outer === undefined ? own : JSON.stringify([outer, own]);
}

function cureFor(mounted: unknown): string {
  if (typeof mounted === "string") return "for a folder, use app.files";
  const isApplication = typeof mounted === "object" && mounted !== null && "fetch" in mounted;
  return isApplication ? "give its fetch, as in other.fetch" : "write (request) => new Response(…)";
}

export function isMountable(value: unknown): value is MountableApp {
  return typeof value === "object" && value !== null && MOUNTING in value;
}

interface Stripped {
  readonly platform: Request;
  readonly taken: string;
  readonly isWithoutSlash: boolean;
}

function handlerOf(
  mounted: MountedHandler,
  dropped: number,
  isApp: boolean,
): (request: HttpRequest) => Promise<Response> {
  return async (request) => {
    const stripped = strip(request, dropped);
    // Handlers that accept WebSockets would answer 101, and the connection is not theirs.
    if (!isApp) stripped.platform.headers.delete("upgrade");
    const response = await mounted(stripped.platform, infoOf(request, stripped));
    if (response instanceof Response) return response;
    throw new TypeError(`Cannot reply to ${request.route?.path}: the mounted handler returned ${quote(response)}`);
  };
}

/** Deno's object has getters, which a copy does not get. An unread `completed` costs nothing. */
function infoOf(request: HttpRequest, { taken, isWithoutSlash }: Stripped): MountInfo {
  const { connection, received, forwarded, basePath, hasServer, signIns, aroundMount } = contextOf(request);
  const { callerOf, countAgain } = aroundMount ?? mountedOf(connection) ?? NO_GUARDS;
  const mounted: Mounted = {
    basePath: basePath + taken,
    isWithoutSlash,
    forwarded,
    received,
    hasServer,
    signIns,
    callerOf,
    countAgain,
    link: (target, values, absolute) => makeLink(request, target, [values, { absolute }]),
  };
  if (!connection) return withMounted<MountInfo>({ request }, mounted);
  // A mapped type without "?" would lose undefined in projects without exactOptionalPropertyTypes.
  const info: {
    readonly remoteAddr: Deno.Addr | undefined;
    readonly completed: Promise<void> | undefined;
    readonly request: HttpRequest;
  } = {
    get remoteAddr() {
      return connection.remoteAddr;
    },
    get completed() {
      return connection.completed;
    },
    request,
  };
  return withMounted(info as MountInfo, mounted);
}

/**
 * Methods that a `Request` cannot have: `TRACE`, `TRACK`, `CONNECT`, and lower-case ones, some of
 * which it would capitalize.
 */
const NO_METHOD = /^(?:TRACE|TRACK|CONNECT)$|[a-z]/;

/** Headers of a compressed body. */
const OF_CODED_BODY = ["content-encoding", "content-length"];

/**
 * Removes the first segments of the path. The body becomes an unread stream.
 *
 * @throws {HTTPError} With 501, if a `Request` cannot have the method.
 */
function strip(request: HttpRequest, dropped: number): Stripped {
  if (NO_METHOD.test(request.method)) throw new HTTPError(501, "The method cannot be served here");
  const { raw, path, url: { origin } } = request;
  let start = 0;
  for (let left = dropped; left > 0 && start < path.length; left--) {
    const next = path.indexOf("/", start + 1);
    start = next < 0 ? path.length : next;
  }
  const { pathEnd, forwarded, body } = contextOf(request);
  const rest = path.slice(start) + raw.url.slice(pathEnd);
  const hasBody = raw.method !== "GET" && raw.method !== "HEAD" && raw.body !== null;
  const sent = hasBody ? body.forward() : undefined;
  const platform = new Request(origin + (rest.startsWith("/") ? rest : `/${rest}`), {
    method: raw.method,
    headers: raw.headers,
    body: sent?.body ?? null,
  });
  if (sent?.isDecompressed) { for (const name of OF_CODED_BODY) platform.headers.delete(name); }
  // The host of the URL: a proxy may name another one than the header has.
  if (forwarded?.host !== undefined) platform.headers.set("host", forwarded.host);
  // A listener on the signal of a server's request has a cost, so it is read on first use.
  Object.defineProperty(platform, "signal", { get: () => request.signal });
  return { platform, taken: path.slice(0, start), isWithoutSlash: start > 0 && start === path.length };
}
