/** Takes a request from the server to its reply: finds the route, runs its prepared plan, guards the boundaries. */
import { isAsyncGeneratorFunction } from "../binding/dependency.ts";
import { HTTPError, type Issue, ValidationError } from "../errors.ts";
import {
  type AppHandle,
  type ConnectionInfo,
  contextOf,
  HttpRequest,
  type MatchedRoute,
  RequestContext,
} from "../http/request.ts";
import { BackgroundTasks, runAfterResponse } from "../http/after_response.ts";
import { HostCheck } from "../http/host.ts";
import type { ResolvedLimits } from "../http/limits.ts";
import { toReply, withHeaders, withoutBody } from "../http/reply.ts";
import { EventStream } from "../http/sse/sse.ts";
import type { Stopping } from "../http/stream_reply.ts";
import { asksForWebSocket } from "../http/websocket/handshake.ts";
import { OpenWebSockets, webSocketEndpoint, WebSocketRoute } from "./websocket_route.ts";
import { pathEnd, pathStart } from "../http/query.ts";
import { type Dataset, expectationsOf, nodeOf, type SchemaIssue } from "../schema/schema.ts";
import { withStandardChecks } from "../schema/rebuild.ts";
import { toValidator, type Validator } from "../schema/check.ts";
import type { RouteInfo } from "../http/route_info.ts";
import {
  compose,
  type Endpoint,
  ensureMutable,
  type ErrorBoundary,
  type Middleware,
  type ReplyStep,
} from "./middleware.ts";
import { parsePath } from "./path.ts";
import type { AnyRoute } from "./registry.ts";
import type { Route } from "./route.ts";
import { type Match, RouteTree, UPGRADE } from "./table.ts";

/** What a dispatcher serves. */
export interface DispatcherParts {
  readonly app: AppHandle;
  readonly routes: readonly AnyRoute[];
  /** What the application serves by itself. */
  readonly builtIns: readonly BuiltInRoute[];
  /** Those of the application, which wrap every reply. */
  readonly middlewares: readonly Middleware[];
  readonly limits: ResolvedLimits;
  /** Pages of which other origins may open WebSockets. */
  readonly origins: readonly string[];
  readonly toErrorReply: ErrorBoundary;
  /** Tells when the server stops. */
  readonly stopping: Stopping;
}

/** What an application serves beside its routes. */
export interface BuiltInRoute {
  /** The method, or `*` for all that nothing else serves. */
  readonly method: string;
  readonly path: string;
  readonly handler: (request: HttpRequest) => Promise<Response>;
  /** Stands around the middlewares of the application: it may answer before they run. */
  readonly around?: (request: HttpRequest, next: Endpoint) => Promise<Response>;
}

/** A request to a route, whose input was found to be faulty before it came to the route. */
export interface Refusal {
  readonly route: Route;
  /**
   * The values of the path's parameters, decoded, in their order; none where there is nothing
   * valid.
   */
  readonly values: readonly string[];
  /** The faults. */
  readonly issues: readonly Issue[];
}

interface Served {
  readonly matched: MatchedRoute;
  readonly endpoint: Endpoint;
}

