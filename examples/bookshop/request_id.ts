/**
 * A name for each request, by which its traces can be found in the logs of all programs that it
 * passes.
 */
import type { Middleware } from "@webfw/core";

/** Adds `x-request-id` to every reply: the one that came with the request, or a new one. */
export const requestId: Middleware = async (request, next) => {
  const given = request.headers.get("x-request-id");
  // The client's value ends up in logs, so only a plain word is accepted.
  const id = given !== null && /^[\w-]{1,64}$/.test(given) ? given : crypto.randomUUID();
  const response = await next(request);
  response.headers.set("x-request-id", id);
  return response;
};
