/** The board of an application: an App of its own, which gets the requests below its path. */
import { App } from "../app/app.ts";
import type { BoardTarget, OpenBoard, ShownApp, Visit } from "../app/board_host.ts";
import { HTTPError } from "../base/errors.ts";
import type { ConnectionInfo } from "../http/connection.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { whileSignedIn } from "../http/sign_in.ts";
import { log } from "../log/log.ts";
import type { Redelivery } from "../topics/consumers.ts";
import { Nodes } from "./nodes.ts";
import { addPages } from "./pages.ts";
import { Recorder } from "./recorder.ts";
import { routeList } from "./route_list.ts";
import { board } from "./routes.ts";
import type { BoardState, ConsumerAction, SentAgain } from "./state.ts";
import { WorkView } from "./work_view.ts";

/** Headers that belong to the outer request, whose host and origin were checked. */
const OUTER_HEADERS = ["host", "origin", "sec-fetch-site", "x-forwarded-host"];

/** Headers that `fetch` makes itself. */
const OF_BODY = /^(?:content-length|transfer-encoding|connection|host)$/;

/** Opens the board of an application that starts. */
export async function openBoard(target: BoardTarget): Promise<OpenBoard> {
  const { app, apps, isLocal } = target;
  const [{ topics }] = apps as [ShownApp];
  const recorder = new Recorder({ keepsSecrets: isLocal });
  const nodes = new Nodes({
    ...{ records: topics.records, title: app.title, version: app.version, isShared: topics.isDurableOpen },
  });
  const work = new WorkView(target, nodes);
  const visits = new WeakMap<Request, Visit>();
  const closing = new AbortController();
  const state: BoardState = {
    ...{ app, recorder, work },
    routes: () => apps.flatMap((shown) => routeList(shown, recorder)),
    visitOf: (request) => visits.get(request)!,
    log: (message, fields) => log("info", message, fields, app),
    sendAgain: (number) => sendAgain(number, target, recorder),
    publish: async (topic, data, options) => {
      const { shown, own } = work.find(topic);
      // Another name would become a topic in memory.
      if (!shown.topics.declared.some(({ name }) => name === own)) {
        throw new TypeError(`Cannot publish to "${topic}": this application does not declare it, use one that does`);
      }
      const result = await shown.topics.topic(own).publish(data, options);
      work.expire();
      return result;
    },
    changeConsumer: async (action, topic, ...consumer) => {
      const { shown, own } = work.find(topic);
      const message = await changeConsumer(shown, action, own, ...consumer);
      work.expire();
      return message;
    },
    runCron: async (name) => {
      const { shown, own } = work.find(name);
      await shown.crons.runNow(own);
    },
  };
  const inner = new App<BoardState>({
    ...{ title: "Board", openapiUrl: null, mcpUrl: null, crossOrigin: true },
    log: ({ level, message, fields }) => log(level, message, fields, app),
  });
  inner.lifespan(async function* () {
    yield state;
  });
  inner.middleware(async function refuseChanges(request, next) {
    const isReading = request.method === "GET" || request.method === "HEAD";
    if (!isReading && visits.get(request.raw)!.readOnly) {
      throw new HTTPError(403, "The board is read-only here: readOnly of the option board says so");
    }
    const response = await next(request);
    response.headers.set("cross-origin-resource-policy", "same-origin");
    return response;
  });
  inner.include(board);
  addPages(inner);
  await inner.start();
  nodes.start();
  return {
    recorder,
    answer: async (request, visit) => {
      const ended = new AbortController();
      const stop = whileSignedIn(contextOf(request), () => ended.abort());
      const passed = innerRequest(request, visit, ended, closing.signal);
      passed.signal.addEventListener("abort", stop);
      visits.set(passed, visit);
      const reply = await inner.fetch(passed);
      if (!reply.headers.get("content-type")?.startsWith("text/event-stream")) stop();
      return reply;
    },
    drain: async () => {
      closing.abort();
      await inner.stop();
    },
    close: async () => {
      closing.abort();
      await inner.stop();
      work.close();
      recorder.close();
      await nodes.close();
    },
  };
}

function innerRequest(request: HttpRequest, { target }: Visit, ended: AbortController, closing: AbortSignal): Request {
  const { raw } = request;
  const { connection } = contextOf(request);
  // Not the platform's signal: Deno (2.9) aborts it after each reply, with a warning.
  const end = () => ended.abort();
  connection?.completed?.then(end, end);
  const signal = AbortSignal.any([ended.signal, closing]);
  const headers = new Headers(raw.headers);
  for (const name of OUTER_HEADERS) headers.delete(name);
  const hasBody = raw.method !== "GET" && raw.method !== "HEAD" && raw.body !== null;
  const body = hasBody ? contextOf(request).body.stream() : null;
  return new Request(`http://board${target}`, { method: raw.method, headers, body, signal });
}

/** @throws {HTTPError} With 404, if it is no longer kept. */
async function sendAgain(number: number, { app }: BoardTarget, recorder: Recorder): Promise<SentAgain> {
  const recording = recorder.find(number);
  if (!recording) throw new HTTPError(404, "This request is no longer kept");
  const sent = recording.sent;
  if (!sent) throw new HTTPError(409, "This request cannot be sent again: it has not ended");
  if (sent.body === null) throw new HTTPError(409, "This request cannot be sent again: its body was not kept");
  const headers = new Headers(sent.headers.filter(([name]) => !OF_BODY.test(name)) as [string, string][]);
  const begin = performance.now();
  const { method } = recording;
  if (/^(?:connect|trace|track)$/i.test(method)) throw new HTTPError(409, `A ${method} request cannot be sent again`);
  const request = new Request(sent.url, { method, headers, body: sent.body ?? null });
  recorder.demand();
  const response = await app.fetch(request, connectionFrom(sent.peer));
  await response.body?.cancel();
  return { status: response.status, duration: performance.now() - begin, number: recorder.numberOf(request) ?? null };
}

function connectionFrom(peer: string | null): ConnectionInfo | undefined {
  return peer === null ? undefined : { remoteAddr: { transport: "tcp", hostname: peer, port: 0 } };
}

async function changeConsumer(
  { app: { consumers } }: ShownApp,
  action: ConsumerAction,
  topic: string,
  name: string,
  id: string | undefined,
): Promise<string> {
  const path = `${topic}/${name}`;
  const some = id === undefined ? {} : { ids: [id] };
  switch (action) {
    case "pause":
      await consumers.pause(path);
      return "The consumer is paused on all nodes";
    case "resume":
      await consumers.resume(path);
      return "The consumer is resumed";
    case "discard":
      return `${messages(await consumers.discard(path, some))} discarded`;
    case "redrive":
      return redelivered(await consumers.redrive(path));
    case "retry":
      return redelivered(await consumers.retry(path, some));
  }
}

function redelivered({ redelivered, gone }: Redelivery): string {
  const lost = gone.length === 0 ? "" : `, ${messages(gone.length)} no longer stored`;
  return `${messages(redelivered)} redelivered${lost}`;
}

function messages(count: number): string {
  return count === 1 ? "1 message is" : `${count} messages are`;
}
