/** The reply that sends events. */
import { Subscription } from "../../topics/subscription.ts";
import { IteratorSource, type PullSource, PullStream, type StreamKind } from "../pull_stream.ts";
import type { RequestContext } from "../context.ts";
import type { Stopping } from "../stream_reply.ts";
import { COMMENT, formatEvent, formatItem, toChunk } from "./event.ts";
import type { DataReducer } from "../replies/model.ts";
import { type EventStream, type EventStreamParts, type SSESource, takeParts } from "./sse.ts";
import { ReaderSource, resumeAfter, TopicSource } from "./topic_events.ts";

/**
 * Proxies must pass on each event at once. nginx has its own header for it; others compress in
 * blocks unless they may not transform the reply.
 */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** Clients of a GET reconnect after the end, so a failure may look like an end. */
const EVENTS: StreamKind = {
  name: "stream of events",
  readsAhead: true,
  breaksOff: false,
  heartbeat: toChunk(COMMENT),
};

/** For other methods, for which clients do not reconnect. */
const LONE_EVENTS: StreamKind = { ...EVENTS, breaksOff: true };

/** The time before browsers reconnect without `retry`, in milliseconds. */
const USUAL_RETRY = 3_000;

/** Reconnects are spread over at least this time, in milliseconds. */
const MIN_SPREAD = 2_000;

/** The farewell spreads reconnects: all clients at once would overload the next server. */
function resumable(retry = USUAL_RETRY): StreamKind {
  const later = (): number => Math.round(retry / 2 + Math.random() * Math.max(retry, MIN_SPREAD));
  return { ...EVENTS, farewell: () => toChunk(formatEvent({ retry: later() })) };
}

/**
 * Makes a reply of events. Their source closes with the request, also where middleware sends
 * another reply. Throws a 400 for an invalid last event id, a 503 if too many streams are open, and
 * a TypeError if the stream was sent before.
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
  // Before an id is refused: the source must close then, too.
  body.bindTo(context);
  const { lastEventId } = context;
  const subscriptions = subscriptionsOf(parts.source);
  if (lastEventId && subscriptions.length > 0) resumeAfter(lastEventId, subscriptions);
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
