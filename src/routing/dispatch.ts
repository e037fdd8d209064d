/**
 * Finds the route of a request, and runs it. The precheck of a route comes before all middleware:
 * it checks the host, answers preflights, and checks the origin of a page.
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
import type { RequestRecorder } from "./recorder.ts";
import type { AnyRoute } from "./registry.ts";
import type { Route } from "./route.ts";
import { type Match, RouteTree, UPGRADE } from "./table.ts";
import { OpenWebSockets, WebSocketRoute } from "./websocket_route.ts";

/** The hosts and origins that an application accepts, and the proxies that it trusts. */
export interface PrecheckParts {
  /** Undefined for all hosts. */
  readonly hosts: HostList | undefined;
  /** Other origins whose pages may use the application. */
  readonly origins: OriginList;
  /** Lets pages of these origins read replies; undefined without origins. */
  readonly cors: Cors | undefined;
  readonly proxies: ProxyTrust;
}

interface DispatcherParts extends PrecheckParts, Omit<PipelineParts, keyof SharedWork> {
  readonly app: AppHandle;
  readonly routes: readonly AnyRoute[];
  readonly prefixes: readonly string[];
  /** The endpoints of the application itself, such as `/docs`. */
  readonly builtIns: readonly BuiltInRoute[];
  /** The application's middlewares. They wrap every reply, also a 404. */
  readonly middlewares: readonly Middleware[];
  readonly limits: ResolvedLimits;
}

export interface BuiltInRoute extends PlainHandler {
  /** The method; `*` for all methods that no other route has. */
  readonly method: string;
  readonly path: string;
  /** Undefined if the origins of the application decide. */
  readonly pages?: PagePolicy;
  /** Whether a guard protects it, so that shared caches may not store its replies. */
  readonly isPrivate?: boolean;
  /** Whether no middleware of the application runs, and no request is recorded: for its board. */
  readonly isApart?: boolean;
}

/** Which pages may use an endpoint, and read its replies. */
export interface PagePolicy {
  readonly precheck: Precheck;
  readonly cors: Cors | undefined;
}

/** The route of a request that did not come by its path. */
export interface Destination {
  readonly route: Route;
  readonly values: readonly string[];
}

export class Dispatcher {
  readonly #parts: DispatcherParts;
  #tree: RouteTree<ServedRoute> = new RouteTree();
  /** Folders of files, which come after all other routes; undefined without any. */
  #files: RouteTree<ServedRoute & { readonly route: FilesRoute }> | undefined;
  readonly #served = new Map<AnyRoute, ServedRoute>();
  #pipeline: PipelineParts;
  /** Undefined without a board. */
  #recorder: RequestRecorder | undefined;
  readonly #unmatched: MatchedRoute;
  readonly #hasWebSockets: boolean;
  readonly #precheckUnmatched: Precheck | undefined;
  readonly #finalize: ReplyStep;
  readonly #target: TargetCheck = new TargetCheck();
  readonly background: BackgroundTasks;
  readonly openSockets: OpenWebSockets;

