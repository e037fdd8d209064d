/** What the framework knows of one request and its reply, and keeps from handlers: they see an `HttpRequest`. */
import type { AppHandle } from "./app_handle.ts";
import { BodyReader } from "./body.ts";
import { Completion } from "./completion.ts";
import type { ResolvedLimits } from "./limits.ts";
import type { RouteInfo } from "./route_info.ts";

/** What a server tells of a connection; the part of `Deno.ServeHandlerInfo` that webfw reads. */
export interface ConnectionInfo {
  /** The address of the client. */
  readonly remoteAddr?: Deno.Addr;
  /** Settles when the reply has been sent, or cannot be any more. */
  readonly completed?: Promise<void>;
}

/** What serves a request, as far as the request has to know it. */
export interface MatchedRoute {
  /** The route, for others to read; null where none matches. */
  readonly info: RouteInfo | null;
  /** The names of the path's parameters, in their order. */
  readonly names: readonly string[];
  /** The bounds that hold for it. */
  readonly limits: ResolvedLimits;
}

/** One request and what belongs to it. */
export class Exchange {
  /** The platform's request. */
  readonly raw: Request;
  /** The application that serves it. */
  readonly app: AppHandle;
  /** What serves it. */
  readonly matched: MatchedRoute;
  /** The values of the path's parameters, decoded, in their order. */
  readonly values: readonly string[];
  /** Where the path ends in the URL's text. */
  readonly pathEnd: number;
  /** What the server tells of the connection; undefined where the request came by none. */
  readonly connection: ConnectionInfo | undefined;
  /** The work that is left when the reply has gone, if there is any. */
  completion: Completion | undefined;
  /** Headers for the handler's reply, if any were set. */
  replyHeaders: Headers | undefined;
  /** The reply whose headers are known to be open to changes. */
  openReply: Response | undefined;
  #body: BodyReader | undefined;

  constructor(
    raw: Request,
    app: AppHandle,
    matched: MatchedRoute,
    values: readonly string[],
    pathEnd: number,
    connection: ConnectionInfo | undefined,
  ) {
    this.raw = raw;
    this.app = app;
    this.matched = matched;
    this.values = values;
    this.pathEnd = pathEnd;
    this.connection = connection;
    this.completion = undefined;
    this.replyHeaders = undefined;
    this.openReply = undefined;
  }

  /** The body, within the limits. */
  get body(): BodyReader {
    return this.#body ??= new BodyReader(this, this.matched.limits, this.connection === undefined);
  }

  /** Lets go of what nobody is going to read of the body any more. */
  releaseBody(): void {
    this.#body?.release();
  }

  /** The work that is left when the reply has gone, to add to. */
  openCompletion(): Completion {
    return this.completion ??= new Completion();
  }
}
