/** Serves an application on a socket until it is told to stop. */
import { type Duration, toMilliseconds } from "./duration.ts";
import { isDenoServe, readVariable } from "./runtime.ts";
import { type BackgroundTasks, streamProgress } from "./http/after_response.ts";
import { endWaits, releaseIdleTimer } from "./http/deadline.ts";
import type { ConnectionInfo } from "./http/request.ts";
import { pathStart } from "./http/query.ts";
import { HttpServer, type ListenOptions } from "./http_server.ts";
import { log } from "./log.ts";
import { checkOptions, type OptionNames } from "./options.ts";
import type { WorkerPorts } from "./topics/worker_store.ts";

/** Where a server listens. */
export interface ListenAddress {
  /** The address, or the path of a Unix socket. */
  readonly hostname: string;
  /** The port; 0 for a Unix socket. */
  readonly port: number;
}

/** How an application is served. */
export interface RunOptions {
  /**
   * The port; 0 takes a free one.
   *
   * @default {8000}
   */
  port?: number;
  /**
   * The address to listen at.
   *
   * @default {"127.0.0.1"}
   */
  hostname?: string;
  /** Stops the server when it is aborted. */
  signal?: AbortSignal;
  /** The certificate chain in PEM, for HTTPS. */
  cert?: string;
  /** The private key in PEM, for HTTPS. */
  key?: string;
  /** The path of a Unix socket, in place of a port. */
  path?: string;
  /**
   * How long requests in flight and publishes may go on after the server was told to stop. A body
   * that has not arrived 2 seconds after that is refused with 503. At half of the period, replies
   * are cut off if all of them are made, and no client reads on in those that the framework
   * streams. How far other replies have been read is not known.
   *
   * @default {10000} 10 s; 4 s on Deno Deploy, which kills after 5 seconds
   */
  gracePeriod?: Duration;
  /** Called when the server listens. A line is printed unless given. */
  onListen?: (address: ListenAddress) => void;
  /**
   * Whether other servers, in workers of this process or in other processes, may listen at the same port, so that the system
   * spreads connections over them. Linux does; Deno asks for `--unstable-net`.
   *
   * @default {false}
   */
  reusePort?: boolean;
  /** The ports to the other workers that serve this application in the same process. `webfw run --workers` gives them. */
  workers?: WorkerPorts;
  /**
   * Whether each request is logged with its status and time.
   *
   * @default {false}
   */
  accessLog?: boolean;
}

const RUN_OPTIONS: OptionNames<RunOptions> = {
  port: true,
  hostname: true,
  signal: true,
  cert: true,
  key: true,
  path: true,
  gracePeriod: true,
  onListen: true,
  reusePort: true,
  workers: true,
  accessLog: true,
};

/**
 * Checks how an application is to be served.
 *
 * @throws {TypeError} When an option is unknown.
 */
export function checkRunOptions(options: RunOptions): void {
  checkOptions(options, RUN_OPTIONS, "run the App");
}

/** What can be served. */
export interface Servable {
  /** Answers a request. */
  readonly fetch: (
    request: Request,
    info?: ConnectionInfo,
  ) => Promise<Response>;
  /** Makes ready for requests. */
  start(): Promise<void>;
  /** Ends streams and WebSockets, since they would never end by themselves, and refuses what is asked from now on. */
  endStreams(): Promise<void>;
  /** What requests' bodies are known by, see `endWaits`. */
  readonly owner: object;
  /** Requests and what replies have left to do; none before the first request. */
  background(): BackgroundTasks | undefined;
  /** Whether the platform may keep WebSockets whose clients have gone. */
  hasBrokenSockets(): boolean;
  /** Waits no longer for what is being published. */
  giveUp(): void;
  /** Closes what was opened. */
  stop(): Promise<void>;
}

/**
 * How long a body may still take to arrive when the server stops, in milliseconds. Of a short grace
 * period it is half.
 */
const BODY_PATIENCE_MS = 2_000;

/** The command line sets this global while it loads a module, and finds the error in it if the module runs an App. */
const LOADING: unique symbol = Symbol.for("webfw.loading");

/** Replies are cut off when clients have read nothing of them for this long, in milliseconds. */
const QUIET_MS = 1_000;

/** The time between two looks at that, in milliseconds. */
const LOOK_MS = 50;

