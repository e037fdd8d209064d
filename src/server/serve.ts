/** Serves an application on a socket until it stops. */
import { load, loaded } from "../base/async_context.ts";
import { type Duration, toMilliseconds } from "../base/options.ts";
import { HTTPError } from "../base/errors.ts";
import { isDenoServe, loadingCommand, readVariable } from "../base/runtime.ts";
import { type Service, stopReason } from "../base/service.ts";
import type { BackgroundTasks } from "../http/after_response.ts";
import { endWaits, releaseIdleTimer } from "../http/deadline.ts";
import { type Fetch, LoggedConnection } from "../http/connection.ts";
import { pathStart } from "../http/query.ts";
import { problemReply } from "../http/reply.ts";
import { logUnsent, streamProgress } from "../http/open_streams.ts";
import { redactUrl } from "../log/redaction.ts";
import type { ListenOptions } from "./http_server.ts";
import { addressText, listenOptions, openServer } from "./listen.ts";
import { log, logFor } from "../log/log.ts";
import { reportFailedStart } from "./readiness.ts";
import type { RunOptions } from "./run_options.ts";
import { type Stopper, StopRequest } from "./stop_request.ts";

/** An application, as a server sees it. */
export interface ServerTarget extends Service<void> {
  readonly fetch: Fetch;
  /** The owner of the requests' bodies, for `endWaits`. */
  readonly owner: object;
  /** Undefined before the first request. */
  background(): BackgroundTasks | undefined;
  /** Whether the platform may keep WebSockets whose clients have disconnected. */
  hasBrokenSockets(): boolean;
  /** Whether the platform keeps connections whose WebSockets never opened. */
  hasLostSockets(): boolean;
}

/** The time for a body after a stop begins; at most half of the grace period. */
const BODY_TIMEOUT_MS = 2_000;

/** Replies are cut off after clients have read nothing for this long. */
const STALLED_MS = 1_000;

const POLL_MS = 50;

/** Three polls without a new reply, 10 ms apart: the last replies count as sent. */
const LAST_POLLS = 3;
const LAST_POLL_MS = 10;

/**
 * Serves until SIGINT, SIGTERM or the signal of the program, and the `drainDelay` after it. Then it
 * accepts no more connections, ends streams, waits for requests in flight, and closes the
 * application.
 *
 * At the end of the grace period, it aborts handlers of consumers and crons, and publishes, but
 * never handlers of requests. If the start or a request has not ended by then, a signal of the
 * system makes the process exit with code 1; after the program's signal, they continue. Bodies that
 * have not arrived and replies that no client reads are cut off before, with exit code 0.
 * Lifespans, and a store that is unreachable (up to 3 seconds), can extend the stop.
 *
 * @throws {Deno.errors.AddrInUse} If the port is taken.
 */
export async function serve(app: ServerTarget, options: RunOptions): Promise<void> {
  const grace = toMilliseconds(options.gracePeriod ?? defaultGrace(), "the gracePeriod");
  const drainDelay = toDelay(options.drainDelay ?? 0);
  if ((options.cert === undefined) !== (options.key === undefined)) {
    throw new TypeError("Cannot run the App: HTTPS needs both cert and key");
  }
  const command = loadingCommand();
  if (command?.isLoading) {
    command.refusal = new Error(
      `Cannot run the App in a module that "webfw" loads: write "if (import.meta.main)" before the call, or start this one with "deno run"`,
    );
    throw command.refusal;
  }
  // How Deno Deploy starts a program is not documented.
  if (!isDeploy() && isDenoServe()) {
    throw new Error(
      `Cannot run the App under "deno serve": it serves the default export itself, call run() in another file and start that one with "deno run"`,
    );
  }
  const where = { ...listenOptions(options), automaticCompression: options.compress ?? false };
  // Listen until the end: without listeners, a second SIGTERM would kill the process.
  using request = new StopRequest(options.signal);
  let isListening = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const abortAfterGrace = () => timer ??= setTimeout(() => app.abort(stopReason()), grace);
  const requested = request.by.then(async (by) => {
    if (isListening && drainDelay > 0) {
      setEnding(app, true);
      log("info", "The server stops after the drain delay, or at once after a second signal", { drainDelay });
      await request.delay(drainDelay);
    }
    // Lifespans may publish while they end.
    abortAfterGrace();
    return by;
  });
  let stop: Awaited<ReturnType<typeof listen>>;
  try {
    await endOfStart(app.start(), requested, grace);
    isListening = true;
    stop = await listen(app, where, handlerOf(app, options), requested, grace);
  } finally {
    abortAfterGrace();
    try {
      await app.close();
    } finally {
      clearTimeout(timer);
      setEnding(app, false);
      releaseIdleTimer();
    }
  }
  if (stop.by === "program") return;
  // No API closes the connections of a server that shuts down, and they would keep the process.
  if (stop.end === "late") Deno.exit(1);
  // The load event follows the code after run(), if the program awaits run().
  if (stop.end === "cut" || app.hasBrokenSockets()) addEventListener("load", () => Deno.exit());
  // Open connections keep the process until the end of the grace period.
  exitAt(stop.begin + grace);
}

