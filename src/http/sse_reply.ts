/** The reply that sends events. */
import type { HttpRequest } from "./request.ts";
import { exchangeOf } from "./request.ts";
import { type EventStream, takeChunks } from "./sse.ts";
import { EventBody } from "./sse_body.ts";
import type { Stopping } from "./stream_reply.ts";

/** Proxies are told to pass each event on at once: nginx by a header of its own. */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

/**
 * Makes the reply that sends events. What they come from is closed with it, also where a middleware sends another one.
 *
 * @param stream What the handler returned.
 * @param request Tells what to resume after.
 * @param status The status.
 * @param stopping Tells when the server stops.
 * @throws {HTTPError} With 400, when the client resumes after what is no id.
 * @throws {TypeError} When the events were sent before.
 */
export function eventReply(
  stream: EventStream,
  request: HttpRequest,
  status: number,
  stopping: Stopping,
): Response {
  const chunks = takeChunks(stream);
  const body = new EventBody(chunks, stream.heartbeat, stopping());
  // First, so that it is closed where the client is refused, too.
  exchangeOf(request).openCompletion().addCleanup(() => body.end());
  const { lastEventId } = request;
  if (lastEventId) chunks.resumeAfter(lastEventId);
  return new Response(body.toStream(), { status, headers: HEADERS });
}
