/**
 * The steps of a request in its route: precheck, middleware, guards and limits of each scope,
 * inputs, other dependencies, handler, model, reply, and the work after it.
 */
import { load } from "../base/async_context.ts";
import { RouteError, ValidationError } from "../base/errors.ts";
import { type Binder, compileBinder } from "../binding/binder.ts";
import { subjectText } from "../binding/guard.ts";
import { isAsyncGeneratorFunction } from "../binding/dependency.ts";
import { NO_INPUTS } from "../binding/inputs.ts";
import type { Values } from "../binding/resolver.ts";
import { type BackgroundTasks, runAfterResponse } from "../http/after_response.ts";
import type { ResourceMetadataHint } from "../http/challenge.ts";
import type { MatchedRoute, RequestContext } from "../http/context.ts";
import type { Cors } from "../http/cors.ts";
import { isDeclaredReply } from "../http/replies/declared_reply.ts";
import { mapValues, type Reduce, reducerTo } from "../http/replies/model.ts";
import { ChosenReply } from "../http/replies/replies.ts";
import { replierOf } from "../http/replies/replier.ts";
import { toReply } from "../http/reply.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { EventStream } from "../http/sse/sse.ts";
import type { Stopping } from "../http/stream_reply.ts";
import type { Schema } from "../schema/schema.ts";
import type { Authorize } from "./route.ts";
import { compose, type Endpoint, type ErrorBoundary, type Middleware, type ReplyStep } from "./middleware.ts";
import { callerThroughMounts, MountRoute } from "./mount.ts";
import type { RequestRecorder } from "./recorder.ts";
import type { AnyRoute } from "./registry.ts";
import type { AnyHandler, ResourceMetadataHintOf, Route } from "./route.ts";
import { type OpenWebSockets, WebSocketHandshake, WebSocketRoute } from "./websocket_route.ts";

/** Which steps run: before a batch of calls, agents evaluate only the guards. */
export type Extent = "full" | "guards";

export interface PipelineParts {
  readonly toErrorReply: ErrorBoundary;
  /** Returns the signal that is aborted when the server stops. */
  readonly stopping: Stopping;
  readonly metadataHint: ResourceMetadataHintOf;
  /** Lets pages of these origins read replies; undefined if there are none. */
  readonly cors: Cors | undefined;
  readonly background: BackgroundTasks;
  readonly openSockets: OpenWebSockets;
  /** Undefined without a board. */
  readonly recorder?: RequestRecorder | undefined;
}

/**
 * @returns The reply, if it is known already.
 * @throws {HTTPError} The refusal.
 */
export type Precheck = (request: HttpRequest) => Response | void;

/** A route or another handler, in its middlewares. */
export interface ServedRoute extends MatchedRoute {
  readonly precheck: Precheck | undefined;
  /** Runs the middlewares and the steps inside of them. It never rejects. */
  readonly endpoint: Endpoint;
  /** Runs only the middlewares and the guards. Made on first use. */
  readonly guards: () => Endpoint;
  readonly finalize: ReplyStep;
  readonly toErrorReply: ErrorBoundary;
  /** See {@linkcode BuiltInRoute}. */
  readonly isApart?: boolean;
  /** With its parts; undefined without a board. */
  readonly recorded?: Pick<ServedRoute, "precheck" | "endpoint">;
}

/** Answers a request. It never rejects. */
export function runRoute(
  context: RequestContext,
  request: HttpRequest,
  served: ServedRoute,
  extent: Extent,
): Promise<Response> {
  if (extent === "guards") return served.guards()(request);
  // The endpoint for agents has checked the host and the page of a call.
  if (context.call || served.precheck === undefined) return served.endpoint(request);
  try {
    const reply = served.precheck(request);
    if (reply) return Promise.resolve(served.finalize(context, context.reply.setOwned(reply)));
  } catch (refusal) {
    return answerRefusal(refusal, context, request, served);
  }
  return served.endpoint(request);
}

async function answerRefusal(
  refusal: unknown,
  context: RequestContext,
  request: HttpRequest,
  { finalize, toErrorReply }: ServedRoute,
): Promise<Response> {
  return finalize(context, await toErrorReply(refusal, request));
}

