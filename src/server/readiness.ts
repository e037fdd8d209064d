/** The endpoint that shows load balancers whether to send requests to this process. */
import type { BackgroundTasks } from "../http/after_response.ts";
import { pathEnd, pathStart } from "../http/query.ts";
import { type Fetch, LoggedConnection } from "../http/connection.ts";
import type { ReservedPath } from "../routing/registry.ts";
import { tracing } from "../log/telemetry.ts";
import { describeError, log } from "../log/log.ts";

interface Startable {
  background(): BackgroundTasks | undefined;
  start(): Promise<void>;
}

interface Progress {
  /** Undefined before the start has ended, and while the application stops. */
  readonly openState: unknown;
  readonly stopping: AbortSignal;
}

/** It answers before hosts, limits and middleware. */
export class Readiness implements ReservedPath {
  readonly path: string;
  readonly what = "its readiness";
  readonly option = "readyUrl";
  readonly #app: Startable;
  readonly #progress: Progress;

  constructor(path: string, app: Startable, progress: Progress) {
    this.path = path;
    this.#app = app;
    this.#progress = progress;
  }

  /** Answers a GET or HEAD of its path, and passes other requests on. */
  before(fetch: Fetch): Fetch {
    return (request, info) => {
      if (!this.#isFor(request)) return fetch(request, info);
      if (info instanceof LoggedConnection) info.isLogged = false;
      tracing?.nameRequest(request.method, this.path);
      return Promise.resolve(this.#reply(request.method));
    };
  }

  #isFor({ url, method }: Request): boolean {
    const start = pathStart(url);
    if (!url.startsWith(this.path, start) || pathEnd(url, start) !== start + this.path.length) return false;
    return method === "GET" || method === "HEAD";
  }

  #reply(method: string): Response {
    const { openState, stopping } = this.#progress;
    const isEnding = this.#app.background()?.isEnding === true || stopping.aborted;
    const isReady = !isEnding && openState !== undefined;
    // Retry a start that failed, or make the one that no server has made.
    if (!isReady && !isEnding) this.#app.start().catch(reportFailedStart);
    const headers = new Headers({ "content-type": "text/plain;charset=UTF-8", "cache-control": "no-store" });
    if (isEnding) headers.set("connection", "close");
    const body = isReady ? "ready" : isEnding ? "stopping" : "starting";
    headers.set("content-length", String(body.length));
    // Deno (2.9) would send the header over HTTP/2.
    return new Response(method === "HEAD" ? null : body, { status: isReady ? 200 : 503, headers });
  }
}

/** Logs the error, and records it on the span of the request that needs the application. */
export function reportFailedStart(error: unknown): void {
  tracing?.fail(error);
  log("error", "The application failed to start", { error: describeError(error) });
}
