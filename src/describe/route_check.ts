/** Checks declared routes and scopes: documents and agents must be able to describe them. */
import { isAsyncGeneratorFunction } from "../binding/dependency.ts";
import { isStream } from "../binding/bodies.ts";
import { isDeclaredReply } from "../http/replies/declared_reply.ts";
import { alternativesAt, type NamedExamples } from "../http/documented.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import type { AnyRoute, RegistryChecks } from "../routing/registry.ts";
import { Route } from "../routing/route.ts";
import type { Scope } from "../routing/scope.ts";
import type { Schema } from "../schema/schema.ts";
import { WebSocketRoute } from "../routing/websocket_route.ts";
import { toJson } from "./json_schema/json_schema.ts";
import { checkJson, faultOf } from "./json_schema/models.ts";
import { checkTool, isTool, toolError } from "./mcp/tool_check.ts";

export const REGISTRY_CHECKS: RegistryChecks = { scope: checkScope, route: checkRoute, included: checkIncluded };

function checkScope({ options: { responses } }: Scope, action: string): void {
  checkResponses(responses, action);
}

function checkIncluded(route: AnyRoute): void {
  if (route instanceof Route) checkTool(route);
}

function checkRoute(route: AnyRoute): void {
  const action = `register ${route.name}`;
  if (route instanceof WebSocketRoute) {
    const { receive, send } = route.options;
    if (receive) checkJson("input", receive, "receive", action);
    if (send) checkJson("output", send, "send", action);
    return;
  }
  checkTool(route);
  const { body, form, response, responses, examples = {}, callbacks = {} } = route.options;
  const check = isTool(route) ? toolModelCheck(route) : checkJson;
  if (body && !isStream(body)) check("input", body, "body", action);
  if (form) check("input", form.schema, "form", action);
  const successes = isDeclaredReply(response) && response.type === "replies" ? response.entries : [];
  for (const [status, entry] of successes) {
    const model = modelOf(entry);
    if (model) check("output", model, `response${status}`, action);
  }
  const model = modelOf(response);
  if (model) {
    check("output", model, model !== response || isAsyncGeneratorFunction(route.handler) ? "item" : "response", action);
  }
  checkResponses(responses, action);
  for (const [part, named] of Object.entries(examples)) checkExamples(named, `examples.${part}`, action);
  for (const [name, { body }] of Object.entries(callbacks)) {
    if (body) checkJson("output", body, `callbacks.${name}.body`, action);
  }
}

function checkResponses(responses: RouteDeclaration["responses"], action: string): void {
  for (const status of Object.keys(responses ?? {})) {
    for (const { schema, headers = {}, examples = {} } of alternativesAt(responses!, status)) {
      const model = modelOf(schema);
      if (model) checkJson("output", model, `response${status}`, action);
      for (const [name, header] of Object.entries(headers)) checkJson("output", header, name, action);
      checkExamples(examples, `responses.${status}.examples`, action);
    }
  }
}

function checkExamples(examples: NamedExamples, name: string, action: string): void {
  for (const [key, { value }] of Object.entries(examples)) {
    if (toJson(value) === undefined) {
      throw new TypeError(`Cannot ${action}: "${name}.${key}.value" is not JSON, write it as clients see it`);
    }
  }
}

/** Of the JSON in a reply, or of each value of a stream. */
function modelOf(reply: Schema | undefined): Schema | undefined {
  if (!isDeclaredReply(reply)) return reply;
  return "item" in reply ? reply.item : undefined;
}

/** One invalid tool would break the list of all tools, so lazy schemas must be defined. */
function toolModelCheck(route: Route): typeof checkJson {
  return (form, model, role) => {
    const fault = faultOf(form, model, role);
    if (fault) throw toolError(route, fault.message);
  };
}