/** The prepared application. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #tree: RouteTree<Served> = new RouteTree();
  readonly #unmatched: MatchedRoute;
  readonly #hasWebSockets: boolean;
  readonly #host: HostCheck = new HostCheck();
  /** What replies have left to do. */
  readonly background: BackgroundTasks = new BackgroundTasks();
  /** The open WebSockets. */
  readonly openSockets: OpenWebSockets = new OpenWebSockets();

  /** Prepares every route: middlewares are composed here, once. */
  constructor(parts: DispatcherParts) {
    const { background, openSockets } = this;
    this.#parts = parts;
    this.#unmatched = { info: null, names: [], limits: parts.limits };
    this.#hasWebSockets = parts.routes.some((route) => route instanceof WebSocketRoute);
    for (const route of parts.routes) {
      const method = route instanceof WebSocketRoute ? UPGRADE : route.method;
      this.#tree.add(method, route.template.segments, {
        matched: matchedBy(route, parts.limits),
        endpoint: route instanceof WebSocketRoute
          ? webSocketEndpoint(route, { ...parts, background, openSockets, finalize: finalizer(background) })
          : endpointOf(route, parts, background),
      });
    }
    for (const { method, path, handler, around } of parts.builtIns) {
      const endpoint = around ? this.#around(around, handler) : this.#wrap(handler);
      this.#tree.add(method, parsePath(path, "serve").segments, { matched: this.#unmatched, endpoint });
    }
  }

  /**
   * The route that serves a method and path; null where that is no route of a user.
   *
   * @throws {HTTPError} When nothing serves them.
   */
  routeOf(method: string, path: string): RouteInfo | null {
    return this.#tree.find(method, path).entry.matched.info;
  }

  /** Answers a request. It never rejects. */
  dispatch(
    raw: Request,
    state: Readonly<Record<string, unknown>>,
    info: ConnectionInfo | undefined,
  ): Promise<Response> {
    const { url, method } = raw;
    const { app } = this.#parts;
    this.background.requests++;
    const start = pathStart(url);
    const end = pathEnd(url, start);
    let match: Match<Served>;
    try {
      if (end < start) throw new HTTPError(400, "The request target has no path");
      this.#host.check(raw, start);
      // Only where it can matter: to ask for a header costs as much as to find a route.
      const isUpgrade = this.#hasWebSockets && method === "GET" && asksForWebSocket(raw);
      match = this.#tree.find(isUpgrade ? UPGRADE : method, url, start, end);
    } catch (refusal) {
      return this.#refuse(
        refusal,
        new HttpRequest(new RequestContext(raw, app, this.#unmatched, [], end, info), state),
      );
    }
    const { matched, endpoint } = match.entry;
    const reply = endpoint(new HttpRequest(new RequestContext(raw, app, matched, match.values, end, info), state));
    // A server leaves the body away by itself, and tells its length, which it could not if it was not given one.
    return method === "HEAD" && info === undefined ? reply.then(withoutBody) : reply;
  }

  /**
   * Answers a request with the faults of its input, when the middlewares and guards of its route
   * have let it in. It never rejects.
   */
  refuse(
    raw: Request,
    { route, values, issues }: Refusal,
    state: Readonly<Record<string, unknown>>,
    info: ConnectionInfo | undefined,
  ): Promise<Response> {
    const { app, limits } = this.#parts;
    this.background.requests++;
    const context = new RequestContext(
      raw,
      app,
      matchedBy(route, limits),
      values,
      pathEnd(raw.url, pathStart(raw.url)),
      info,
    );
    const tellFaults = async (request: HttpRequest): Promise<never> => {
      await route.binder.guard?.(request);
      throw new ValidationError(issues);
    };
    return this.#wrap(tellFaults, middlewaresOf(route))(new HttpRequest(context, state));
  }

  async #refuse(refusal: unknown, request: HttpRequest): Promise<Response> {
    const response = await this.#wrap(() => Promise.reject(refusal))(request);
    const isLocal = contextOf(request).connection === undefined;
    return request.method === "HEAD" && isLocal ? withoutBody(response) : response;
  }

  /** A reply is concluded behind what stands around the middlewares, whether they ran or not. */
  #around(around: NonNullable<BuiltInRoute["around"]>, handler: BuiltInRoute["handler"]): Endpoint {
    const inner = this.#wrap(handler, this.#parts.middlewares, identity);
    const finalize = finalizer(this.background);
    return async (request) => finalize(contextOf(request), await around(request, inner));
  }

  /** The application's middlewares see what no route serves, too. */
  #wrap(
    handler: BuiltInRoute["handler"],
    middlewares: readonly Middleware[] = this.#parts.middlewares,
    finalize: ReplyStep = finalizer(this.background),
  ): Endpoint {
    const { toErrorReply } = this.#parts;
    const guarded: Endpoint = async (request) => {
      const context = contextOf(request);
      let response: Response;
      try {
        response = ensureMutable(context, await handler(request));
      } catch (thrown) {
        response = await toErrorReply(thrown, request);
      }
      return middlewares.length === 0 ? finalize(context, response) : response;
    };
    return compose(middlewares, guarded, toErrorReply, finalize);
  }
}

function matchedBy(route: AnyRoute, limits: ResolvedLimits): MatchedRoute {
  return { info: route, names: route.template.names, limits: route.limitsOver(limits) };
}

