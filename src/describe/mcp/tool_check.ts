import { isAsyncGeneratorFunction } from "../../binding/dependency.ts";
import { isStream } from "../../binding/stream_body.ts";
import { RouteError } from "../../errors.ts";
import type { ToolAnnotations, ToolOptions } from "../../http/route_info.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import type { Route } from "../../routing/route.ts";
import { holdsBinary, isBinary } from "../json_schema/non_json.ts";
import { type BodyInput, inputsOf, type ParameterInput } from "../route/inputs.ts";

/** What a route says of itself as a tool. */

/** Whether a route is exposed to agents. */
export function isTool({ options: { tool } }: Pick<Route, "options">): boolean {
  return tool !== undefined && tool !== false;
}

/** What a route declares of its tool beside that it is one. */
export function toolOptionsOf({ options: { tool } }: Pick<Route, "options">): ToolOptions {
  return typeof tool === "object" ? tool : {};
}

/** The arguments of a tool: what a client has to say for a route, by the names that its handler uses. */

/** One argument: a parameter of the path or query, or the body, which may be a form. */
export interface ToolArgument {
  readonly name: string;
  readonly input: ParameterInput | BodyInput;
}

/**
 * The arguments of a route: its path, its query and that of its dependencies, and its body. Headers and cookies are those of
 * whoever calls.
 *
 * @param route The route.
 * @throws {RouteError} With code `tool`, when two of them have the same name.
 */
export function argumentsOf(route: Route): ToolArgument[] {
  const { parameters, body } = inputsOf(route.options, route.template.names);
  const found: ToolArgument[] = parameters.filter((input) => input.in === "path" || input.in === "query")
    .map((input) => ({ name: input.name, input }));
  if (!body) return found;
  if (found.some(({ name }) => name === body.name)) {
    throw new RouteError(
      "tool",
      `Cannot expose ${route.name} as a tool: "${body.name}" is its ${body.name} and a query parameter of a dependency, rename that`,
    );
  }
  return [...found, { name: body.name, input: body }];
}

/** Checks, when a route is registered, that agents can be told of it. */

/** What a tool's options may hold, and of which type. */
const OPTIONS: Record<keyof ToolOptions, string> = { name: "string", description: "string", annotations: "object" };
const ANNOTATIONS: Record<keyof ToolAnnotations, string> = {
  title: "string",
  readOnlyHint: "boolean",
  destructiveHint: "boolean",
  idempotentHint: "boolean",
  openWorldHint: "boolean",
};

/** What all agents take: the specification allows more, some of them do not. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Checks a route that may be exposed as a tool, but for its models. One that is not costs a look at its options.
 *
 * @param route The route.
 * @throws {TypeError} When an option is unknown, or of the wrong type.
 * @throws {RouteError} With code `tool`, when agents cannot be told of the route, or cannot call it.
 */
export function checkTool(route: Route): void {
  const { tool } = route.options;
  if (typeof tool === "object" && tool !== null) {
    checkMembers(tool, OPTIONS, "tool", route);
    checkMembers(tool.annotations === undefined ? {} : tool.annotations, ANNOTATIONS, "tool.annotations", route);
    if (tool.name !== undefined && !NAME.test(tool.name)) {
      throw toolRefusal(route, `the name "${tool.name}" must be 1 to 64 letters, digits, "_" and "-"`);
    }
  } else if (tool !== undefined && typeof tool !== "boolean") {
    throw new TypeError(`Cannot register ${route.name}: "tool" must be true, or its options`);
  }
  if (!isTool(route)) return;
  if (route.method === "HEAD") throw toolRefusal(route, "a HEAD request is answered without a result, use GET");
  if (isAsyncGeneratorFunction(route.handler)) {
    throw toolRefusal(route, "its handler streams, and a tool has one result: return a list from an async function");
  }
  checkBytes(route);
  checkNames(route);
}

/**
 * The error over a model that agents cannot be told of.
 *
 * @param route The route.
 * @param reason Why.
 */
export function toolRefusal(route: Route, reason: string): RouteError {
  return new RouteError("tool", `Cannot expose ${route.name} as a tool: ${reason}`);
}

/** What agents give and get is JSON. */
function checkBytes(route: Route): void {
  const { body, form, response } = route.options;
  if (body && isStream(body)) throw toolRefusal(route, "its body is a stream of bytes, which agents cannot send");
  if (form && holdsBinary(form.schema)) throw toolRefusal(route, "its form takes files, which agents cannot send");
  if (response?.type === "instance" && !isBinary(response)) {
    throw toolRefusal(route, "its result is a stream, and a tool has one result: return a value or a Blob");
  }
}

/** Nobody but dependencies can take the name of the body: that of the handler is checked by the binder. */
function checkNames(route: Route): void {
  const { body, form, deps } = route.options;
  if (deps && (body || form)) argumentsOf(route);
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
