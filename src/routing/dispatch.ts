/**
 * Finds the route of a request, and runs it. Before any middleware, a precheck that is composed for
 * each route checks the host, answers preflights, and checks the origin of a page.
 */
import { HTTPError, isHTTPError } from "../base/errors.ts";
import { isForOneCaller } from "../binding/levels.ts";
import { BackgroundTasks } from "../http/after_response.ts";
import type { AppHandle } from "../http/app_handle.ts";
import { type ConnectionInfo, LoggedConnection } from "../http/connection.ts";
import { type AgentCall, type MatchedRoute, RequestContext } from "../http/context.ts";
import type { Cors } from "../http/cors.ts";
import { type HostList, TargetCheck } from "../http/host.ts";
import type { ResolvedLimits } from "../http/limits.ts";
import { isSafe, type OriginList, refuseCrossOrigin } from "../http/origin.ts";
import { isLocalRequest, type ProxyTrust } from "../http/proxy.ts";
import { pathEnd, pathStart, resolveUnreserved } from "../http/query.ts";
import { withoutBody } from "../http/reply.ts";
import { contextOf, HttpRequest } from "../http/request.ts";
import type { RouteInfo } from "../http/route_info.ts";
import { asksForWebSocket } from "../http/websocket/handshake.ts";
import { tracing } from "../log/telemetry.ts";
import { FilesRoute } from "./files.ts";
import type { Endpoint, Middleware, ReplyStep } from "./middleware.ts";
import { MountRoute, type SharedWork } from "./mount.ts";
import { parsePath } from "./path.ts";
import {
  finalizer,
  keepFromSharedCaches,
  type PipelineParts,
  plainEndpoint,
  type PlainHandler,
  type Precheck,
  routeEndpoint,
  runRoute,
  type ServedRoute,
} from "./pipeline.ts";
import type { AnyRoute } from "./registry.ts";
import type { Route } from "./route.ts";
import { type Match, RouteTree, UPGRADE } from "./table.ts";
import { OpenWebSockets, WebSocketRoute } from "./websocket_route.ts";

/** The hosts and origins that an application accepts, and the proxies that it trusts. */
export interface PrecheckParts {
  /** The hosts that it answers to; undefined for all. */
  readonly hosts: HostList | undefined;
  /** The other origins whose pages may use it. */
  readonly origins: OriginList;
  /** Lets pages of these origins read replies; undefined if there are none. */
  readonly cors: Cors | undefined;
  readonly proxies: ProxyTrust;
}

/** What a dispatcher needs. */
interface DispatcherParts extends PrecheckParts, Omit<PipelineParts, keyof SharedWork> {
  readonly app: AppHandle;
  readonly routes: readonly AnyRoute[];
  /** The prefixes of routers and includes. */
  readonly prefixes: readonly string[];
  /** The application's own routes, such as `/docs`. */
  readonly builtIns: readonly BuiltInRoute[];
  /** The application's middlewares. They wrap every reply, also a 404. */
  readonly middlewares: readonly Middleware[];
  readonly limits: ResolvedLimits;
}

/** A route of the application itself. */
export interface BuiltInRoute extends PlainHandler {
  /** The method; `*` for all methods that no other route has. */
  readonly method: string;
  readonly path: string;
  /** The pages that may use it; undefined if the origins of the application decide. */
  readonly pages?: PagePolicy;
  /** Whether a guard decides who gets its replies, so that shared caches may not keep them. */
  readonly isPrivate?: boolean;
}

/** Which pages may use an endpoint, and read its replies. */
export interface PagePolicy {
  readonly precheck: Precheck;
  readonly cors: Cors | undefined;
}

/** The route of a request that has not come by its path. */
export interface Destination {
  readonly route: Route;
  /** The decoded values of the path's parameters; empty if they are invalid. */
  readonly values: readonly string[];
}

