/** Which routes are tools, their arguments, and the checks at registration. */
import { isAsyncGeneratorFunction } from "../../binding/dependency.ts";
import { isStream } from "../../binding/bodies.ts";
import { RouteError } from "../../base/errors.ts";
import { isDeclaredReply } from "../../http/replies/declared_reply.ts";
import type { ToolAnnotations, ToolOptions } from "../../http/route_info.ts";
import { checkOptions, type OptionNames } from "../../base/options.ts";
import type { Route } from "../../routing/route.ts";
import { isBinary } from "../../schema/schema.ts";
import { holdsBinary } from "../json_schema/values.ts";
import { type BodyInput, inputsOf, type ParameterInput } from "../route/inputs.ts";

export interface ToolArgument {
  readonly name: string;
  readonly input: ParameterInput | BodyInput;
}

const OPTIONS: Record<keyof ToolOptions, string> = { name: "string", description: "string", annotations: "object" };
const ANNOTATIONS: Record<keyof ToolAnnotations, string> = {
  title: "string",
  readOnlyHint: "boolean",
  destructiveHint: "boolean",
  idempotentHint: "boolean",
  openWorldHint: "boolean",
};

/** All agents accept these. The specification allows more. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export function isTool({ options: { tool } }: Pick<Route, "options">): boolean {
  return tool !== undefined && tool !== false;
}

/** Empty for `tool: true`. */
export function toolOptionsOf({ options: { tool } }: Pick<Route, "options">): ToolOptions {
  return typeof tool === "object" ? tool : {};
}

/**
 * Path, query and body of the route, and the query of its dependencies. Headers and cookies are
 * those of the agent's request.
 *
 * @throws {RouteError} With code `tool`, if two arguments have the same name.
 */
export function argumentsOf(route: Route): ToolArgument[] {
  const { parameters, body } = inputsOf(route.options, route.template.names, route.levels);
  const args: ToolArgument[] = parameters.filter((input) => input.in === "path" || input.in === "query")
    .map((input) => ({ name: input.name, input }));
  if (!body) return args;
  if (args.some(({ name }) => name === body.name)) {
    throw new RouteError(
      "tool",
      `Cannot expose ${route.name} as a tool: "${body.name}" is its ${body.name} and a query parameter of a dependency, rename that`,
    );
  }
  return [...args, { name: body.name, input: body }];
}

/**
 * Checks all but the models.
 *
 * @throws {TypeError} If an option is unknown, or has the wrong type.
 * @throws {RouteError} With code `tool`, if the route cannot be a tool.
 */
export function checkTool(route: Route): void {
  const { tool } = route.options;
  if (typeof tool === "object" && tool !== null) {
    checkMembers(tool, OPTIONS, "tool", route);
    checkMembers(tool.annotations === undefined ? {} : tool.annotations, ANNOTATIONS, "tool.annotations", route);
    if (tool.name !== undefined && !NAME.test(tool.name)) {
      throw toolError(route, `the name "${tool.name}" must be 1 to 64 letters, digits, "_" and "-"`);
    }
  } else if (tool !== undefined && typeof tool !== "boolean") {
    throw new TypeError(`Cannot register ${route.name}: "tool" must be true, or its options`);
  }
  if (!isTool(route)) return;
  if (route.options.hidden) {
    throw toolError(
      route,
      'it is hidden, and agents see all tools: leave out "tool", or "hidden" of it or of its scopes',
    );
  }
  if (route.idempotency?.isRequired) {
    throw toolError(
      route,
      'it requires an Idempotency-Key, which agents do not send: leave out "required" of "idempotent"',
    );
  }
  if (route.options.ifMatch === "required") {
    throw toolError(route, 'it requires If-Match, which agents do not send: declare ifMatch: "optional"');
  }
  if (route.method === "HEAD") throw toolError(route, "the reply to a HEAD request has no result, use GET");
  if (isAsyncGeneratorFunction(route.handler)) {
    throw toolError(route, "its handler streams, and a tool has one result: return an array from an async function");
  }
  const { body, form, response } = route.options;
  if (body && isStream(body)) throw toolError(route, "its body is a stream of bytes, which agents cannot send");
  if (form && holdsBinary(form.schema)) throw toolError(route, "its form takes files, which agents cannot send");
  const isStreamed = isDeclaredReply(response) && "item" in response;
  if (isStreamed || (response?.type === "instance" && !isBinary(response))) {
    throw toolError(route, "its result is a stream, and a tool has one result: return a value or a Blob");
  }
  // A dependency can reuse the name of the body; the binder checks the names of the handler.
  if (body || form) argumentsOf(route);
}

export function toolError(route: Route, reason: string): RouteError {
  return new RouteError("tool", `Cannot expose ${route.name} as a tool: ${reason}`);
}

function checkMembers<Given extends object>(given: Given, known: OptionNames<Given>, name: string, route: Route): void {
  checkOptions(given, known, `register ${route.name}`, `${name}.`);
  for (const key of Object.keys(known) as (keyof Given & string)[]) {
    const value = given[key];
    if (value !== undefined && typeof value !== known[key]) {
      throw new TypeError(`Cannot register ${route.name}: "${name}.${key}" must be of type ${known[key]}`);
    }
  }
}
