/** The endpoint that tells load balancers whether to send requests to this process. */
import type { BackgroundTasks } from "./http/after_response.ts";
import { pathEnd, pathStart } from "./http/query.ts";
import type { ConnectionInfo } from "./http/request.ts";
import { describeError, log } from "./log.ts";
import type { ReservedPath } from "./routing/registry.ts";
import { tracing } from "./telemetry.ts";

/** Answers requests. */
type Fetch = (request: Request, info?: ConnectionInfo) => Promise<Response>;

/** What decides whether an application is ready. */
export interface ReadinessParts {
  readonly lifecycle: {
    /** Undefined until everything has started, and again while the application stops. */
    readonly openState: unknown;
    /** Aborted while the application stops. */
    readonly stopping: AbortSignal;
  };
  readonly background: () => BackgroundTasks | undefined;
  /** Starts the application, once. */
  readonly start: () => Promise<void>;
}

/** The endpoint of one application. It has no part in what other requests pass. */
export class Readiness implements ReservedPath {
  readonly path: string;
  readonly what = "its readiness";
  readonly option = "readyUrl";
  readonly #parts: ReadinessParts;

  private constructor(path: string, parts: ReadinessParts) {
    this.path = path;
    this.#parts = parts;
  }

  /** The endpoint at a path; undefined without a path. */
  static at(path: string | null, parts: ReadinessParts): Readiness | undefined {
    return path === null ? undefined : new Readiness(path, parts);
  }

  /** Answers a GET or HEAD of its path, and leaves other requests to the application. */
  before(fetch: Fetch): Fetch {
    return (request, info) => {
      if (!this.#isFor(request)) return fetch(request, info);
      tracing?.nameRequest(request.method, this.path);
      return Promise.resolve(this.#reply());
    };
  }

  #isFor({ url, method }: Request): boolean {
    const start = pathStart(url);
    if (!url.startsWith(this.path, start) || pathEnd(url, start) !== start + this.path.length) return false;
    return method === "GET" || method === "HEAD";
  }

  #reply(): Response {
    const { lifecycle, background, start } = this.#parts;
    const isEnding = background()?.isEnding === true || lifecycle.stopping.aborted;
    const isReady = !isEnding && lifecycle.openState !== undefined;
    // Under `deno serve`, nothing else may start the application: it gets no request before this.
    if (!isReady && !isEnding) start().catch(logFailure);
    const headers = new Headers({ "content-type": "text/plain;charset=UTF-8", "cache-control": "no-store" });
    if (isEnding) headers.set("connection", "close");
    const body = isReady ? "ready" : isEnding ? "stopping" : "starting";
    return new Response(body, { status: isReady ? 200 : 503, headers });
  }
}

function logFailure(error: unknown): void {
  log("error", "The application failed to start", { error: describeError(error) });
}
