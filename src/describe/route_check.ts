/** Checks, when a route is registered, that documents and agents can be told of it. */
import { isAsyncGeneratorFunction } from "../binding/async_function.ts";
import { isStream } from "../binding/stream_body.ts";
import type { AnyRoute } from "../routing/registry.ts";
import { WebSocketRoute } from "../routing/websocket_route.ts";
import { checkJson } from "./json_schema/json_check.ts";
import { checkTool } from "./mcp/tool_check.ts";

/**
 * Checks a route.
 *
 * @param route The route.
 * @throws {TypeError} When JSON cannot carry what a model stands for, or an option of a tool is wrong.
 * @throws {RouteError} With code `tool`, when agents cannot be told of the route, or cannot call it.
 */
export function checkRoute(route: AnyRoute): void {
  const action = `register ${route.name}`;
  if (route instanceof WebSocketRoute) {
    const { receive, send } = route.options;
    if (receive) checkJson("input", receive, "receive", action);
    if (send) checkJson("output", send, "send", action);
    return;
  }
  // First: it says more of a route that is a tool.
  checkTool(route);
  const { body, form, response, responses = {} } = route.options;
  if (body && !isStream(body)) checkJson("input", body, "body", action);
  if (form) checkJson("input", form.schema, "form", action);
  if (response) checkJson("output", response, isAsyncGeneratorFunction(route.handler) ? "item" : "response", action);
  for (const [status, model] of Object.entries(responses)) checkJson("output", model, `response${status}`, action);
}