/** Dispatches the requests of one application. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #tree: RouteTree<ServedRoute> = new RouteTree();
  /**
   * The routes for paths that the other tree does not have; undefined if the application serves no
   * files.
   */
  #files: RouteTree<ServedRoute & { readonly route: FilesRoute }> | undefined;
  readonly #served = new Map<AnyRoute, ServedRoute>();
  readonly #pipeline: PipelineParts;
  readonly #unmatched: MatchedRoute;
  readonly #hasWebSockets: boolean;
  readonly #precheckUnmatched: Precheck | undefined;
  /** The last step of replies, unless an endpoint has its own. */
  readonly #finalize: ReplyStep;
  readonly #target: TargetCheck = new TargetCheck();
  readonly background: BackgroundTasks;
  /** The open WebSockets. */
  readonly openSockets: OpenWebSockets;

  /**
   * Composes each route with its middlewares, once.
   *
   * @param shared What is under way in another dispatcher. Both keep it together.
   */
  constructor(parts: DispatcherParts, shared?: SharedWork) {
    const background = this.background = shared?.background ?? new BackgroundTasks();
    const openSockets = this.openSockets = shared?.openSockets ?? new OpenWebSockets();
    const { hosts, origins, cors } = parts;
    this.#parts = parts;
    this.#pipeline = { ...parts, background, openSockets };
    this.#finalize = finalizer(background, cors);
    this.#unmatched = { info: null, names: [], limits: parts.limits, isGuarded: false };
    const methodsOf = ({ raw }: HttpRequest) => {
      const start = pathStart(raw.url);
      const end = pathEnd(raw.url, start);
      const methods = [...this.#tree.methodsOf(raw.url, start, end)];
      return this.#files ? [...methods, ...this.#files.methodsOf(raw.url, start, end)] : methods;
    };
    this.#precheckUnmatched = inOrder([
      refuseOtherHosts(hosts),
      answerPreflight(cors, methodsOf),
      checkOrigin(undefined, origins),
    ]);
    this.#hasWebSockets = parts.routes.some((route) => route instanceof WebSocketRoute);
    const privately = keepFromSharedCaches(this.#finalize);
    for (const route of parts.routes) {
      const { compiled: { binder }, levels } = route;
      const finalize = isForOneCaller(levels) ? privately : this.#finalize;
      const isSocket = route instanceof WebSocketRoute;
      const method = isSocket ? UPGRADE : route.method;
      const pages = isSocket ? origins.named.with(route.plan.origins) : origins;
      const isMount = route instanceof MountRoute;
      // A preflight has no credentials, so it would not get past guards to a handler that answers
      // it.
      const isOutOfReach = (isMount || method === "OPTIONS") && binder.hasGuards;
      const hasFreeOrigin = route.crossOrigin || (isSocket && pages.isOpen);
      let guards: Endpoint | undefined;
      const served: ServedRoute = {
        info: route,
        names: route.template.names,
        limits: route.limitsOver(parts.limits),
        isGuarded: binder.hasGuards,
        precheck: inOrder([
          nameSpan(isMount ? "*" : method, route.path),
          refuseOtherHosts(hosts),
          isOutOfReach ? answerPreflight(cors, methodsOf) : undefined,
          hasFreeOrigin ? undefined : checkOrigin(isMount ? undefined : method, pages),
        ]),
        endpoint: routeEndpoint(route, this.#pipeline, finalize, "full"),
        guards: () => guards ??= routeEndpoint(route, this.#pipeline, finalize, "guards"),
        finalize,
        toErrorReply: parts.toErrorReply,
      };
      this.#served.set(route, served);
      if (route instanceof FilesRoute) {
        this.#files ??= new RouteTree();
        for (const segments of route.patterns) this.#files.add(method, segments, { ...served, route });
        continue;
      }
      for (const segments of route.patterns) this.#tree.add(method, segments, served);
    }
    for (const { method, path, pages, isPrivate, ...plain } of parts.builtIns) {
      const finalize = pages ? finalizer(background, pages.cors) : isPrivate ? privately : this.#finalize;
      const precheck = inOrder([
        nameSpan(method, path),
        refuseOtherHosts(hosts),
        ...pages ? [answerPreflight(pages.cors, methodsOf), pages.precheck] : [checkOrigin(method, origins)],
      ]);
      this.#tree.add(method, parsePath(path, "serve").segments, this.#plain(plain, precheck, finalize));
    }
  }

  /** The routes of the application. */
  get routes(): readonly AnyRoute[] {
    return this.#parts.routes;
  }

  /**
   * Makes a dispatcher of the same application with other routes.
   *
   * @param builtIns The application's own routes over the new dispatcher.
   */
  with(routes: readonly AnyRoute[], builtIns: readonly BuiltInRoute[]): Dispatcher {
    return new Dispatcher({ ...this.#parts, routes, builtIns }, this);
  }

  /**
   * The route for a method and path; null for one of the application's own.
   *
   * @throws {HTTPError} If there is no route.
   */
  routeOf(method: string, path: string): RouteInfo | null {
    return this.#tree.find(method, path).entry.info;
  }

  /**
   * Answers a request. It never rejects.
   *
   * @param info The connection; undefined without a server.
   * @param call The call of an agent that the request belongs to.
   */
  dispatch(
    raw: Request,
    state: Readonly<Record<string, unknown>>,
    info: ConnectionInfo | undefined,
    call?: AgentCall,
  ): Promise<Response> {
    const { url, method } = raw;
    let end: number;
    let match: Match<ServedRoute>;
    let precheck: Precheck | undefined;
    // Another function for this would cost each request several nanoseconds.
    try {
      const start = this.#target.check(raw, info);
      end = pathEnd(url, start);
      precheck = this.#precheckUnmatched;
      // Reading a header costs as much as finding a route, so it is read only if it matters.
      const isUpgrade = this.#hasWebSockets && method === "GET" && asksForWebSocket(raw);
      match = this.#tree.find(isUpgrade ? UPGRADE : method, url, start, end);
    } catch (refusal) {
      end = pathEnd(url, pathStart(url));
      match = this.#fileFor(raw, refusal, end) ?? this.#unmatchedBy(refusal, precheck);
    }
    const { entry, values } = match;
    const { app, proxies } = this.#parts;
    this.background.requests++;
    const context = new RequestContext(raw, app, entry, values, end, info, proxies, call);
    if (info instanceof LoggedConnection) info.context = context;
    const request = new HttpRequest(context, state);
    const reply = runRoute(context, request, entry, "full");
    // A server removes the body itself, and needs it for the content length. Over HTTP/2, where
    // requests have no `host`, Deno (2.9) sends it, and clients refuse the reply.
    const isKept = method !== "HEAD" || (info !== undefined && raw.headers.has("host"));
    return isKept ? reply : reply.then(withoutBody);
  }

  /** Adds the CORS headers to a new reply that was made before the application served. */
  withCors(raw: Request, response: Response): Response {
    this.#parts.cors?.stamp(raw, response);
    return response;
  }

  /**
   * Runs the middlewares, limits and guards of a route, and nothing else. It never rejects. What a
   * limit or a guard throws goes to the call.
   *
   * @returns The reply of what refuses the request, 422 for the faults of its arguments, or 204.
   */
  evaluateGuards(
    raw: Request,
    { route, values }: Destination,
    state: Readonly<Record<string, unknown>>,
    info: ConnectionInfo | undefined,
    call: AgentCall,
  ): Promise<Response> {
    const served = this.#served.get(route)!;
    const { app, proxies } = this.#parts;
    this.background.requests++;
    const end = pathEnd(raw.url, pathStart(raw.url));
    const context = new RequestContext(raw, app, served, values, end, info, proxies, call);
    return runRoute(context, new HttpRequest(context, state), served, "guards");
  }

  /** The folder that may have a file for a GET or HEAD that no route answers. */
  #fileFor({ url, method }: Request, refusal: unknown, end: number): Match<ServedRoute> | undefined {
    if (!this.#files || (method !== "GET" && method !== "HEAD")) return undefined;
    if (!isHTTPError(refusal) || (refusal.status !== 404 && refusal.status !== 405)) return undefined;
    const start = pathStart(url);
    let found: Match<ServedRoute & { readonly route: FilesRoute }>;
    try {
      found = this.#files.find(method, url, start, end);
    } catch {
      return undefined;
    }
    const { entry: { route, ...served }, values } = found;
    const isFree = !route.isBelow(this.#parts.prefixes, resolveUnreserved(url.slice(start, end)));
    const endpoint: Endpoint = (request) => {
      contextOf(request).fallThrough = { refusal, isFree };
      return served.endpoint(request);
    };
    return { entry: { ...served, endpoint }, values };
  }

  /** What serves a request that is refused. */
  #unmatchedBy(refusal: unknown, precheck: Precheck | undefined): Match<ServedRoute> {
    return { entry: this.#plain({ handler: () => Promise.reject(refusal) }, precheck), values: [] };
  }

  /** Wraps a handler that belongs to no route in the application's middlewares. */
  #plain(
    { handler, authorize }: PlainHandler,
    precheck: Precheck | undefined,
    finalize: ReplyStep = this.#finalize,
  ): ServedRoute {
    const { middlewares, toErrorReply } = this.#parts;
    const endpoint = plainEndpoint({ handler, authorize }, middlewares, this.#pipeline, finalize);
    return { ...this.#unmatched, precheck, endpoint, guards: () => endpoint, finalize, toErrorReply };
  }
}

/** Composes checks; undefined without any. */
function inOrder(steps: readonly (Precheck | undefined)[]): Precheck | undefined {
  const all = steps.filter((step) => step !== undefined);
  if (all.length < 2) return all[0];
  return (request) => {
    for (const step of all) {
      const reply = step(request);
      if (reply) return reply;
    }
    return undefined;
  };
}

/**
 * Methods that clients may send to a route for all methods. A span has no other one in its name.
 */
const KNOWN_METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * Names the span of a request by its route; undefined where OpenTelemetry is off.
 *
 * @param method The method of the route; `*` for all.
 */
function nameSpan(method: string, path: string): Precheck | undefined {
  return tracing && ((request) => {
    const isKnown = method !== "*" || KNOWN_METHODS.has(request.method);
    tracing?.nameRequest(isKnown ? request.method : "HTTP", path === "" ? "/" : path);
  });
}

/** Refuses hosts that are not in the list. */
function refuseOtherHosts(hosts: HostList | undefined): Precheck | undefined {
  return hosts && ((request) => {
    const { host, peer } = contextOf(request);
    // Reading the headers checks that the list holds for the Host header, too.
    const { headers } = request;
    if (hosts.hasAuthority(host) || isLocalRequest(headers, peer, host)) return;
    throw new HTTPError(421, 'This host is not served here: the option "hosts" of the App names those that are');
  });
}

/** Answers preflights by the methods of their paths. */
function answerPreflight(
  cors: Cors | undefined,
  methodsOf: (request: HttpRequest) => Iterable<string>,
): Precheck | undefined {
  return cors && ((request) => {
    if (request.method !== "OPTIONS") return;
    return cors.preflight(request.raw.headers, () => methodsOf(request));
  });
}

/**
 * Refuses what comes from pages of other origins.
 *
 * @param method The method of the route; undefined if it is known with the request only.
 * @param origins The other origins whose pages may ask.
 */
function checkOrigin(method: string | undefined, origins: OriginList): Precheck | undefined {
  if (method === undefined) {
    return (request) => {
      if (!isSafe(request.method) || asksForWebSocket(request.raw)) {
        refuseCrossOrigin(request.raw, contextOf(request).host, origins);
      }
    };
  }
  return isSafe(method) ? undefined : (request) => refuseCrossOrigin(request.raw, contextOf(request).host, origins);
}
