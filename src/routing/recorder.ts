/**
 * What the dispatcher and the pipeline call where an application shows its board; see src/board.
 */
import type { RequestContext } from "../http/context.ts";
import type { HttpRequest } from "../http/request.ts";
import type { RouteInfo } from "../http/route_info.ts";
import type { ErrorBoundary, Middleware } from "./middleware.ts";

/** The kinds of parts that a request has. */
export type PartKind =
  | "precheck"
  | "middleware"
  | "guard"
  | "dependency"
  | "validation"
  | "handler"
  | "mount"
  | "model"
  | "reply"
  | "task";

/**
 * Records requests. Its methods wrap what a route runs, when the route is compiled: so an
 * application without a board runs nothing of it.
 */
export interface RequestRecorder {
  /** Whether the next request is recorded with its parts, and not only counted. */
  takes(): boolean;
  /** Runs a request without its parts, and counts it. */
  count(context: RequestContext, route: RouteInfo | null, run: () => Promise<Response>): Promise<Response>;
  /** Runs a request. `route` is null if none matches. */
  record(
    context: RequestContext,
    request: HttpRequest,
    route: RouteInfo | null,
    run: () => Promise<Response>,
  ): Promise<Response>;
  /** Wraps a step of a request, which may be sync or async. */
  step<Step extends (...args: never[]) => unknown>(kind: PartKind, name: string, run: Step): Step;
  middleware(middleware: Middleware): Middleware;
  errors(boundary: ErrorBoundary): ErrorBoundary;
}
