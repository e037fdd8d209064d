import type { ResolvedLimits } from "../../http/limits.ts";
import type { ToolAnnotations } from "../../http/route_info.ts";
import type { Route } from "../../routing/route.ts";
import { documentationOf } from "../route/docstring.ts";
import { checkOf, type RequestPlan } from "./tool_request.ts";
import { argumentsOf, toolOptionsOf } from "./tool_check.ts";
import type { OutputForm } from "./tool_result.ts";
import { inputSchemaOf, nullableOf, type ObjectSchema, outputOf } from "./tool_schema.ts";

/** Names tools: each name stands once in an application, in letters that every agent takes. */

const MAX_LENGTH = 64;

/**
 * Names the tools of an application: a name that was declared stays, one that was derived gets a number where it is taken.
 *
 * @param routes The routes with a tool, in their order, their operations named.
 */
export function assignToolNames(routes: readonly Route[]): Map<Route, string> {
  const taken = new Set(routes.map((route) => toolOptionsOf(route).name));
  const names = new Map<Route, string>();
  for (const route of routes) {
    const name = toolOptionsOf(route).name ?? freeName(toToolName(route.operationId), taken);
    taken.add(name);
    names.set(route, name);
  }
  return names;
}

/** The name of an operation in the letters that a tool's name may have. */
function toToolName(operationId: string): string {
  const ascii = operationId.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^A-Za-z0-9_-]+/g, "_");
  return /[A-Za-z0-9]/.test(ascii) ? ascii.slice(0, MAX_LENGTH) : "tool";
}

/** The number takes the place of the last letters where both do not fit. */
function freeName(wanted: string, taken: ReadonlySet<string | undefined>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number++) {
    name = `${wanted.slice(0, MAX_LENGTH - String(number).length)}${number}`;
  }
  return name;
}

/** What an agent may expect of a call, read off the method. */

/** Methods that change nothing (RFC 9110 section 9.2.1). */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
/** Methods that may be repeated (RFC 9110 section 9.2.2). */
const IDEMPOTENT = new Set([...SAFE, "PUT", "DELETE"]);

/**
 * The annotations of a tool. What HTTP does not promise of a method is not promised: a POST may destroy something.
 *
 * @param method The method of the route.
 * @param title A title for people, where there is one.
 * @param declared What the route says itself.
 */
export function annotationsOf(
  method: string,
  title: string | undefined,
  declared: ToolAnnotations = {},
): ToolAnnotations {
  const readOnlyHint = declared.readOnlyHint ?? SAFE.has(method);
  return {
    ...(title === undefined ? {} : { title }),
    destructiveHint: !readOnlyHint,
    idempotentHint: readOnlyHint || IDEMPOTENT.has(method),
    openWorldHint: false,
    ...declared,
    readOnlyHint,
  };
}

/** A route as an agent sees and calls it. */

/** What an agent is told of a tool. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema;
  readonly annotations: ToolAnnotations;
}

/** A route as an agent sees and calls it. */
export interface Tool extends RequestPlan {
  /** What an agent is told. */
  readonly definition: ToolDefinition;
  /** What is declared of its results. */
  readonly form: OutputForm;
}

/**
 * Makes the tool of a route that has been checked.
 *
 * @param route The route.
 * @param name The name of the tool, unique in the application.
 * @param limits Those of the application.
 */
export function toTool(route: Route, name: string, limits: ResolvedLimits): Tool {
  const { summary, description } = documentationOf(route);
  const { annotations, ...options } = toolOptionsOf(route);
  const args = argumentsOf(route);
  const inputSchema = inputSchemaOf(args);
  const output = outputOf(route.options.response);
  const title = annotations?.title ?? summary?.replace(/\.$/, "");
  const words = [summary, description].filter((text) => text !== undefined).join("\n\n");
  const definition: ToolDefinition = {
    name,
    ...(title !== undefined && { title }),
    description: options.description ?? (words === "" ? route.name : words),
    inputSchema,
    ...(output.schema && { outputSchema: output.schema }),
    annotations: annotationsOf(route.method, title, annotations),
  };
  return {
    route,
    arguments: args,
    maxBody: route.limitsOver(limits).body,
    nullable: nullableOf(inputSchema),
    checks: new Map(args.map((argument) => [argument.name, checkOf(argument)])),
    definition,
    form: output.form,
  };
}