/** The steps inside of the middlewares. */
interface Work {
  readonly name: string;
  readonly handler: AnyHandler;
  readonly binder: Binder;
  readonly authorize: Authorize | undefined;
  /** Checks the handshake of a WebSocket before the guards run. */
  readonly begin?: ((request: HttpRequest) => void) | undefined;
  /** Called with the values of the dependencies before the handler. */
  readonly keep?: ((request: HttpRequest, values: Values) => void) | undefined;
  /** The route, if its replies are kept by `Idempotency-Key`. */
  readonly idempotent?: Route | undefined;
  /** What a refusal contains for a client that needs a token. */
  readonly hintFor?: ((request: HttpRequest) => ResourceMetadataHint | undefined) | undefined;
  readonly model?: Schema | undefined;
  readonly status?: number | undefined;
  /** The path of the application that runs as the handler. */
  readonly mountedAt?: string | undefined;
}

const NO_BINDER = compileBinder({ inputs: NO_INPUTS, pathNames: [], name: "", levels: [] });

export interface PlainHandler {
  /** Its replies are new, not kept for other requests. */
  readonly handler: (request: HttpRequest) => Promise<Response>;
  /** Undefined without guards and limits. */
  readonly authorize?: Authorize | undefined;
}

export function plainEndpoint(
  { handler, authorize }: PlainHandler,
  middlewares: readonly Middleware[],
  parts: PipelineParts,
  finalize: ReplyStep,
): Endpoint {
  const own = async (request: HttpRequest) => contextOf(request).reply.setOwned(await handler(request));
  return inMiddlewares({ name: "", handler: own, binder: NO_BINDER, authorize }, middlewares, parts, finalize, "full");
}

/** The outermost function finalizes the reply. */
export function routeEndpoint(route: AnyRoute, parts: PipelineParts, finalize: ReplyStep, extent: Extent): Endpoint {
  const { name, middlewares, compiled: { binder, authorize } } = route;
  const hintFor = (request: HttpRequest) => parts.metadataHint(route, request);
  const common = { name, binder, authorize, hintFor };
  if (route instanceof WebSocketRoute) {
    const handshake = new WebSocketHandshake(route, parts);
    const { begin, accept } = handshake;
    // Once the platform has made the reply of an upgrade, the server must send it. So the last step
    // comes after the middlewares, unless the request is refused.
    const endpoint = inMiddlewares({ ...common, begin, handler: accept }, middlewares, parts, asItIs, extent);
    return handshake.upgradeAfter(endpoint, finalize);
  }
  const { handler, options: { response: model, status } } = route;
  const mount = route instanceof MountRoute ? route : undefined;
  const keep = authorize && mount?.keep.bind(mount);
  const mountedAt = mount?.app && mount.path;
  const idempotent = route.idempotency && route;
  const work = { ...common, handler, model, status, keep, idempotent, mountedAt };
  return inMiddlewares(work, middlewares, parts, finalize, extent);
}

const asItIs: ReplyStep = (_context, response) => response;

function inMiddlewares(
  work: Work,
  middlewares: readonly Middleware[],
  parts: PipelineParts,
  finalize: ReplyStep,
  extent: Extent,
): Endpoint {
  if (middlewares.length === 0) return workEndpoint(work, parts, finalize, extent);
  const { recorder } = parts;
  const all = recorder ? middlewares.map((middleware) => recorder.middleware(middleware)) : middlewares;
  return compose(all, workEndpoint(work, parts, undefined, extent), parts.toErrorReply, finalize);
}

