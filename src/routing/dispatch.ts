/** Takes a request to its reply: finds the route, and runs its middlewares and its handler. */
import { isAsyncGeneratorFunction } from "../binding/dependency.ts";
import { isForOneCaller } from "../binding/guards.ts";
import { isHTTPError, type Issue, ValidationError } from "../base/errors.ts";
import type { AppHandle } from "../http/app_handle.ts";
import { type AgentCall, type MatchedRoute, RequestContext } from "../http/context.ts";
import { contextOf, HttpRequest } from "../http/request.ts";
import { BackgroundTasks, runAfterResponse } from "../http/after_response.ts";
import { type ConnectionInfo, LoggedConnection } from "../http/connection.ts";
import { HostCheck } from "../http/host.ts";
import type { Cors } from "../http/cors.ts";
import type { ResolvedLimits } from "../http/limits.ts";
import { ownReply } from "../http/own_reply.ts";
import { placeHeaders, placeRateLimit, toReply, withoutBody } from "../http/reply.ts";
import { isDeclaredReply } from "../http/replies/declared_reply.ts";
import { mapValues, type Reduce, reducerTo } from "../http/replies/model.ts";
import { ChosenReply } from "../http/replies/replies.ts";
import { replierOf } from "../http/replies/replier.ts";
import { EventStream } from "../http/sse/sse.ts";
import type { Stopping } from "../http/stream_reply.ts";
import { asksForWebSocket } from "../http/websocket/handshake.ts";
import { FilesRoute } from "./files.ts";
import { MountRoute, type SharedWork } from "./mount.ts";
import { keepCaller } from "./mount_caller.ts";
import { keepLimits } from "./mount_limits.ts";
import { OpenWebSockets, webSocketEndpoint, WebSocketRoute } from "./websocket_route.ts";
import { pathEnd, pathStart, resolveUnreserved } from "../http/query.ts";
import type { RouteInfo } from "../http/route_info.ts";
import {
  admission,
  type AdmissionParts,
  type Admit,
  admitHost,
  admitPages,
  admitPreflight,
  nameSpan,
} from "./admission.ts";
import { idempotentAnswer } from "./idempotent_answer.ts";
import { compose, type Endpoint, type ErrorBoundary, type Middleware, type ReplyStep } from "./middleware.ts";
import { parsePath } from "./path.ts";
import type { AnyRoute } from "./registry.ts";
import type { Route, TokenAdviceOf } from "./route.ts";
import { type Match, RouteTree, UPGRADE } from "./table.ts";

/** What a dispatcher needs. */
interface DispatcherParts extends AdmissionParts {
  readonly app: AppHandle;
  readonly routes: readonly AnyRoute[];
  /** The prefixes of routers and includes. */
  readonly prefixes: readonly string[];
  /** The application's own routes, such as `/docs`. */
  readonly builtIns: readonly BuiltInRoute[];
  /** The application's middlewares. They wrap every reply, also a 404. */
  readonly middlewares: readonly Middleware[];
  readonly limits: ResolvedLimits;
  readonly toErrorReply: ErrorBoundary;
  /** Gives the signal that is aborted when the server stops. */
  readonly stopping: Stopping;
  /** What the challenges of a route tell a client that needs a token. */
  readonly tokenAdvice: TokenAdviceOf;
}

/** A route of the application itself. */
export interface BuiltInRoute {
  /** The method; `*` for all methods that no other route has. */
  readonly method: string;
  readonly path: string;
  readonly handler: (request: HttpRequest) => Promise<Response>;
  /** The pages that may use it, where the application's lists do not decide that. */
  readonly pages?: PagePolicy;
  /** Whether a guard decides who gets its replies, so that shared caches may not keep them. */
  readonly isPrivate?: boolean;
}

/** Which pages may use an endpoint, and read its replies. */
export interface PagePolicy {
  readonly admit: Admit;
  readonly cors: Cors | undefined;
}

/** The route of a request that has not come by its path. */
export interface Destination {
  readonly route: Route;
  /** The decoded values of the path's parameters; empty if they are invalid. */
  readonly values: readonly string[];
}

/** Invalid input that was found before the request came to its route. */
export interface Refusal extends Destination {
  readonly issues: readonly Issue[];
}

