/** Serves an application on a socket until it is told to stop. */
import { type Duration, toMilliseconds } from "./duration.ts";
import { releaseIdleTimer } from "./http/deadline.ts";
import { type ConnectionInfo, pathStart } from "./http/request.ts";
import { log } from "./log.ts";

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
   * How long requests in flight may take to end after the server was told to stop.
   *
   * @default {10000} 10 s; 4 s on Deno Deploy, which kills after 5 seconds
   */
  gracePeriod?: Duration;
  /** Called when the server listens. A line is printed unless given. */
  onListen?: (address: ListenAddress) => void;
  /**
   * Whether each request is logged with its status and time.
   *
   * @default {false}
   */
  accessLog?: boolean;
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
  /** Ends streams, since they would never end by themselves. */
  endStreams(): void;
  /** Waits for what replies have left to do. */
  settle(): Promise<void>;
  /** Closes what was opened. */
  stop(): Promise<void>;
}

/**
 * Serves until SIGINT, SIGTERM or the signal: then takes no more connections, ends streams, waits for requests in flight, and
 * stops the application.
 *
 * @throws {Deno.errors.AddrInUse} When the port is taken.
 * @throws {RangeError} When the grace period is no length of time.
 * @throws {TypeError} When only one of cert and key is given.
 */
export async function serve(app: Servable, options: RunOptions): Promise<void> {
  const grace = toMilliseconds(options.gracePeriod ?? (isDeploy() ? "4s" : "10s"), "the gracePeriod");
  if ((options.cert === undefined) !== (options.key === undefined)) {
    throw new TypeError("Cannot run the App: HTTPS takes both cert and key");
  }
  await app.start();
  try {
    await listen(app, options, grace);
  } finally {
    await app.stop();
    releaseIdleTimer();
  }
}

async function listen(app: Servable, options: RunOptions, grace: number): Promise<void> {
  const abort = new AbortController();
  const server = Deno.serve(
    { ...listenOptions(options), signal: abort.signal },
    options.accessLog ? withAccessLog(app.fetch) : app.fetch,
  );
  const told = stopRequested(options.signal);
  try {
    await Promise.race([told.promise, server.finished]);
    app.endStreams();
    await withinGrace(server.shutdown().then(() => app.settle()), grace, () => abort.abort());
  } finally {
    told.dispose();
  }
}

function listenOptions(
  options: RunOptions,
): Deno.ServeTcpOptions & Partial<Deno.TlsCertifiedKeyPem> {
  const { port = 8000, hostname = "127.0.0.1", path, cert, key } = options;
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
  if (path !== undefined) {
    return { path, onListen } as unknown as Deno.ServeTcpOptions;
  }
  return {
    port,
    hostname,
    onListen,
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  };
}

function toUrl(scheme: string, { hostname, port }: ListenAddress): string {
  return `${scheme}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/** Waits for a signal of the system or of the program. */
function stopRequested(
  signal: AbortSignal | undefined,
): { promise: Promise<void>; dispose: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const name of signals) Deno.addSignalListener(name, stop);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const dispose = (): void => {
    for (const name of signals) Deno.removeSignalListener(name, stop);
    signal?.removeEventListener("abort", stop);
  };
  return { promise, dispose };
}

/** Waits for requests in flight and what they leave to do; when time is up their connections are closed. */
async function withinGrace(end: Promise<void>, gracePeriod: number, cut: () => void): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(() => resolve("late"), gracePeriod);
  try {
    if (await Promise.race([end, late]) !== "late") return;
    log("warn", "Requests were cut off, since they did not end in time", { gracePeriod });
    cut();
  } finally {
    clearTimeout(timer);
  }
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

function isDeploy(): boolean {
  const { state } = Deno.permissions.querySync({
    name: "env",
    variable: "DENO_DEPLOYMENT_ID",
  });
  return state === "granted" && Deno.env.has("DENO_DEPLOYMENT_ID");
}
