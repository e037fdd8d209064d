/** The boundary where errors become replies. */
import { HTTPError, isHTTPError } from "../errors.ts";
import { problemReply, toHTTPError, withOpenHeaders } from "../http/reply.ts";
import type { HttpRequest } from "../http/request.ts";
import { describeError, log } from "../log.ts";
import type { Recover } from "./middleware.ts";

/**
 * Shapes an error reply: gives the reply, or nothing for the default one. An error that is no `HTTPError` comes as a 500 with
 * the error as its `cause`.
 */
export type ErrorHandler<State = Record<string, unknown>> = (
  error: HTTPError,
  request: HttpRequest<State>,
) => Response | void | Promise<Response | void>;

/** The boundary, with or without an application's own shape of replies. */
export function errorBoundary(handler: ErrorHandler | undefined): Recover {
  return async (thrown, request) => {
    const error = toHTTPError(thrown);
    report(thrown, request);
    try {
      const reply = await handler?.(error, request);
      if (reply === undefined || reply === null) return problemReply(error);
      if (reply instanceof Response) return withOpenHeaders(reply);
      throw new TypeError(`Cannot reply with what onError returned: got ${typeof reply}, wanted a Response or nothing`);
    } catch (failure) {
      log("error", "Shaping an error reply failed", {
        error: describeError(failure),
      });
      return problemReply(new HTTPError(500));
    }
  };
}

/** Logs what the client is not told. */
function report(thrown: unknown, request: HttpRequest): void {
  const cause = isHTTPError(thrown) ? (thrown.status >= 500 ? thrown.cause : undefined) : thrown;
  if (cause === undefined && isHTTPError(thrown)) return;
  log("error", "A request failed", {
    method: request.method,
    path: request.path,
    route: request.route?.path,
    error: describeError(cause),
  });
}
