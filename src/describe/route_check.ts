/** Checks, when a route is registered, that documents and agents can be told of it. */
import { isAsyncGeneratorFunction } from "../binding/dependency.ts";
import { isStream } from "../binding/stream_body.ts";
import type { AnyRoute } from "../routing/registry.ts";
import type { Route } from "../routing/route.ts";
import { WebSocketRoute } from "../routing/websocket_route.ts";
import { checkJson, faultOf } from "./json_schema/models.ts";
import { checkTool, isTool, toolError } from "./mcp/tool_check.ts";

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
  checkTool(route);
  const { body, form, response, responses = {} } = route.options;
  const check = isTool(route) ? toolModelCheck(route) : checkJson;
  if (body && !isStream(body)) check("input", body, "body", action);
  if (form) check("input", form.schema, "form", action);
  if (response) check("output", response, isAsyncGeneratorFunction(route.handler) ? "item" : "response", action);
  for (const [status, model] of Object.entries(responses)) checkJson("output", model, `response${status}`, action);
}

/** Agents are told of all tools at once, and of none over one that cannot be told, be it for a lazy schema that is not there yet. */
function toolModelCheck(route: Route): typeof checkJson {
  return (form, model, role) => {
    const fault = faultOf(form, model, role);
    if (fault) throw toolError(route, fault.message);
  };
}