/**
 * Serves until SIGINT, SIGTERM or the signal. Then it accepts no more connections, ends streams,
 * waits for requests in flight, and stops the application.
 *
 * At the end of the grace period publishes are given up. After the signal, requests that still go
 * on are left to themselves; after SIGINT or SIGTERM the process ends with 1. Bodies that do not
 * arrive and replies that nobody reads are cut off before that, and the process ends with 0, at the
 * end of the grace period at the latest. Only lifespans, and up to 3 seconds for a store that is
 * away, come on top.
 *
 * @throws {Deno.errors.AddrInUse} When the port is taken.
 * @throws {Error} When the process is `deno serve`, or `webfw` loads the module that calls this.
 * @throws {RangeError} When the grace period is no length of time.
 * @throws {TypeError} When only one of cert and key is given.
 */
export async function serve(app: Servable, options: RunOptions): Promise<void> {
  const grace = toMilliseconds(options.gracePeriod ?? defaultGrace(), "the gracePeriod");
  if ((options.cert === undefined) !== (options.key === undefined)) {
    throw new TypeError("Cannot run the App: HTTPS takes both cert and key");
  }
  if (Reflect.has(globalThis, LOADING)) {
    const error = new Error(
      `Cannot run the App in a module that "webfw" loads: name a module that only exports it, or start this one with "deno run"`,
    );
    Reflect.set(globalThis, LOADING, error);
    throw error;
  }
  // How Deno Deploy starts a program is not documented.
  if (!isDeploy() && isDenoServe()) {
    throw new Error(
      `Cannot run the App under "deno serve": it serves the default export itself, call run() in another file and start that one with "deno run"`,
    );
  }
  const told = stopRequested(options.signal);
  let giveUp: ReturnType<typeof setTimeout> | undefined;
  const limit = () => giveUp ??= setTimeout(() => app.giveUp(), grace);
  // Whatever goes on by then: a lifespan may publish, too.
  told.promise.then(limit);
  let stop: Stop | undefined;
  try {
    await app.start();
    stop = await listen(app, options, told.promise, grace);
  } finally {
    limit();
    try {
      await app.stop();
    } finally {
      clearTimeout(giveUp);
      // Not before: a second signal would end the process while lifespans unwind.
      told.dispose();
      releaseIdleTimer();
    }
  }
  if (stop.by === "program") return;
  // Connections cannot be cut once the server shuts down, and would keep the process that was told to end.
  if (stop.end === "late") Deno.exit(1);
  // When the program has done what comes after run(), if it waits for that.
  if (stop.end === "cut" || app.hasBrokenSockets()) addEventListener("load", () => Deno.exit());
  // Connections that are left hold the process no longer than this.
  Deno.unrefTimer(setTimeout(() => Deno.exit(), Math.max(0, stop.begin + grace - performance.now())));
}

/**
 * Stops an application with the `deno serve` that serves it. On SIGINT or SIGTERM Deno closes its
 * server and waits for the replies under way, which an event stream never lets it see the end of.
 */
export function stopWithDenoServe(app: Servable): void {
  if (!isDenoServe()) return;
  stopRequested(undefined).promise.then(async () => {
    const begin = performance.now();
    const grace = toMilliseconds(defaultGrace(), "the gracePeriod");
    const giveUp = setTimeout(() => app.giveUp(), grace);
    // Deno has shut its server down already.
    const end = await endRequests(app, grace, async () => await app.background()?.sent());
    await app.stop();
    clearTimeout(giveUp);
    releaseIdleTimer();
    if (end !== "whole") Deno.exit(end === "late" ? 1 : 0);
    // Deno (2.9) does not end the process: timers of the program would keep it.
    Deno.unrefTimer(setTimeout(() => Deno.exit(), Math.max(0, begin + grace - performance.now())));
  });
}

/** How a server came to stop. */
interface Stop {
  readonly by: "system" | "program";
  /** Whether all requests have ended, all but replies that nobody takes, or not all in time. */
  readonly end: "whole" | "cut" | "late";
  /** When it was told to, in milliseconds of `performance.now()`. */
  readonly begin: number;
}

/** Serves until it is told to stop, and ends what it can in time. */
async function listen(app: Servable, options: RunOptions, told: Promise<Stop["by"]>, grace: number): Promise<Stop> {
  const server = openServer(listenOptions(options), options.accessLog ? withAccessLog(app.fetch) : app.fetch);
  const sweeping = import("./http/forms/uploads.ts").then(({ sweepUploads }) => sweepUploads());
  const by = await Promise.race([told, server.finished.then(() => "program" as const)]);
  const begin = performance.now();
  const end = await endRequests(app, grace, async () => {
    await sweeping;
    await server.shutdown();
  });
  return { by, end, begin };
}

/**
 * Ends requests in flight within the grace period, and waits for what they leave to do.
 *
 * @param app Whose requests they are.
 * @param grace The grace period, in milliseconds.
 * @param shutdown Lets the server send what is left, and settles when it has.
 */
