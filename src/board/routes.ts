/** The endpoints of the board. Its pages call them by the typed client. */
import * as v from "valibot";
import { HTTPError } from "../base/errors.ts";
import { Router } from "../app/router.ts";
import { stateType } from "../binding/dependency.ts";
import { Events } from "../http/replies/events.ts";
import type { HttpRequest } from "../http/request.ts";
import { errorText } from "../log/log_text.ts";
import type { BoardState, SentAgain } from "./state.ts";
import type { RequestDetails, RequestSummary } from "./recording.ts";
import type { RequestPoint } from "./statistics.ts";
import type { MessagePage } from "./topic_view.ts";
import { type FailureRow, pause, type WorkInfo } from "./work_view.ts";
import type { RouteInfoView } from "./route_list.ts";
import type { JsonSchema } from "../schema/json_schema.ts";

/** Between two events of requests, in milliseconds. */
const PAUSE = 400;
/** Between two events of routes. */
const ROUTES_PAUSE = 3_000;

/** The type of a reply, which the board makes itself, so that it needs no check. */
function typed<Value>() {
  return v.custom<Value>(() => true);
}

const state = stateType<BoardState>();

/** What the pages show at their top. */
interface BoardInfo {
  readonly title: string;
  readonly version: string;
  readonly readOnly: boolean;
}

/** What changed since the last event. */
interface RequestEvent {
  /** When the node began to record, in milliseconds since 1970. */
  readonly begin: number;
  /** The newest first. */
  readonly requests: readonly RequestSummary[];
  /** The numbers below are no longer kept. */
  readonly oldest: number;
  readonly points: readonly RequestPoint[];
}

const consumer = v.object({ topic: v.string(), consumer: v.string(), id: v.optional(v.string()) });

/** The endpoints, below `/api`. */
export const board: Router<BoardState> = new Router({ state });

export const getInfo = board.get("/api/info", { response: typed<BoardInfo>() }, async (request) => {
  const { title, version } = request.state.app;
  const { readOnly } = visitOf(request);
  return { title, version, readOnly };
});

export const watchRequests = board.get("/api/requests/events", {
  response: Events(typed<RequestEvent>()),
}, async function* (request) {
  const { recorder } = request.state;
  let version = 0;
  let after = 0;
  while (!request.signal.aborted) {
    const now = Date.now();
    const changed = recorder.changedSince(version);
    version = recorder.version;
    // The last point still grows.
    yield {
      begin: recorder.begin,
      requests: changed.map(({ summary }) => summary),
      oldest: recorder.oldest,
      points: recorder.points.since(after, now),
    };
    after = now - 10_000;
    await Promise.race([recorder.changed(), pause(2_000, request.signal)]);
    await pause(PAUSE, request.signal);
  }
});

export const getRequest = board.get("/api/requests/{number}", {
  params: { number: v.number() },
  response: typed<RequestDetails & { readonly body: string | null }>(),
}, async (request, { number }) => {
  const { recorder } = request.state;
  const recording = recorder.find(number);
  if (!recording) throw new HTTPError(404, "This request is no longer kept");
  const { details } = recording;
  const published = details.published.map((one) => ({ ...one, topic: request.state.work.placeOf(one.topic) }));
  return { ...details, published, body: (visitOf(request).isLocal && recording.body) || null };
});

export const sendAgain = board.post("/api/requests/{number}/send", {
  params: { number: v.number() },
  response: typed<SentAgain>(),
}, async (request, { number }) => {
  if (!visitOf(request).isLocal) {
    throw new HTTPError(409, "This request cannot be sent again: its credentials are not kept for this board");
  }
  act(request, "sends a request again", { number });
  return await request.state.sendAgain(number);
});

export const watchRoutes = board.get("/api/routes/events", {
  response: Events(typed<readonly RouteInfoView[]>()),
}, async function* (request) {
  while (!request.signal.aborted) {
    yield request.state.routes();
    await pause(ROUTES_PAUSE, request.signal);
  }
});

