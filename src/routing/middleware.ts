/** Middleware, and the boundary where errors become replies. */
import { load } from "../base/async_context.ts";
import { checkArity, isAsyncFunction } from "../binding/dependency.ts";
import type { RequestContext } from "../http/context.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { isThrownReply, problemReply, toHTTPError } from "../http/reply.ts";
import { HTTPError, isHTTPError } from "../base/errors.ts";
import { quote } from "../base/options.ts";
import { describeError } from "../log/log.ts";
import { tracing } from "../log/telemetry.ts";

// Deno's globals are lazy getters. Reading them for each reply has a measurable cost.
const { Response: PlatformResponse } = globalThis;

/**
 * Calls the next middleware or the handler. It never rejects: errors become replies.
 *
 * @category Applications
 */
export type Next = (request: HttpRequest<unknown>) => Promise<Response>;

/**
 * A function around handlers. It returns `await next(request)`, changed or not, or its own reply.
 *
 * @example A header for each reply
 * ```ts
 * import { App, type Middleware } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const signed: Middleware = async (request, next) => {
 *   const response = await next(request);
 *   response.headers.set("server", "books");
 *   return response;
 * };
 * const app = new App();
 * app.middleware(signed);
 * const response = await app.fetch(new Request("http://localhost/nothing-here"));
 * assertEquals(response.status, 404);
 * assertEquals(response.headers.get("server"), "books");
 * ```
 *
 * @category Applications
 */
export type Middleware<State = Record<string, unknown>> = (
  request: HttpRequest<State>,
  next: Next,
) => Promise<Response>;

/** Answers a request. It never rejects. */
export type Endpoint = (request: HttpRequest) => Promise<Response>;

/** Makes the reply of an error, which belongs to the request alone. It never rejects. */
export type ErrorBoundary = (thrown: unknown, request: HttpRequest) => Response | Promise<Response>;

export function checkMiddleware(middleware: unknown): Middleware {
  if (!isAsyncFunction(middleware)) {
    const cure = typeof middleware === "string"
      ? "for the routes below a path, give it to a router with that prefix"
      : "write async (request, next) => …";
    throw new TypeError(`Cannot add the middleware: it must be an async function, got ${quote(middleware)}; ${cure}`);
  }
  checkArity(middleware, "add the middleware: it", "async (request, next) => …");
  return middleware as Middleware;
}

export function checkErrorHandler(handler: unknown): void {
  if (typeof handler === "function" && handler.length <= 2) return;
  const given = typeof handler === "function" ? `one of ${handler.length}` : quote(handler);
  throw new TypeError(
    `Cannot set the error handler: it must be a function of two arguments, got ${given}; write (error, request) => …`,
  );
}

/** A step between the handler and the server. */
export type ReplyStep = (context: RequestContext, response: Response) => Response;

/**
 * Wraps an endpoint in middlewares.
 *
 * @param endpoint Its replies belong to the request alone: middleware may change them.
 * @param finalize The last step of the outermost middleware's reply.
 */
export function compose(
  middlewares: readonly Middleware[],
  endpoint: Endpoint,
  toErrorReply: ErrorBoundary,
  finalize: ReplyStep,
): Endpoint {
  return middlewares.reduceRight<Endpoint>(
    (inner, middleware, index) => wrap(middleware, inner, toErrorReply, index === 0 ? finalize : ownReply),
    endpoint,
  );
}

const ownReply: ReplyStep = (context, response) => context.reply.toOwned(response);

