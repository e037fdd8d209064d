/** Operations of the document: one route, as clients see it. */
import type { Route } from "../../routing/route.ts";
import type { Components } from "./components.ts";
import { documentationOf } from "../route/docstring.ts";
import { inputsOf, type ParameterInput } from "../route/inputs.ts";
import type { OpenAPIOperation } from "./document.ts";
import { isDescribedElsewhere } from "./parameters.ts";
import { repliesOf } from "./replies.ts";
import { requestBodyOf } from "./request_body.ts";
import { isCredential } from "./security.ts";

/** What is read of a route. */
export type DescribedRoute = Pick<Route, "name" | "method" | "template" | "operationId" | "options" | "handler">;

/**
 * The operation of a route.
 *
 * @param route The route.
 * @param pathNames What the document calls the names in the path, in their order.
 * @param components Takes up what the operation refers to.
 * @throws {RouteError} With code `conflict`, when a security scheme has the name of another one.
 */
export function operationOf(
  route: DescribedRoute,
  pathNames: readonly string[],
  components: Components,
): OpenAPIOperation {
  const { operationId, options: { tags = [], deprecated }, template: { names } } = route;
  const inputs = inputsOf(route.options, names);
  const nameOf = ({ in: source, name }: ParameterInput) => source === "path" ? pathNames[names.indexOf(name)]! : name;
  const parameters = inputs.parameters
    .filter((input) => !isDescribedElsewhere(input) && !isCredential(input, inputs.dependencies))
    .map((input) => components.parameters.of(input, nameOf(input)));
  const security = components.security.of(route.name, inputs);
  return {
    operationId,
    ...documentationOf(route),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(deprecated && { deprecated }),
    ...(parameters.length > 0 && { parameters }),
    ...(inputs.body && { requestBody: requestBodyOf(inputs.body, operationId, components.models) }),
    responses: repliesOf(route, inputs.canBeInvalid, components.models, components.errors),
    ...(security && { security }),
  };
}