/** Without `finalize` the reply belongs to the request alone, so that middleware may change it. */
function workEndpoint(work: Work, parts: PipelineParts, finalize: ReplyStep | undefined, extent: Extent): Endpoint {
  const { name, authorize, begin, keep, model, status, mountedAt } = work;
  const { toErrorReply, stopping, cors, recorder } = parts;
  const { isAsync, bind, resolve, supply } = recorder ? recordedBinder(work.binder, recorder) : work.binder;
  const kind = mountedAt === undefined ? "handler" : "mount";
  const handler = recorder ? recorder.step(kind, mountedAt ?? name, work.handler) : work.handler;
  const reply = recorder ? recorder.step("reply", "", toReply) : toReply;
  const replier = isDeclaredReply(model) ? replierOf(model, status, name) : undefined;
  const isForGuards = extent === "guards";
  const toDeclaredReply = recorder && replier ? recorder.step("reply", "", replier) : replier;
  const reduceOne = model && !toDeclaredReply ? reducerTo(model, name) : undefined;
  const reduceAll = reduceOne && isAsyncGeneratorFunction(work.handler) ? eachOf(reduceOne) : reduceOne;
  const reduce = recorder && reduceAll ? recorder.step("model", "", reduceAll) : reduceAll;
  const runOnce = work.idempotent && idempotentAnswer(work.idempotent, {
    handler,
    toErrorReply,
    toReply: async (result, context) => {
      const reduced = reduce && !(result instanceof Response) ? await reduce(result) : result;
      const isPlain = !toDeclaredReply || reduced instanceof Response;
      const made =
        await (isPlain ? reply(reduced, status, context, stopping) : toDeclaredReply(reduced, context, stopping));
      const own = reduced instanceof Response ? context.reply.toOwned(made) : made;
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
      if (begin) begin(request);
      let values = authorize && await authorize(request);
      isAuthorized = true;
      let isInMemory = false;
      if (isForGuards) response = context.reply.setOwned(replyOfGuards(context));
      else {
        const bound = isAsync ? await bind(request) : bind(request);
        const args = bound[0]!;
        if (resolve) values = await resolve(request, bound, values);
        if (keep) keep(request, values);
        const input = runOnce && { ...args };
        if (supply) supply(args, values);
        if (input) response = context.reply.setOwned(await runOnce(request, args, input, values));
        else {
          let result = await handler(request, args as never);
          // A returned Error is an error like a thrown one.
          if (result instanceof Error) throw result;
          if (context.reply.headWork) await context.reply.headWork;
          if (reduce && !(result instanceof Response)) {
            const reduced = reduce(result);
            result = reduced instanceof Promise ? await reduced : reduced;
          }
          const made = toDeclaredReply && !(result instanceof Response)
            ? toDeclaredReply(result, context, stopping)
            : reply(result, status, context, stopping);
          response = made instanceof Promise ? await made : made;
          if (response !== result) context.reply.setOwned(response);
          isInMemory = isBuffered(result);
          if ((context.afterResponse || !finalize) && isInMemory) context.reply.buffered = response;
        }
        // After a handshake, the handler of the WebSocket is still to run.
        if (context.afterResponse?.awaitsHandler && !begin) await endWithHandler(context, response);
      }
      if (!context.reply.isHeadComplete) response = context.reply.addHead(response);
      else if (cors && finalize && isInMemory) context.reply.withBodyHeadersOnly = response;
      // In the `try`: the copy of a locked Response fails.
      return finalize ? finalize(context, response) : context.reply.toOwned(response);
    } catch (thrown) {
      context.releaseBody();
      const { thrown: error } = await context.fail(thrown);
      if (!isAuthorized) {
        context.reply.metadataHint = work.hintFor?.(request);
        context.call?.refused(error);
      }
      if (context.reply.headWork) await context.reply.headWork;
      response = await toErrorReply(error, request);
    }
    return finalize ? finalize(context, response) : response;
  };
}

function recordedBinder(binder: Binder, recorder: RequestRecorder): Binder {
  return { ...binder, bind: recorder.step("validation", "", binder.bind) } as Binder;
}

/**
 * The reply to an agent whose call the guards accept.
 *
 * @throws {ValidationError} If the arguments of the call are invalid.
 */
function replyOfGuards({ call }: RequestContext): Response {
  if (call?.issues && call.issues.length > 0) throw new ValidationError(call.issues);
  return new Response(null, { status: 204 });
}

/**
 * Ends the dependencies that end with the handler.
 *
 * @throws {unknown} Their error, or that of the reply that a middleware has sent meanwhile. Then
 * the stream of this reply is cancelled.
 */
async function endWithHandler(context: RequestContext, reply: Response): Promise<void> {
  try {
    await context.afterResponse?.endWithHandler();
    if (context.reply.headWork) await context.reply.headWork;
  } catch (error) {
    await context.reply.toOwned(reply).body?.cancel();
    throw error;
  }
}

function eachOf(reduce: Reduce): Reduce {
  return (source) => mapValues(source as AsyncIterable<unknown>, reduce);
}

export function finalizer(background: BackgroundTasks, cors: Cors | undefined): ReplyStep {
  if (!cors) return (context, response) => finish(context, response, background);
  return (context, response) => {
    const own = context.reply.toOwned(response);
    const reply = finish(context, own, background);
    cors.stamp(context.raw, reply, reply === context.reply.withBodyHeadersOnly);
    return reply;
  };
}

/** Keeps replies without `Cache-Control` out of shared caches. */
export function keepFromSharedCaches(finalize: ReplyStep): ReplyStep {
  return (context, response) => {
    if (response.status === 101 || response.headers.has("cache-control")) return finalize(context, response);
    const reply = context.reply.toOwned(response);
    reply.headers.set("cache-control", "private");
    return finalize(context, reply);
  };
}

function isBuffered(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return true;
  if (result instanceof ChosenReply) return isBuffered(result["~value"]);
  const isMade = result instanceof Response || result instanceof Blob || result instanceof EventStream;
  return !isMade && !(Symbol.asyncIterator in result);
}

/** The last step of each reply: starts the work after it. */
function finish(context: RequestContext, response: Response, background: BackgroundTasks): Response {
  const { afterResponse, connection } = context;
  // The copy can fail, so it comes first.
  const reply = background.isEnding ? closing(context, response) : response;
  background.requests--;
  context.reply.hasBegun = true;
  if (!afterResponse) return reply;
  const isBuffered = response === context.reply.buffered;
  if (isBuffered) context.releaseBody();
  const sent = runAfterResponse(reply, isBuffered, afterResponse, background, connection?.completed);
  return sent === reply ? reply : context.reply.setOwned(sent);
}

/** Closes the connection, so that the next request of the client goes to another server. */
function closing(context: RequestContext, response: Response): Response {
  const reply = context.reply.toOwned(response);
  reply.headers.set("connection", "close");
  return reply;
}

interface Replies {
  readonly handler: AnyHandler;
  readonly toReply: (result: unknown, context: RequestContext) => Promise<Response>;
  readonly toErrorReply: ErrorBoundary;
}

type Args = Readonly<Record<string, unknown>>;

/**
 * Answers a request: `args` has all arguments of the handler, `input` only those that the client
 * sent.
 */
type IdempotentAnswer = (request: HttpRequest, args: Args, input: Args, values: Values) => Promise<Response>;

function idempotentAnswer(
  { compiled: { binder }, idempotency, options, name }: Route,
  { handler, toReply, toErrorReply }: Replies,
): IdempotentAnswer {
  const { by } = idempotency!;
  const isBodyDeclared = options.body !== undefined || options.form !== undefined;
  return async (request, args, input, values) => {
    const { runOnce } = await load(() => import("../idempotency/runner.ts"));
    const context = contextOf(request);
    return await runOnce(idempotency!, {
      request,
      input,
      isBodyDeclared,
      caller: () =>
        by
          ? subjectText(by(request, args), `"idempotent.by" of ${name}`)
          : callerThroughMounts(request, values, binder),
      answer: async () => {
        const result = await handler(request, args as never);
        if (result instanceof Error) throw result;
        if (context.reply.headWork) await context.reply.headWork;
        if (isStream(result)) {
          throw new RouteError(
            "idempotent",
            `Cannot reply to ${name}: its reply is a stream, which is not kept, leave out "idempotent"`,
          );
        }
        return await toReply(result, context);
      },
      toErrorReply,
    });
  };
}

/** Whether a result is a stream of values. The stream is not started. */
function isStream(result: unknown): boolean {
  if (result instanceof ChosenReply) return isStream(result["~value"]);
  if (result instanceof EventStream) return true;
  if (!(result instanceof Response)) {
    return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
  }
  const isEvents = result.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (isEvents) result.body?.cancel().catch(() => {});
  return isEvents;
}