/** A middleware costs two promises, its own and the guarded one, and three closures per request. */
function wrap(middleware: Middleware, inner: Endpoint, toErrorReply: ErrorBoundary, finalize: ReplyStep): Endpoint {
  return (request) => {
    const context = contextOf(request);
    let passed: Promise<Response> | undefined;
    const next: Next = (passedOn) => {
      if (passed) return Promise.reject(new TypeError("Cannot call next() again: one request has one reply"));
      return passed = inner((passedOn ?? request) as HttpRequest);
    };
    const fail = async (thrown: unknown): Promise<Response> => {
      if (passed) dropReply(context, passed);
      context.afterResponse?.failLater(thrown);
      return finalize(context, await toErrorReply(thrown, request));
    };
    const accept = (response: Response): Response | Promise<Response> => {
      try {
        if (!(response instanceof PlatformResponse)) throw noResponse(middleware);
        return finalize(context, context.reply.addHeaders(context.reply.useResponse(response, context.isServed)));
      } catch (mistake) {
        return fail(mistake);
      }
    };
    return middleware(request, next).then(accept, fail);
  };
}

/**
 * Cancels an inner reply, whose stream has no reader. It may come after the reply was sent: the
 * dependencies of the handler are cleaned up after it.
 */
function dropReply(context: RequestContext, passed: Promise<Response>): void {
  const dropped = passed.then((reply) => reply.body?.cancel()).catch(() => {});
  context.addTask(() => dropped, true);
}

function noResponse({ name }: Middleware): TypeError {
  const subject = name === "" ? "A middleware" : `The middleware "${name}"`;
  return new TypeError(`${subject} returned no Response: return await next(request), or a reply of its own`);
}

/**
 * Makes the reply of an error; returns nothing for the default reply, and an `HTTPError` for that
 * of another error. An error that is not an `HTTPError` arrives as a 500 with the error as its
 * `cause`.
 *
 * @category Errors
 */
export type ErrorHandler<State = Record<string, unknown>> = (
  error: HTTPError,
  request: HttpRequest<State>,
) => Response | HTTPError | void | Promise<Response | HTTPError | void>;

export function errorBoundary(handler: ErrorHandler | undefined): ErrorBoundary {
  const replace = (error: HTTPError, other: HTTPError, request: HttpRequest): Response => {
    if (other.cause !== error && other.cause !== error.cause) report(other, request);
    return problemReply(other);
  };
  const shape = async (error: HTTPError, request: HttpRequest, context: RequestContext): Promise<Response> => {
    try {
      const reply = await handler?.(error, request);
      if (reply === undefined || reply === null) return problemReply(error);
      if (reply instanceof Response) return ownReply(context, context.reply.useResponse(reply, context.isServed));
      if (isHTTPError(reply)) return replace(error, reply, request);
      throw new TypeError(
        `Cannot reply with what onError returned: got ${typeof reply}, wanted a Response, an HTTPError or nothing`,
      );
    } catch (failure) {
      if (isHTTPError(failure)) return replace(error, failure, request);
      tracing?.fail(failure);
      context.log("error", "Shaping an error reply failed", { error: describeError(failure) });
      return problemReply(new HTTPError(500));
    }
  };
  return async (thrown, request) => {
    const context = contextOf(request);
    if (isThrownReply(thrown)) return context.reply.addHeadToError(thrown.reply);
    const shaped = await shape(toHTTPError(thrown), request, context);
    if (!isRefusal(shaped)) report(thrown, request);
    const reply = context.reply.addHeadToError(shaped);
    const { metadataHint } = context.reply;
    if (metadataHint) {
      const { addMetadataHint } = await load(() => import("../http/challenge.ts"));
      addMetadataHint(reply, metadataHint);
    }
    return reply;
  };
}

/** Whether a reply is the client's fault, as `onError` may say of any error. */
function isRefusal({ status }: Response): boolean {
  return status >= 400 && status < 500;
}

/** Logs an error that the client does not see, and records it on the span of the request. */
function report(thrown: unknown, request: HttpRequest): void {
  const cause = isHTTPError(thrown) ? (thrown.status >= 500 ? thrown.cause : undefined) : thrown;
  if (!isHTTPError(thrown) || thrown.status >= 500) tracing?.fail(cause ?? thrown);
  if (cause === undefined && isHTTPError(thrown)) return;
  contextOf(request).log("error", "A request failed", {
    method: request.method,
    path: request.path,
    route: request.route?.path,
    error: describeError(cause),
  });
}
