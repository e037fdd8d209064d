/**
 * The checks of routes and scopes when they are declared: the document and agents must be able to
 * describe them.
 */
import { isAsyncGeneratorFunction } from "../binding/dependency.ts";
import { isStream } from "../binding/stream_body.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import type { AnyRoute, RegistryChecks } from "../routing/registry.ts";
import { Route } from "../routing/route.ts";
import type { Scope } from "../routing/scope.ts";
import { WebSocketRoute } from "../routing/websocket_route.ts";
import { checkJson, faultOf } from "./json_schema/model_check.ts";
import { checkTool, isTool, toolError } from "./mcp/tool_check.ts";

/** The checks of an application and its routers. */
export const REGISTRY_CHECKS: RegistryChecks = { scope: checkScope, route: checkRoute, included: checkIncluded };

/** @throws {TypeError} If JSON cannot carry the values of a model. */
function checkScope({ options: { responses } }: Scope, action: string): void {
  checkResponses(responses, action);
}

/** @throws {RouteError} With code `tool`, if the route cannot be a tool in its scopes. */
function checkIncluded(route: AnyRoute): void {
  if (route instanceof Route) checkTool(route);
}

/**
 * @throws {TypeError} If JSON cannot carry the values of a model, or a tool option is wrong.
 * @throws {RouteError} With code `tool`, if the route cannot be a tool.
 */
function checkRoute(route: AnyRoute): void {
  const action = `register ${route.name}`;
  if (route instanceof WebSocketRoute) {
    const { receive, send } = route.options;
    if (receive) checkJson("input", receive, "receive", action);
    if (send) checkJson("output", send, "send", action);
    return;
  }
  checkTool(route);
  const { body, form, response, responses } = route.options;
  const check = isTool(route) ? toolModelCheck(route) : checkJson;
  if (body && !isStream(body)) check("input", body, "body", action);
  if (form) check("input", form.schema, "form", action);
  if (response) check("output", response, isAsyncGeneratorFunction(route.handler) ? "item" : "response", action);
  checkResponses(responses, action);
}

function checkResponses(responses: RouteDeclaration["responses"], action: string): void {
  for (const [status, model] of Object.entries(responses ?? {})) {
    checkJson("output", model, `response${status}`, action);
  }
}

/**
 * Agents get the list of all tools at once, so one model that cannot be described would leave them
 * none. For tools, a lazy schema that is not defined yet is a fault, too.
 */
function toolModelCheck(route: Route): typeof checkJson {
  return (form, model, role) => {
    const fault = faultOf(form, model, role);
    if (fault) throw toolError(route, fault.message);
  };
}