interface Served {
  readonly matched: MatchedRoute;
  readonly endpoint: Endpoint;
  /** What a request passes first; undefined if that is nothing. */
  readonly admit: Admit | undefined;
  readonly finalize: ReplyStep;
}

/** Dispatches the requests of one application. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #tree: RouteTree<Served> = new RouteTree();
  /**
   * What answers where the other tree has nothing; undefined if the application serves no files.
   */
  #files: RouteTree<Served & { readonly route: FilesRoute }> | undefined;
  readonly #unmatched: MatchedRoute;
  readonly #hasWebSockets: boolean;
  readonly #admitUnmatched: Admit | undefined;
  /** The last step of replies, unless an endpoint has its own. */
  readonly #finalize: ReplyStep;
  readonly #host: HostCheck = new HostCheck();
  readonly background: BackgroundTasks;
  /** The open WebSockets. */
  readonly openSockets: OpenWebSockets;

  /**
   * Composes each route with its middlewares, once.
   *
   * @param parts What it needs.
   * @param shared What is under way in another dispatcher. Both keep it together.
   */
  constructor(parts: DispatcherParts, shared?: SharedWork) {
    const background = this.background = shared?.background ?? new BackgroundTasks();
    const openSockets = this.openSockets = shared?.openSockets ?? new OpenWebSockets();
    const { hosts, origins, cors } = parts;
    this.#parts = parts;
    this.#finalize = finalizer(background, cors);
    this.#unmatched = { info: null, names: [], limits: parts.limits, isGuarded: false };
    const methodsOf = ({ raw }: HttpRequest) => {
      const start = pathStart(raw.url);
      const end = pathEnd(raw.url, start);
      const methods = [...this.#tree.methodsOf(raw.url, start, end)];
      return this.#files ? [...methods, ...this.#files.methodsOf(raw.url, start, end)] : methods;
    };
    this.#admitUnmatched = admission([
      admitHost(hosts),
      admitPreflight(cors, methodsOf),
      admitPages(undefined, origins),
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
      const entry: Served = {
        matched: matchedBy(route, parts.limits),
        admit: admission([
          nameSpan(isMount ? "*" : method, route.path),
          admitHost(hosts),
          isOutOfReach ? admitPreflight(cors, methodsOf) : undefined,
          route.crossOrigin || (isSocket && pages.isOpen) ? undefined : admitPages(isMount ? undefined : method, pages),
        ]),
        endpoint: isSocket
          ? webSocketEndpoint(route, { ...parts, background, openSockets, finalize })
          : endpointOf(route, parts, finalize),
        finalize,
      };
      if (route instanceof FilesRoute) {
        this.#files ??= new RouteTree();
        for (const segments of route.patterns) this.#files.add(method, segments, { ...entry, route });
        continue;
      }
      for (const segments of route.patterns) this.#tree.add(method, segments, entry);
    }
    for (const { method, path, handler, pages, isPrivate } of parts.builtIns) {
      const finalize = pages ? finalizer(background, pages.cors) : isPrivate ? privately : this.#finalize;
      this.#tree.add(method, parsePath(path, "serve").segments, {
        matched: this.#unmatched,
        admit: pages
          ? admission([nameSpan(method, path), admitHost(hosts), admitPreflight(pages.cors, methodsOf), pages.admit])
          : admission([nameSpan(method, path), admitHost(hosts), admitPages(method, origins)]),
        endpoint: this.#wrap(handler, parts.middlewares, finalize),
        finalize,
      });
    }
  }

  /** The routes of the application. */
  get routes(): readonly AnyRoute[] {
    return this.#parts.routes;
  }

  /**
   * Makes a dispatcher of the same application with other routes.
   *
   * @param routes The routes.
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
    return this.#tree.find(method, path).entry.matched.info;
  }

  /**
   * Answers a request. It never rejects.
   *
   * @param raw The request.
   * @param state What the lifespans yielded.
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
    let match: Match<Served>;
    let admit: Admit | undefined;
    // Another function for this would cost each request several nanoseconds.
    try {
      const start = this.#host.check(raw, info);
      end = pathEnd(url, start);
      admit = this.#admitUnmatched;
      // Reading a header costs as much as finding a route, so it is read only if it matters.
      const isUpgrade = this.#hasWebSockets && method === "GET" && asksForWebSocket(raw);
      match = this.#tree.find(isUpgrade ? UPGRADE : method, url, start, end);
    } catch (refusal) {
      end = pathEnd(url, pathStart(url));
      match = this.#fileFor(raw, refusal, end) ?? this.#unmatchedBy(refusal, admit);
    }
    const { entry, values } = match;
    const { app, proxies } = this.#parts;
    this.background.requests++;
    const context = new RequestContext(raw, app, entry.matched, values, end, info, proxies, call);
    if (info instanceof LoggedConnection) info.context = context;
    const request = new HttpRequest(context, state);
    // The endpoint for agents has admitted the host and the page of a call.
    const reply = call || entry.admit === undefined ? entry.endpoint(request) : this.#admit(entry, request);
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
   * Answers a request with a 422 for its input, after the middlewares and guards of its route have
   * accepted it. It never rejects.
   */
  refuse(
    raw: Request,
    { route, values, issues }: Refusal,
    state: Readonly<Record<string, unknown>>,
    info: ConnectionInfo | undefined,
    call: AgentCall,
  ): Promise<Response> {
    return this.#runGuards(raw, { route, values }, state, info, call, () => {
      throw new ValidationError(issues);
    });
  }

  /**
   * Runs the middlewares, limits and guards of a route, and nothing else. It never rejects. What a
   * limit or a guard throws goes to the call.
   */
  askGuards(
    raw: Request,
    target: Destination,
    state: Readonly<Record<string, unknown>>,
    info: ConnectionInfo | undefined,
    call: AgentCall,
  ): Promise<Response> {
    return this.#runGuards(raw, target, state, info, call, () => new Response(null, { status: 204 }));
  }

  /** Runs the middlewares and guards of a route, and then `answer` in place of the rest. */
  #runGuards(
    raw: Request,
    { route, values }: Destination,
    state: Readonly<Record<string, unknown>>,
    info: ConnectionInfo | undefined,
    call: AgentCall,
    answer: () => Response,
  ): Promise<Response> {
    const ask = async (request: HttpRequest): Promise<Response> => {
      try {
        await route.compiled.authorize?.(request);
      } catch (thrown) {
        const { thrown: error } = await contextOf(request).fail(thrown);
        call.refused(error);
        throw error;
      }
      return answer();
    };
    const matched = matchedBy(route, this.#parts.limits);
    const end = pathEnd(raw.url, pathStart(raw.url));
    const { app, proxies } = this.#parts;
    this.background.requests++;
    const context = new RequestContext(raw, app, matched, values, end, info, proxies, call);
    return this.#wrap(ask, route.middlewares)(new HttpRequest(context, state));
  }

  /** The folder that may have a file for a GET or HEAD that no route answers. */
  #fileFor({ url, method }: Request, refusal: unknown, end: number): Match<Served> | undefined {
    if (!this.#files || (method !== "GET" && method !== "HEAD")) return undefined;
    if (!isHTTPError(refusal) || (refusal.status !== 404 && refusal.status !== 405)) return undefined;
    const start = pathStart(url);
    let found: Match<Served & { readonly route: FilesRoute }>;
    try {
      found = this.#files.find(method, url, start, end);
    } catch {
      return undefined;
    }
    const { entry: { route, ...served }, values } = found;
    const isFree = !route.isBelow(this.#parts.prefixes, resolveUnreserved(url.slice(start, end)));
    const endpoint: Endpoint = (request) => {
      FilesRoute.note(request, { refusal, isFree });
      return served.endpoint(request);
    };
    return { entry: { ...served, endpoint }, values };
  }

  /** What serves a request that is refused. */
  #unmatchedBy(refusal: unknown, admit: Admit | undefined): Match<Served> {
    const endpoint = this.#wrap(() => Promise.reject(refusal));
    return { entry: { matched: this.#unmatched, endpoint, admit, finalize: this.#finalize }, values: [] };
  }

  /** Answers a request that has to be admitted. */
  #admit({ admit, endpoint, finalize }: Served, request: HttpRequest): Promise<Response> {
    try {
      const reply = admit?.(request);
      if (reply) {
        const context = contextOf(request);
        return Promise.resolve(finalize(context, context.ownReply = reply));
      }
    } catch (refusal) {
      return this.#answerRefusal(refusal, request, finalize);
    }
    return endpoint(request);
  }

  async #answerRefusal(refusal: unknown, request: HttpRequest, finalize: ReplyStep): Promise<Response> {
    return finalize(contextOf(request), await this.#parts.toErrorReply(refusal, request));
  }

  /** Wraps a handler that is no route's in middlewares. */
  #wrap(
    handler: BuiltInRoute["handler"],
    middlewares: readonly Middleware[] = this.#parts.middlewares,
    finalize: ReplyStep = this.#finalize,
  ): Endpoint {
    const { toErrorReply } = this.#parts;
    const guarded: Endpoint = async (request) => {
      const context = contextOf(request);
      let response: Response;
      try {
        response = placeHeaders(context, context.ownReply = await handler(request));
        if (context.rateLimit) placeRateLimit(context.rateLimit, response = ownReply(context, response));
      } catch (thrown) {
        response = await toErrorReply((await context.fail(thrown)).thrown, request);
      }
      return middlewares.length === 0 ? finalize(context, response) : response;
    };
    return compose(middlewares, guarded, toErrorReply, finalize);
  }
}

