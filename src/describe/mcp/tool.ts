/** A route as an agent sees and calls it. */
import type { ResolvedLimits } from "../../http/limits.ts";
import type { ToolAnnotations } from "../../http/route_info.ts";
import type { Route } from "../../routing/route.ts";
import { documentationOf } from "../route/docstring.ts";
import { checkOf } from "./argument_check.ts";
import { annotationsOf } from "./tool_annotations.ts";
import { argumentsOf } from "./tool_arguments.ts";
import { toolOptionsOf } from "./tool_options.ts";
import type { RequestPlan } from "./tool_request.ts";
import type { OutputForm } from "./tool_result.ts";
import { inputSchemaOf, nullableOf, type ObjectSchema, outputOf } from "./tool_schema.ts";

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
