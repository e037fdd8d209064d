/** The reply that sends events. */
import { Subscription } from "../../topics/subscription.ts";
import { acquireSlot } from "../open_streams.ts";
import { IteratorSource, type PullSource, PullStream, type StreamKind } from "../pull_stream.ts";
import type { RequestContext } from "../context.ts";
import type { Stopping } from "../stream_reply.ts";
import { COMMENT, formatEvent, formatItem, toChunk } from "./event.ts";
import type { DataReducer } from "../replies/model.ts";
import { type EventStream, type EventStreamParts, type SSESource, takeParts } from "./sse.ts";
import { ReaderSource, resumeAfter, TopicSource } from "./topic_events.ts";

/**
 * Proxies must pass each event on at once. nginx has its own header for it. Others compress by
 * blocks, unless they may not transform the reply.
 */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** Clients of a GET connect again after the end, so that a failure is no more than an end. */
const EVENTS: StreamKind = {
  name: "stream of events",
  readsAhead: true,
  breaksOff: false,
  heartbeat: toChunk(COMMENT),
};

/** Events that no client asks for again. */
const LONE_EVENTS: StreamKind = { ...EVENTS, breaksOff: true };

/** After how many milliseconds browsers reconnect to a stream without `retry`. */
const USUAL_RETRY = 3_000;

/** The least interval over which clients reconnect, in milliseconds. */
const MIN_SPREAD = 2_000;

/**
 * Events of a GET. When the server stops, each client gets another time to reconnect after: all of
 * them at once would be more than the next server can take.
 */
function resumable(retry = USUAL_RETRY): StreamKind {
  const later = (): number => Math.round(retry / 2 + Math.random() * Math.max(retry, MIN_SPREAD));
  return { ...EVENTS, farewell: () => toChunk(formatEvent({ retry: later() })) };
}

/**
 * Makes the reply that sends events. Their source is closed with the request, also where a
 * middleware sends another reply.
 *
 * @param stopping Gives the signal that is aborted when the server stops.
 * @throws {HTTPError} With 400, if the client resumes after something that is not an id; with 503,
 * if too many streams are open.
 * @throws {TypeError} If the stream was sent before.
 */
export function eventReply(
  stream: EventStream,
  context: RequestContext,
  status: number,
  stopping: Stopping,
  reducer?: DataReducer,
): Response {
  const parts = takeParts(stream);
  const kind = context.raw.method === "GET" ? resumable(parts.retry) : LONE_EVENTS;
  const body = new PullStream(toPullSource(parts, reducer), kind, stopping(), stream.heartbeat);
  // Before an id is refused, so that the source is closed then, too.
  body.setLogger(context);
  context.addCleanup(() => body.close());
  body.onClose(acquireSlot(context.matched.limits.streams));
  const { lastEventId } = context;
  const subscriptions = subscriptionsOf(parts.source);
  if (lastEventId && subscriptions.length > 0) resumeAfter(lastEventId, subscriptions);
  body.endWithSignIn(context);
  return new Response(body.toReadable(), { status, headers: HEADERS });
}

function subscriptionsOf(source: SSESource): readonly Subscription[] {
  if (source instanceof Subscription) return [source];
  return Symbol.asyncIterator in source ? [] : source;
}

function toPullSource(parts: EventStreamParts, reducer: DataReducer | undefined): PullSource {
  const { source, encode, retry, filter, map } = parts;
  const options = { encode, retry, filter, map, reducer };
  // Without them, readers at one position share the bytes of events.
  if (source instanceof Subscription && !filter && !map) return new TopicSource(source, options);
  if (source instanceof Subscription) return new ReaderSource([source], options);
  if (!(Symbol.asyncIterator in source)) return new ReaderSource(source, options);
  const items = reducer ? reducer.ofItems(source) : source;
  return new IteratorSource(items[Symbol.asyncIterator](), {
    encode: (item) => toChunk(formatItem(item, encode)),
    kind: EVENTS,
    opening: retry === undefined ? undefined : toChunk(formatEvent({ retry })),
  });
}