export const watchWork = board.get("/api/work/events", {
  response: Events(typed<WorkInfo>()),
}, async function* (request) {
  yield* request.state.work.watch(request.signal);
});

export const listMessages = board.get("/api/messages", {
  query: {
    topic: v.string(),
    before: v.optional(v.string()),
    id: v.optional(v.string()),
    time: v.optional(v.pipe(v.string(), v.isoTimestamp(), v.toDate())),
  },
  response: typed<MessagePage>(),
}, async (request, { topic, before, id, time }) => {
  const { view, store } = await topicOf(request, topic);
  if (time !== undefined) return await view.from(store, time);
  if (id === undefined) return await view.before(store, before);
  const message = await view.find(store, id);
  if (!message) throw new HTTPError(404, "This message is not stored, or the id is none of this topic");
  return await view.upTo(store, message);
});

export const getMessage = board.get("/api/message", {
  query: { topic: v.string(), id: v.string() },
  response: typed<{ readonly data: unknown; readonly type: string | null; readonly time: number }>(),
}, async (request, { topic, id }) => {
  const { view, store } = await topicOf(request, topic);
  const message = await view.find(store, id);
  if (!message) throw new HTTPError(404, "This message is no longer stored");
  return { data: JSON.parse(message.data), type: message.type ?? null, time: message.time };
});

export const getSchema = board.get("/api/schema", {
  query: { topic: v.string() },
  response: typed<{ readonly schema: JsonSchema | null }>(),
}, async (request, { topic }) => ({ schema: request.state.work.schemaOf(topic) ?? null }));

export const publish = board.post("/api/publish", {
  body: v.object({
    topic: v.string(),
    data: v.unknown(),
    id: v.optional(v.string()),
    type: v.optional(v.string()),
  }),
  response: typed<{ readonly id: string; readonly duplicate: boolean }>(),
}, async (request, { body: { topic, data, id, type } }) => {
  await topicOf(request, topic);
  act(request, "publishes a message", { topic });
  return await refused(() => request.state.publish(topic, data, { ...(id && { id }), ...(type && { type }) }));
});

export const listFailures = board.get("/api/failures", {
  query: { topic: v.string(), consumer: v.string() },
  response: typed<readonly FailureRow[]>(),
}, async (request, { topic, consumer }) => await request.state.work.failuresOf(topic, consumer));

export const changeConsumer = board.post("/api/consumers/{action}", {
  params: { action: v.picklist(["retry", "discard", "pause", "resume", "redrive"]) },
  body: consumer,
  response: typed<{ readonly message: string }>(),
}, async (request, { action, body: { topic, consumer, id } }) => {
  act(request, `asks to ${action}`, { topic, consumer, message_id: id });
  return { message: await refused(() => request.state.changeConsumer(action, topic, consumer, id)) };
});

export const runCron = board.post("/api/crons/run", {
  body: v.object({ name: v.string() }),
  response: typed<{ readonly error: string | null; readonly duration: number }>(),
}, async (request, { body: { name } }) => {
  act(request, "runs a cron now", { cron: name });
  const begin = performance.now();
  const error = await request.state.runCron(name).then(() => null, (thrown) => errorText(thrown));
  return { error, duration: performance.now() - begin };
});

type BoardRequest = HttpRequest<BoardState>;

function visitOf(request: BoardRequest) {
  return request.state.visitOf(request.raw);
}

/** Logs an action with who did it. */
function act(request: BoardRequest, action: string, fields: Readonly<Record<string, unknown>>): void {
  request.state.log(`The board ${action}`, { ...fields, by: visitOf(request).by });
}

async function topicOf(request: BoardRequest, name: string) {
  const found = await request.state.work.topic(name);
  if (!found) throw new HTTPError(404, "There is no such topic");
  return found;
}

/** A mistake of the user of the board is a 422 with its reason. */
async function refused<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
    throw new HTTPError(422, errorText(error), { cause: error });
  }
}
