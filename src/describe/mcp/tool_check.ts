/** Checks, when a route is registered, that agents can be told of it. */
import { isAsyncGeneratorFunction } from "../../binding/async_function.ts";
import { isStream } from "../../binding/stream_body.ts";
import { RouteError } from "../../errors.ts";
import type { Route } from "../../routing/route.ts";
import { holdsBinary, isBinary } from "../json_schema/binary.ts";
import { isPlain } from "./plain_schema.ts";
import { isTool, toTool } from "./tool.ts";
import { argumentsOf } from "./tool_arguments.ts";

/** What a tool's options may hold, and of which type. */
const OPTIONS = { name: "string", description: "string", annotations: "object" };
const ANNOTATIONS = {
  title: "string",
  readOnlyHint: "boolean",
  destructiveHint: "boolean",
  idempotentHint: "boolean",
  openWorldHint: "boolean",
};

/** What all agents take: the specification allows more, some of them do not. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Checks a route that may be exposed as a tool. One that is not costs a look at its options.
 *
 * @param route The route.
 * @throws {TypeError} When an option is unknown, or of the wrong type.
 * @throws {RouteError} With code `tool`, when agents cannot be told of the route, or cannot call it.
 */
export function checkTool(route: Route): void {
  const { tool } = route.options;
  if (typeof tool === "object" && tool !== null) {
    checkMembers(tool, OPTIONS, "tool", route);
    checkMembers(tool.annotations ?? {}, ANNOTATIONS, "tool.annotations", route);
    if (tool.name !== undefined && !NAME.test(tool.name)) {
      throw refusal(route, `the name "${tool.name}" must be 1 to 64 letters, digits, "_" and "-"`);
    }
  } else if (tool !== undefined && typeof tool !== "boolean") {
    throw new TypeError(`Cannot register ${route.name}: "tool" must be true, or its options`);
  }
  if (!isTool(route)) return;
  if (route.method === "HEAD") throw refusal(route, "a HEAD request is answered without a result, use GET");
  if (isAsyncGeneratorFunction(route.handler)) {
    throw refusal(route, "its handler streams, and a tool has one result: return a list from an async function");
  }
  checkBytes(route);
  if (isDescribable(route)) return;
  try {
    toTool(route, route.operationId);
  } catch (error) {
    if (error instanceof RouteError || !(error instanceof Error)) throw error;
    throw refusal(route, error.message);
  }
}

/** What agents give and get is JSON. */
function checkBytes(route: Route): void {
  const { body, form, response } = route.options;
  if (body && isStream(body)) throw refusal(route, "its body is a stream of bytes, which agents cannot send");
  if (form && holdsBinary(form.schema)) throw refusal(route, "its form takes files, which agents cannot send");
  if (response?.type === "instance" && !isBinary(response)) {
    throw refusal(route, "its result is a stream, and a tool has one result: return a value or a Blob");
  }
}

/**
 * Whether it is plain that a route can be told of. To tell of it takes longer than to register it.
 *
 * @throws {RouteError} With code `tool`, when two arguments have the same name.
 */
function isDescribable(route: Route): boolean {
  const { response } = route.options;
  const inputs = argumentsOf(route).flatMap(({ input }) => "in" in input ? input.schemas : [input.schema]);
  return inputs.every(isPlain) && (response === undefined || isPlain(response));
}

function refusal(route: Route, reason: string): RouteError {
  return new RouteError("tool", `Cannot expose ${route.name} as a tool: ${reason}`);
}

function checkMembers(given: object, known: Readonly<Record<string, string>>, name: string, route: Route): void {
  for (const [key, value] of Object.entries(given)) {
    if (!Object.hasOwn(known, key)) {
      const names = Object.keys(known).join(", ");
      throw new TypeError(`Cannot register ${route.name}: the option "${name}.${key}" is unknown, use ${names}`);
    }
    if (value !== undefined && typeof value !== known[key]) {
      throw new TypeError(`Cannot register ${route.name}: "${name}.${key}" must be of type ${known[key]}`);
    }
  }
}