/** @param time As `performance.now()`. A process without other work ends before. */
function exitAt(time: number): void {
  Deno.unrefTimer(setTimeout(() => Deno.exit(), Math.max(0, time - performance.now())));
}

/** One listener for each application of `deno serve`. */
const stoppers = new WeakMap<ServerTarget, Promise<Stopper>>();

/** Deno calls the own property `onListen` of the default export, only in the first thread. */
export function startWithDenoServe(exported: object, app: ServerTarget): void {
  const onListen = (address: Deno.Addr): void => {
    log("info", `Listening on ${addressText(address)}`);
    if (isDeploy()) return;
    // The next request retries.
    endOfStart(app.start(), stopAtSignals(app), defaultGrace()).catch(reportFailedStart);
  };
  // The program may replace it.
  const value = (address: Deno.Addr) => logFor(exported, () => onListen(address));
  Object.defineProperty(exported, "onListen", { value, configurable: true, writable: true });
}

/** For `deno serve`, also where `onListen` is not called. */
export function stopWithDenoServe(app: ServerTarget): void {
  if (isDenoServe()) stopAtSignals(app);
}

/** Deno shuts down its server and waits for replies, but an event stream never ends by itself. */
function stopAtSignals(app: ServerTarget): Promise<Stopper> {
  const known = stoppers.get(app);
  if (known) return known;
  const { by } = new StopRequest();
  stoppers.set(app, by);
  by.then(async () => {
    const grace = defaultGrace();
    const timer = setTimeout(() => app.abort(stopReason()), grace);
    // Deno has shut down its server already.
    const { begin, end } = await endRequests(app, grace, async () => await app.background()?.sent());
    await app.close();
    clearTimeout(timer);
    releaseIdleTimer();
    if (end !== "complete") Deno.exit(end === "late" ? 1 : 0);
    // Deno (2.9) does not end the process: timers of the program would keep it.
    exitAt(begin + grace);
  });
  return by;
}

/** A lifespan may never start: after a signal of the system, the process exits with the grace. */
async function endOfStart(start: Promise<void>, requested: Promise<Stopper>, grace: number): Promise<void> {
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  requested.then((by) => {
    if (isOver || by === "program") return;
    timer = setTimeout(() => {
      log("error", "The start did not end in the grace period", { gracePeriod: grace });
      Deno.exit(1);
    }, grace);
  });
  try {
    await start;
  } finally {
    isOver = true;
    // The first use of any timer function loads node:timers, which takes 5 ms of a start.
    if (timer !== undefined) clearTimeout(timer);
  }
}

interface Stop {
  /** Whether all requests ended, unread replies were cut off, or requests are still open. */
  readonly end: "complete" | "cut" | "late";
  /** As `performance.now()`. */
  readonly begin: number;
}

/** Removes uploads of crashed processes. It takes 2 ms, so it runs after the first reply. */
async function sweep(): Promise<void> {
  const { sweepUploads } = await load(() => import("../http/forms/uploads.ts"));
  await sweepUploads();
}

async function listen(
  app: ServerTarget,
  where: ListenOptions,
  answer: Fetch,
  requested: Promise<Stopper>,
  grace: number,
): Promise<Stop & { readonly by: Stopper }> {
  let next: Fetch = (request, info) => {
    next = answer;
    info?.completed?.then(sweep, sweep);
    return answer(request, info);
  };
  const onError = (error: unknown) => {
    logUnsent(error, app.owner);
    return problemReply(new HTTPError(500));
  };
  const server = openServer({ ...where, onError }, (request, info) => next(request, info));
  const by = await Promise.race([requested, server.finished.then(() => "program" as const)]);
  const stop = await endRequests(app, grace, async () => {
    await sweep();
    await server.shutdown();
  });
  return { by, ...stop };
}

