/** The arguments of a tool: what a client has to say for a route, by the names that its handler uses. */
import { RouteError } from "../../errors.ts";
import type { Route } from "../../routing/route.ts";
import { type BodyInput, inputsOf, type ParameterInput } from "../route/inputs.ts";

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