async function endRequests(app: Servable, grace: number, shutdown: () => Promise<unknown>): Promise<Stop["end"]> {
  const halfTime = performance.now() + grace / 2;
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => {
    log("warn", "Some requests did not end in the grace period", { gracePeriod: grace });
    resolve("late");
  }, grace);
  const drain = async (): Promise<Stop["end"]> => {
    // This comes first: a shutdown cuts off WebSockets and bodies that are still on their way.
    await Promise.all([app.endStreams(), endWaits(app.owner, Math.min(BODY_PATIENCE_MS, grace / 2))]);
    const isShut = shutdown().then(() => "whole" as const);
    const over = Promise.race([late, isShut]);
    const end = await Promise.race([isShut, untaken(app, halfTime, Math.min(QUIET_MS, grace / 4), over)]);
    await app.background()?.drain();
    return end;
  };
  try {
    return await Promise.race([late, drain()]);
  } finally {
    clearTimeout(timer);
  }
}

/** The same error as Deno's, in one line that names the address, where that is taken. */
function openServer(options: ListenOptions, handler: Servable["fetch"]): HttpServer {
  try {
    return new HttpServer(options, handler);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    const { path, hostname = "", port } = options;
    const address = path ?? `${inUrl(hostname)}:${port}`;
    const what = path === undefined ? "port" : "path";
    const told = new Deno.errors.AddrInUse(
      `Cannot listen on ${address}: the ${what} is taken, stop the program that has it or choose another one`,
    );
    // Where the framework asked for it helps nobody to find the other program.
    told.stack = `${told.name}: ${told.message}`;
    throw told;
  }
}

function listenOptions(options: RunOptions): ListenOptions {
  const { port = 8000, hostname = "127.0.0.1", path, cert, key, reusePort = false } = options;
  const scheme = cert === undefined ? "http" : "https";
  const announce = options.onListen ??
    ((address) =>
      log(
        "info",
        `Listening on ${path ? address.hostname : toUrl(scheme, address)}`,
      ));
  const onListen = (address: Deno.Addr): void => {
    if ("hostname" in address) {
      announce({ hostname: address.hostname, port: address.port });
    } else announce({ hostname: path ?? "", port: 0 });
  };
  if (path !== undefined) return { path, onListen };
  return {
    port,
    hostname,
    onListen,
    reusePort,
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}

function toUrl(scheme: string, { hostname, port }: ListenAddress): string {
  return `${scheme}://${inUrl(hostname)}:${port}`;
}

function inUrl(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** Waits for a signal of the system or of the program. */
function stopRequested(signal: AbortSignal | undefined): { promise: Promise<Stop["by"]>; dispose: () => void } {
  const { promise, resolve } = Promise.withResolvers<Stop["by"]>();
  const stop = () => resolve("program");
  const kill = () => resolve("system");
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const name of signals) Deno.addSignalListener(name, kill);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const dispose = (): void => {
    for (const name of signals) Deno.removeSignalListener(name, kill);
    signal?.removeEventListener("abort", stop);
  };
  return { promise, dispose };
}

/**
 * Settles when nobody reads the last replies, and begins the work that they leave. Only of replies
 * that are made while they are sent it is known whether they are read.
 *
 * @param app Whose replies they are.
 * @param earliest Until when they have time in any case.
 * @param patience For how long nothing of them has been taken, in milliseconds.
 * @param over Settles when nobody waits for them any more.
 */
function untaken(app: Servable, earliest: number, patience: number, over: Promise<unknown>): Promise<"cut"> {
  const background = app.background();
  let { chunks } = streamProgress;
  let quietSince = performance.now();
  return new Promise((resolve) => {
    const looks = setInterval(() => {
      const now = performance.now();
      if ((background?.requests ?? 0) > 0 || chunks !== streamProgress.chunks) quietSince = now;
      chunks = streamProgress.chunks;
      if (now < earliest || now - quietSince < patience) return;
      clearInterval(looks);
      log("warn", "Connections were cut off: their clients do not take the last replies");
      background?.abandonReplies();
      resolve("cut");
    }, LOOK_MS);
    const leave = () => clearInterval(looks);
    over.then(leave, leave);
  });
}

function withAccessLog(fetch: Servable["fetch"]): Servable["fetch"] {
  return async (request, info) => {
    const start = performance.now();
    const response = await fetch(request, info);
    const target = request.url.slice(pathStart(request.url));
    const ms = Math.round((performance.now() - start) * 10) / 10;
    log("info", `${request.method} ${target} ${response.status}`, { ms });
    return response;
  };
}

function defaultGrace(): Duration {
  return isDeploy() ? "4s" : "10s";
}

function isDeploy(): boolean {
  return readVariable("DENO_DEPLOYMENT_ID") !== undefined;
}
