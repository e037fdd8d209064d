/** Runs a call of a tool through the application, as if its request had come by HTTP. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { HTTPError, isHTTPError } from "../../errors.ts";
import { type ConnectionInfo, contextOf, type HttpRequest } from "../../http/request.ts";
import { toHTTPError } from "../../http/reply.ts";
import type { RouteInfo } from "../../http/route_info.ts";
import { pathEnd, pathStart } from "../../http/query.ts";
import { describeError, log } from "../../log.ts";
import type { Refusal } from "../../routing/dispatch.ts";
import { isStackOverflow } from "../../schema/stack.ts";
import type { ReplyBudget } from "./reply_budget.ts";
import type { Tool } from "./tool.ts";
import { failed, problemText, toResult } from "./tool_result.ts";
import { type CallArguments, type CallRequest, toRequest } from "./tool_request.ts";

/** The application, as far as a call needs it. */
export interface Callable {
  /** Answers a request as the application answers those of HTTP. */
  readonly fetch: (request: Request, info?: ConnectionInfo) => Promise<Response>;
  /**
   * The route that serves a method and path; null where it is one of the application's own.
   *
   * @throws {HTTPError} When none does.
   */
  readonly find: (method: string, path: string) => RouteInfo | null;
  /**
   * Tells the faults of a request, as the route does where it finds them by itself: middlewares and
   * guards run before.
   *
   * @throws {HTTPError} With 503, when the application has stopped.
   */
  readonly refuse: (request: Request, refusal: Refusal, info?: ConnectionInfo) => Promise<Response>;
}

/**
 * Calls a tool. Middleware, guards, validation, dependencies, handler and response model all run,
 * for the caller's headers and address. It never rejects: what goes wrong is a result that says so.
 *
 * @param tool The tool.
 * @param args What the agent gave.
 * @param caller The request that brought the call.
 * @param app What serves it.
 * @param budget Bounds its reply. Where it is spent, nothing is called.
 */
export async function callTool(
  tool: Tool,
  args: CallArguments,
  caller: HttpRequest,
  app: Callable,
  budget: ReplyBudget,
): Promise<CallToolResult> {
  if (budget.isSpent) return failed(`Not called: ${budget.refusal}`);
  try {
    const { request, values, issues } = requestOf(tool, args, caller);
    const { connection } = contextOf(caller);
    if (issues.length > 0) {
      const refusal = await app.refuse(request, { route: tool.route, values, issues }, connection);
      return await toResult(refusal, tool.form, budget, request.url);
    }
    checkDestination(request, tool, app);
    const response = await app.fetch(request, connection);
    return await toResult(response, tool.form, budget, request.url);
  } catch (thrown) {
    if (!isHTTPError(thrown)) {
      log("error", "A tool failed", { tool: tool.definition.name, error: describeError(thrown) });
    }
    const text = problemText(toHTTPError(thrown).toProblem());
    return failed(budget.take(text.length) ? text : budget.refusal);
  }
}

function requestOf(tool: Tool, args: CallArguments, caller: HttpRequest): CallRequest {
  try {
    return toRequest(tool, args, caller);
  } catch (error) {
    throw isStackOverflow(error) ? new HTTPError(400, "The arguments are nested too deeply") : error;
  }
}

/** An argument in the path can spell the path of another route, which nobody exposed: `me` for `/users/{id}` beside `/users/me`. */
function checkDestination({ method, url }: Request, { route }: Tool, { find }: Callable): void {
  const start = pathStart(url);
  if (find(method, url.slice(start, pathEnd(url, start))) === route) return;
  throw new HTTPError(404, "The arguments lead to another route than that of the tool");
}