function matchedBy(route: AnyRoute, limits: ResolvedLimits): MatchedRoute {
  const { compiled: { binder: { hasGuards } }, template: { names } } = route;
  return { info: route, names, limits: route.limitsOver(limits), isGuarded: hasGuards };
}

/** The endpoint of a route with its middlewares. The outermost function finalizes the reply. */
function endpointOf(route: Route, parts: DispatcherParts, finalize: ReplyStep): Endpoint {
  const { middlewares } = route;
  if (middlewares.length === 0) return handlerEndpoint(route, parts, finalize);
  return compose(middlewares, handlerEndpoint(route, parts, undefined), parts.toErrorReply, finalize);
}

/**
 * Binds the arguments of a route, runs its handler, reduces the result to the model, and makes the
 * reply. Without `finalize` the reply belongs to the request alone, so that middleware may change
 * it.
 */
function handlerEndpoint(
  route: Route,
  { toErrorReply, stopping, tokenAdvice, cors }: DispatcherParts,
  finalize: ReplyStep | undefined,
): Endpoint {
  const { compiled: { binder, authorize }, handler, options, name } = route;
  const { isAsync, bind, resolve, supply } = binder;
  const isGuardedMount = authorize !== undefined && route instanceof MountRoute;
  const { response: model, status } = options;
  const toDeclaredReply = isDeclaredReply(model) ? replierOf(model, status, name) : undefined;
  const reduceOne = model && !toDeclaredReply ? reducerTo(model, name) : undefined;
  const reduce = reduceOne && isAsyncGeneratorFunction(handler) ? eachOf(reduceOne) : reduceOne;
  const { idempotency } = route;
  const runOnce = idempotency && idempotentAnswer(route, idempotency, {
    toErrorReply,
    toReply: async (result, request) => {
      const reduced = reduce && !(result instanceof Response) ? await reduce(result) : result;
      const isPlain = !toDeclaredReply || reduced instanceof Response;
      const reply =
        await (isPlain ? toReply(reduced, status, request, stopping) : toDeclaredReply(reduced, request, stopping));
      const context = contextOf(request);
      const own = reduced instanceof Response ? ownReply(context, reply) : reply;
      // Before the reply is kept: it must not say that a commit has happened that fails.
      if (context.afterResponse?.awaitsHandler) await endWithHandler(context, own);
      return own;
    },
  });
  // One async function with as few awaits as possible: each costs as much as finding the route.
  return async (request) => {
    const context = contextOf(request);
    let response: Response;
    let isAuthorized = authorize === undefined;
    try {
      let values = authorize && await authorize(request);
      isAuthorized = true;
      const bound = isAsync ? await bind(request) : bind(request);
      const args = bound[0]!;
      if (resolve) values = await resolve(request, bound, values);
      if (isGuardedMount) {
        keepCaller(request, values, binder);
        if (route.isLimited) keepLimits(request, values, route.compiled);
      }
      const input = runOnce && { ...args };
      if (supply) supply(args, values);
      let isPlain = false;
      if (input) response = context.ownReply = await runOnce(request, args, input, values);
      else {
        let result = await handler(request, args as never);
        // A returned Error is an error like a thrown one.
        if (result instanceof Error) throw result;
        if (context.headWork) await context.headWork;
        if (reduce && !(result instanceof Response)) {
          const reduced = reduce(result);
          result = reduced instanceof Promise ? await reduced : reduced;
        }
        const reply = toDeclaredReply && !(result instanceof Response)
          ? toDeclaredReply(result, request, stopping)
          : toReply(result, status, request, stopping);
        response = reply instanceof Promise ? await reply : reply;
        if (response !== result) context.ownReply = response;
        isPlain = isBuffered(result);
        if ((context.afterResponse || !finalize) && isPlain) context.bufferedReply = response;
      }
      if (context.afterResponse?.awaitsHandler) await endWithHandler(context, response);
      const isBare = !context.replyHeaders && !context.rateLimit;
      if (context.replyHeaders) response = placeHeaders(context, response);
      if (context.rateLimit) placeRateLimit(context.rateLimit, response = ownReply(context, response));
      if (cors && isBare && finalize && isPlain) context.plainReply = response;
      // In the `try`: the copy of a locked Response fails.
      return finalize ? finalize(context, response) : ownReply(context, response);
    } catch (thrown) {
      context.releaseBody();
      const { thrown: error } = await context.fail(thrown);
      if (!isAuthorized) {
        context.tokenAdvice = tokenAdvice(route, request);
        context.call?.refused(error);
      }
      if (context.headWork) await context.headWork;
      response = await toErrorReply(error, request);
    }
    return finalize ? finalize(context, response) : response;
  };
}