/** Waits for requests in flight and the tasks after them. `shutdown` settles after all replies. */
async function endRequests(app: ServerTarget, grace: number, shutdown: () => Promise<unknown>): Promise<Stop> {
  setEnding(app, true);
  const begin = performance.now();
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => {
    log("warn", "Some requests did not end in the grace period", { gracePeriod: grace });
    resolve("late");
  }, grace);
  const complete = async (): Promise<Stop["end"]> => {
    // A shutdown cuts off WebSockets and arriving bodies, so end these first. A body whose reader
    // is being loaded gets its full time afterwards.
    const [areCut] = await Promise.all([
      loaded().then(() => endWaits(app.owner, Math.min(BODY_TIMEOUT_MS, grace / 2))),
      app.drain(),
    ]);
    if (areCut) await lastReplies(app, late);
    const isShut = shutdown().then(() => "complete" as const);
    const stalled = stalledReplies(
      app,
      begin + grace / 2,
      Math.min(STALLED_MS, grace / 4),
      Promise.race([late, isShut]),
    );
    const end = await Promise.race([isShut, stalled]);
    await app.background()?.done();
    return end;
  };
  try {
    return { begin, end: await Promise.race([late, complete()]) };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits, until `over` settles, for the replies to requests whose bodies were cut off. A shutdown
 * then closes their connections; before, it would wait for the rest of the bodies.
 */
async function lastReplies(app: ServerTarget, over: Promise<unknown>): Promise<void> {
  const background = app.background();
  let before: number | undefined;
  let same = 0;
  await poll(LAST_POLL_MS, over, () => {
    const requests = background?.requests;
    same = requests === before ? same + 1 : 0;
    before = requests;
    return same === LAST_POLLS;
  });
}

/** Resolves to true when the condition holds, or to false if `over` settles before. */
function poll(ms: number, over: Promise<unknown>, condition: () => boolean): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setInterval(() => condition() && end(true), ms);
    const end = (isMet: boolean) => {
      clearInterval(timer);
      resolve(isMet);
    };
    const stop = () => end(false);
    over.then(stop, stop);
  });
}

function handlerOf(app: ServerTarget, { accessLog, compress }: RunOptions): Fetch {
  const answer = compress ? withSentTags(app.fetch) : app.fetch;
  return accessLog ? withAccessLog(answer, app.owner) : answer;
}

function setEnding(app: ServerTarget, isEnding: boolean): void {
  const background = app.background();
  if (background) background.isEnding = isEnding;
}

/**
 * Waits until no client reads its reply, then starts the tasks after these replies. The server sees
 * only for streamed replies whether clients read.
 *
 * @param earliest Replies have time until then, as `performance.now()`.
 * @param timeout How long clients must have read nothing, in milliseconds.
 * @param over Ends the wait when it settles.
 */
async function stalledReplies(
  app: ServerTarget,
  earliest: number,
  timeout: number,
  over: Promise<unknown>,
): Promise<Stop["end"]> {
  const background = app.background();
  let { chunks } = streamProgress;
  let stalledSince = performance.now();
  const areStalled = await poll(POLL_MS, over, () => {
    const now = performance.now();
    if ((background?.requests ?? 0) > 0 || chunks !== streamProgress.chunks) stalledSince = now;
    chunks = streamProgress.chunks;
    return now >= earliest && now - stalledSince >= timeout;
  });
  if (!areStalled) return "complete";
  // A server with such sockets does not shut down even after all replies were sent.
  if (!app.hasLostSockets()) log("warn", "Connections were cut off: their clients do not read the last replies");
  background?.abandonReplies();
  return "cut";
}

function withAccessLog(fetch: Fetch, owner: object): Fetch {
  return async (request, info) => {
    const start = performance.now();
    const connection = new LoggedConnection(info);
    const response = await fetch(request, connection);
    if (!connection.isLogged) return response;
    const target = redactUrl(request.url.slice(pathStart(request.url)));
    const ms = Math.round((performance.now() - start) * 10) / 10;
    const message = `${request.method} ${target} ${response.status}`;
    if (connection.context) connection.context.log("info", message, { ms });
    else log("info", message, { ms }, owner);
    return response;
  };
}

function toDelay(drainDelay: Duration): number {
  return parseFloat(String(drainDelay)) === 0 ? 0 : toMilliseconds(drainDelay, "the drainDelay");
}

function defaultGrace(): number {
  return isDeploy() ? 4_000 : 10_000;
}

function isDeploy(): boolean {
  return readVariable("DENO_DEPLOYMENT_ID") !== undefined;
}

/**
 * Removes `W/` from the tags of `If-Match`, so that handlers find the tags that they sent: the
 * platform weakens the tags of compressed replies. No handler needs a weak tag there, which never
 * matches (RFC 9110, section 13.1.1).
 */
function withSentTags(fetch: Fetch): Fetch {
  return (request, info) => {
    const condition = request.headers.get("if-match");
    if (condition?.includes("W/")) {
      const headers = new Headers(request.headers);
      headers.set("if-match", condition.replace(/(?:W\/)?("[^"]*")/g, "$1"));
      // The platform's headers are immutable. A copy of the request would lose the connection, and
      // its body would be read more slowly.
      Object.defineProperty(request, "headers", { value: headers });
    }
    return fetch(request, info);
  };
}