  /**
   * Composes each route with its middlewares, once.
   *
   * @param shared The work of another dispatcher, to share with it.
   */
  constructor(parts: DispatcherParts, shared?: SharedWork) {
    const background = this.background = shared?.background ?? new BackgroundTasks();
    const openSockets = this.openSockets = shared?.openSockets ?? new OpenWebSockets();
    const { hosts, origins, cors } = parts;
    this.#parts = parts;
    this.#pipeline = { ...parts, background, openSockets };
    this.#finalize = finalizer(background, cors);
    this.#unmatched = { info: null, names: [], limits: parts.limits, isGuarded: false };
    this.#precheckUnmatched = inOrder([
      refuseOtherHosts(hosts),
      answerPreflight(cors, this.#methodsOf),
      checkOrigin(undefined, origins),
    ]);
    this.#hasWebSockets = parts.routes.some((route) => route instanceof WebSocketRoute);
    this.#compose();
  }

  /** Records all later requests. */
  recordBy(recorder: RequestRecorder): void {
    const toErrorReply = recorder.errors(this.#parts.toErrorReply);
    this.#recorder = recorder;
    this.#pipeline = { ...this.#pipeline, toErrorReply };
    this.#compose();
  }

  #compose(): void {
    const parts = this.#parts;
    const { hosts, origins, cors, builtIns, routes } = parts;
    const { background } = this;
    const { toErrorReply } = this.#pipeline;
    const recorder = this.#recorder;
    const methodsOf = this.#methodsOf;
    this.#tree = new RouteTree();
    this.#files = undefined;
    this.#served.clear();
    const privately = keepFromSharedCaches(this.#finalize);
    for (const route of routes) {
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
      const precheck = inOrder([
        nameSpan(isMount ? "*" : method, route.path),
        refuseOtherHosts(hosts),
        isOutOfReach ? answerPreflight(cors, methodsOf) : undefined,
        hasFreeOrigin ? undefined : checkOrigin(isMount ? undefined : method, pages),
      ]);
      const served: ServedRoute = {
        info: route,
        names: route.template.names,
        limits: route.limitsOver(parts.limits),
        isGuarded: binder.hasGuards,
        precheck,
        endpoint: routeEndpoint(route, this.#pipeline, finalize, "full"),
        guards: () => guards ??= routeEndpoint(route, this.#pipeline, finalize, "guards"),
        finalize,
        toErrorReply,
        ...(recorder && {
          recorded: {
            precheck: precheck && recorder.step("precheck", "", precheck),
            endpoint: routeEndpoint(route, { ...this.#pipeline, recorder }, finalize, "full"),
          },
        }),
      };
      this.#served.set(route, served);
      if (route instanceof FilesRoute) {
        this.#files ??= new RouteTree();
        for (const segments of route.patterns) this.#files.add(method, segments, { ...served, route });
        continue;
      }
      for (const segments of route.patterns) this.#tree.add(method, segments, served);
    }
    for (const { method, path, pages, isPrivate, isApart = false, ...plain } of builtIns) {
      const own = pages ? finalizer(background, pages.cors) : this.#finalize;
      const finalize = isPrivate ? keepFromSharedCaches(own) : own;
      const precheck = inOrder([
        nameSpan(method, path),
        refuseOtherHosts(hosts),
        ...pages ? [answerPreflight(pages.cors, methodsOf), pages.precheck] : [checkOrigin(method, origins)],
      ]);
      const served = this.#plain(plain, precheck, finalize, isApart);
      this.#tree.add(method, parsePath(path, "serve").segments, served);
    }
  }

  readonly #methodsOf = ({ raw }: HttpRequest): Iterable<string> => {
    const start = pathStart(raw.url);
    const end = pathEnd(raw.url, start);
    const methods = [...this.#tree.methodsOf(raw.url, start, end)];
    return this.#files ? [...methods, ...this.#files.methodsOf(raw.url, start, end)] : methods;
  };

  get routes(): readonly AnyRoute[] {
    return this.#parts.routes;
  }

  /** A dispatcher of the same application with other routes and endpoints. */
  with(routes: readonly AnyRoute[], builtIns: readonly BuiltInRoute[]): Dispatcher {
    const dispatcher = new Dispatcher({ ...this.#parts, routes, builtIns }, this);
    if (this.#recorder) dispatcher.recordBy(this.#recorder);
    return dispatcher;
  }

  /**
   * The route for a method and path; null for an endpoint of the application.
   *
   * @throws {HTTPError} If there is none.
   */
  routeOf(method: string, path: string): RouteInfo | null {
    return this.#tree.find(method, path).entry.info;
  }

  /**
   * Answers a request. It never rejects.
   *
   * @param info Undefined without a server.
   * @param call The agent's call that makes the request.
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
    const recorder = this.#recorder;
    const reply = recorder && !entry.isApart
      ? this.#runRecorded(recorder, context, request, entry)
      : runRoute(context, request, entry, "full");
    // A server removes the body itself, and needs it for the content length. Over HTTP/2, where
    // requests have no `host`, Deno (2.9) sends it, and clients refuse the reply.
    const isKept = method !== "HEAD" || (info !== undefined && raw.headers.has("host"));
    return isKept ? reply : reply.then(withoutBody);
  }

  #runRecorded(
    recorder: RequestRecorder,
    context: RequestContext,
    request: HttpRequest,
    entry: ServedRoute,
  ): Promise<Response> {
    const { info, recorded } = entry;
    if (!recorder.takes()) return recorder.count(context, info, () => runRoute(context, request, entry, "full"));
    const served = recorded ? { ...entry, ...recorded } : entry;
    return recorder.record(context, request, info, () => runRoute(context, request, served, "full"));
  }

  /** Adds CORS headers to a reply from before the start of the application. */
  withCors(raw: Request, response: Response): Response {
    this.#parts.cors?.stamp(raw, response);
    return response;
  }

  /**
   * Runs the middlewares, limits and guards of a route, and nothing else. It never rejects: errors
   * of limits and guards go to the call.
   *
   * @returns The refusal, 422 for invalid arguments, or 204.
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

  /** A folder that may have a file for a GET or HEAD without a route. */
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
    const fallingThrough = (endpoint: Endpoint): Endpoint => (request) => {
      contextOf(request).fallThrough = { refusal, isFree };
      return endpoint(request);
    };
    const { recorded } = served;
    const entry = {
      ...served,
      endpoint: fallingThrough(served.endpoint),
      ...(recorded && { recorded: { ...recorded, endpoint: fallingThrough(recorded.endpoint) } }),
    };
    return { entry, values };
  }

  /** Answers a refused request, inside the middlewares. */
  #unmatchedBy(refusal: unknown, precheck: Precheck | undefined): Match<ServedRoute> {
    return { entry: this.#plain({ handler: () => Promise.reject(refusal) }, precheck), values: [] };
  }

  #plain(
    { handler, authorize }: PlainHandler,
    precheck: Precheck | undefined,
    finalize: ReplyStep = this.#finalize,
    isApart = false,
  ): ServedRoute {
    const { toErrorReply } = this.#pipeline;
    const recorder = isApart ? undefined : this.#recorder;
    const endpointIn = (pipeline: PipelineParts) =>
      plainEndpoint({ handler, authorize }, isApart ? [] : this.#parts.middlewares, pipeline, finalize);
    const endpoint = endpointIn(this.#pipeline);
    const common = { precheck, endpoint, guards: () => endpoint, finalize, toErrorReply, isApart };
    if (!recorder) return { ...this.#unmatched, ...common };
    // Made for each refused request, too.
    const recorded = { precheck, endpoint: endpointIn({ ...this.#pipeline, recorder }) };
    return { ...this.#unmatched, ...common, recorded };
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

/** Methods that may be in the name of a span. */
const KNOWN_METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/**
 * Names the span of a request by its route; undefined without OpenTelemetry.
 *
 * @param method The method of the route; `*` for all.
 */
function nameSpan(method: string, path: string): Precheck | undefined {
  return tracing && ((request) => {
    const isKnown = method !== "*" || KNOWN_METHODS.has(request.method);
    tracing?.nameRequest(isKnown ? request.method : "HTTP", path === "" ? "/" : path);
  });
}

function refuseOtherHosts(hosts: HostList | undefined): Precheck | undefined {
  return hosts && ((request) => {
    const { host, peer } = contextOf(request);
    // Reading the headers checks the Host header against the list, too.
    const { headers } = request;
    if (hosts.hasAuthority(host) || isLocalRequest(headers, peer, host)) return;
    throw new HTTPError(421, 'This host is not served here: the option "hosts" of the App names those that are');
  });
}

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
 * Refuses requests from pages of other origins.
 *
 * @param method The method of the route; undefined if each request has its own.
 * @param origins Other origins whose pages are accepted.
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