/**
 * Ends the dependencies that end with the handler.
 *
 * @throws {unknown} Their error, or that of the reply which a middleware has sent meanwhile. Then
 * the reply is not sent, so its stream is cancelled.
 */
async function endWithHandler(context: RequestContext, reply: Response): Promise<void> {
  try {
    await context.afterResponse?.endWithHandler();
    if (context.headWork) await context.headWork;
  } catch (error) {
    await ownReply(context, reply).body?.cancel();
    throw error;
  }
}

/** Reduces each value of a stream. */
function eachOf(reduce: Reduce): Reduce {
  return (source) => mapValues(source as AsyncIterable<unknown>, reduce);
}

function finalizer(background: BackgroundTasks, cors: Cors | undefined): ReplyStep {
  if (!cors) return (context, response) => finish(context, response, background);
  return (context, response) => {
    const own = ownReply(context, response);
    const reply = finish(context, own, background);
    cors.stamp(context.raw, reply, reply === context.plainReply);
    return reply;
  };
}

/** Marks replies as those of one caller, where nothing says how long caches may keep them. */
function keepFromSharedCaches(finalize: ReplyStep): ReplyStep {
  return (context, response) => {
    if (response.status === 101 || response.headers.has("cache-control")) return finalize(context, response);
    const reply = ownReply(context, response);
    reply.headers.set("cache-control", "private");
    return finalize(context, reply);
  };
}

/** Whether the reply of a result is made at once, and not streamed. */
function isBuffered(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return true;
  if (result instanceof ChosenReply) return isBuffered(result["~value"]);
  const isMade = result instanceof Response || result instanceof Blob || result instanceof EventStream;
  return !isMade && !(Symbol.asyncIterator in result);
}

/** The last step of each reply: starts the work after it. */
function finish(context: RequestContext, response: Response, background: BackgroundTasks): Response {
  const { afterResponse, bufferedReply, connection } = context;
  // The copy can fail, so it comes first.
  const reply = background.isEnding ? closing(context, response) : response;
  background.requests--;
  context.hasReplied = true;
  if (!afterResponse) return reply;
  const isBuffered = bufferedReply === response;
  if (isBuffered) context.releaseBody();
  const sent = runAfterResponse(reply, isBuffered, afterResponse, background, connection?.completed);
  if (sent !== reply) context.ownReply = sent;
  return sent;
}

/** Makes the client close its connection, so that its next request goes to another server. */
function closing(context: RequestContext, response: Response): Response {
  const reply = ownReply(context, response);
  reply.headers.set("connection", "close");
  return reply;
}