function middlewaresOf({ scopes }: Route): readonly Middleware[] {
  return scopes.flatMap((scope) => scope.middlewares);
}

function endpointOf(route: Route, { toErrorReply, stopping }: DispatcherParts, background: BackgroundTasks): Endpoint {
  const finalize = finalizer(background);
  const middlewares = middlewaresOf(route);
  if (middlewares.length === 0) return planOf(route, toErrorReply, stopping, identity, finalize);
  return compose(middlewares, planOf(route, toErrorReply, stopping, ensureMutable, identity), toErrorReply, finalize);
}

/** The plan of a route: binds the arguments, runs the handler, reduces its result to the model, makes the reply. */
function planOf(
  { binder, handler, options, name }: Route,
  toErrorReply: ErrorBoundary,
  stopping: Stopping,
  prepare: ReplyStep,
  finalize: ReplyStep,
): Endpoint {
  const { guard, isAsync, bind, resolver } = binder;
  const rest = resolver && !resolver.rest.isEmpty ? resolver.rest : undefined;
  const { response: model, status } = options;
  const reduceOne = model && reducer(toValidator(withStandardChecks(nodeOf(model))).validate, name);
  const reduce = reduceOne && isAsyncGeneratorFunction(handler) ? eachOf(reduceOne) : reduceOne;
  // One async function with no await that can be spared: each costs as much as finding the route.
  return async (request) => {
    const context = contextOf(request);
    let response: Response;
    try {
      let made = guard && await guard(request);
      const bound = isAsync ? await bind(request) : bind(request);
      const args = bound[0]!;
      if (rest) made = await rest.make(request, bound, 1, made);
      if (resolver) resolver.supply(args, made);
      let result = await handler(request, args as never);
      if (reduce && !(result instanceof Response)) {
        const reduced = reduce(result);
        result = reduced instanceof Promise ? await reduced : reduced;
      }
      const reply = toReply(result, status, request, stopping);
      response = reply instanceof Promise ? await reply : reply;
      if (response !== result) context.mutableReply = response;
      if (context.afterResponse && isBuffered(result)) context.afterResponse.buffered = response;
      if (context.replyHeaders) response = withHeaders(response, context.replyHeaders);
      response = prepare(context, response);
    } catch (thrown) {
      context.releaseBody();
      response = await toErrorReply(thrown, request);
    }
    return finalize(context, response);
  };
}

/** Validates results and reduces them to the model. */
function reducer(validate: Validator["validate"], route: string): (result: unknown) => unknown {
  const settle = (dataset: Dataset): unknown => {
    if (dataset.issues) throw misfit(route, dataset.issues);
    return dataset.value;
  };
  return (result) => {
    const dataset = validate(result);
    return dataset instanceof Promise ? dataset.then(settle) : settle(dataset);
  };
}

/** The model of a stream is that of each of its values. */
function eachOf(reduce: (value: unknown) => unknown): (source: unknown) => AsyncGenerator<unknown> {
  return async function* (source) {
    for await (const value of source as AsyncIterable<unknown>) yield reduce(value);
  };
}

function finalizer(background: BackgroundTasks): ReplyStep {
  return (context, response) => finish(context, response, background);
}

function identity(_context: RequestContext, response: Response): Response {
  return response;
}

/** Whether the reply of a result is made at once, and not while it is sent. */
function isBuffered(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return true;
  const isMade = result instanceof Response || result instanceof Blob || result instanceof EventStream;
  return !isMade && !(Symbol.asyncIterator in result);
}

/** A result that does not fit is the application's fault. */
function misfit(route: string, issues: readonly SchemaIssue[]): Error {
  const faults = expectationsOf(issues, "the result");
  return new TypeError(`Cannot reply to ${route}: the result does not fit the response model, ${faults}`);
}

/** Sees to what is left to do after the reply. */
function finish(context: RequestContext, response: Response, background: BackgroundTasks): Response {
  const { afterResponse, connection } = context;
  background.requests--;
  if (!afterResponse) return response;
  if (afterResponse.buffered === response) context.releaseBody();
  return runAfterResponse(response, afterResponse, background, connection?.completed);
}
