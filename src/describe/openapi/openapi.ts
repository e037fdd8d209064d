import type { PathTemplate, Segment } from "../../routing/path.ts";
import { ErrorReplies, type ErrorShaping, repliesOf } from "./replies.ts";
import type {
  OpenAPIComponents,
  OpenAPIDocument,
  OpenAPIMethod,
  OpenAPIOperation,
  OpenAPIPathItem,
} from "./document.ts";
import type { Route } from "../../routing/route.ts";
import { documentationOf } from "../route/docstring.ts";
import { inputsOf, type ParameterInput } from "../route/inputs.ts";
import { isDescribedElsewhere, Parameters, requestBodyOf } from "./parameters.ts";
import { isCredential, SecuritySchemes } from "./security.ts";
import { Models } from "../json_schema/models.ts";

/** The components of a document: what its operations refer to. */

/** Takes up what operations refer to. */
export class Components {
  readonly models: Models = new Models("#/components/schemas/");
  readonly parameters: Parameters = new Parameters(this.models);
  readonly errors: ErrorReplies;
  readonly security: SecuritySchemes = new SecuritySchemes();

  /**
   * Begins without any.
   *
   * @param errors How the application's error replies are shaped.
   */
  constructor(errors: ErrorShaping) {
    this.errors = new ErrorReplies(errors);
  }

  /** All of them. To be called last, once: it names what references stand for. */
  definitions(): OpenAPIComponents {
    // The replies refer to models: they come first, and stand behind.
    const responses = this.errors.definitions(this.models);
    const schemas = this.models.definitions();
    const securitySchemes = this.security.definitions();
    return { schemas, responses, ...(securitySchemes && { securitySchemes }) };
  }
}

/** Operations of the document: one route, as clients see it. */

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

/** The OpenAPI document of an application: its routes by path and method, and what they refer to. */

/** What a document is made of. */
export interface DocumentParts {
  readonly title: string;
  readonly version: string;
  readonly description?: string | undefined;
  /** In the order that the document is to have. */
  readonly routes: readonly DescribedRoute[];
  /** How the error replies are shaped; by the framework, where nothing is said. */
  readonly errors?: ErrorShaping | undefined;
}

const METHODS: ReadonlySet<string> = new Set<OpenAPIMethod>(
  ["get", "put", "post", "delete", "options", "head", "patch"],
);

/**
 * Makes the document. The same parts give the same document, to the order of its keys.
 *
 * @throws {TypeError} When a schema cannot be told in JSON Schema.
 * @throws {RouteError} With code `conflict`, when two security schemes have one name.
 */
export function openapiDocument(
  { title, version, description, routes, errors = "default" }: DocumentParts,
): OpenAPIDocument {
  const components = new Components(errors);
  const paths = new Paths();
  const operations = withoutShadowed(routes).map((route) => {
    const { item, names } = paths.open(route.template);
    const operation = operationOf(route, names, components);
    const method = route.method.toLowerCase();
    if (METHODS.has(method)) item[method as OpenAPIMethod] = operation;
    else (item["x-additionalOperations"] ??= {})[route.method] = operation;
    return operation;
  });
  const tags = new Set(operations.flatMap((operation) => operation.tags ?? []));
  return {
    openapi: "3.1.0",
    info: { title, version, ...(description !== undefined && { description }) },
    ...(tags.size > 0 && { tags: [...tags].map((name) => ({ name })) }),
    paths: paths.items,
    components: operations.length > 0 ? components.definitions() : {},
  };
}

/**
 * Leaves out each route that ends in `{name...}` where another one of its method has `{name}` at the same place: to OpenAPI they are
 * the same path, and what a client can write into one segment is served by the other.
 */
function withoutShadowed(routes: readonly DescribedRoute[]): readonly DescribedRoute[] {
  if (!routes.some(isRest)) return routes;
  const keyOf = ({ method, template }: DescribedRoute) => `${method} ${placeOf(template)}`;
  const kept = new Set(routes.filter((route) => !isRest(route)).map(keyOf));
  return routes.filter((route) => !isRest(route) || !kept.has(keyOf(route)));
}

function isRest({ template }: Pick<DescribedRoute, "template">): boolean {
  return template.segments.at(-1)?.kind === "rest";
}

/** What OpenAPI tells paths apart by: their shape, in which it knows no rest. */
function placeOf(template: PathTemplate): string {
  return isRest({ template }) ? template.shape.replace(/\{\.{3}\}$/, "{}") : template.shape;
}

/** A path, and what the document calls the names in it, in their order. */
interface Place {
  readonly item: OpenAPIPathItem;
  readonly names: readonly string[];
}

/** Paths with their operations. Templates that differ in names alone are one, which has the names of the first. */
class Paths {
  /** By the paths' text. */
  readonly items: Record<string, OpenAPIPathItem> = {};
  readonly #places = new Map<string, Place>();

  /** Opens the place of a template. */
  open(template: PathTemplate): Place {
    const key = placeOf(template);
    let place = this.#places.get(key);
    if (!place) {
      place = { item: {}, names: template.names };
      this.#places.set(key, place);
      this.items[template.segments.map(textOf).join("")] = place.item;
    }
    return place;
  }
}

/** A path of the document is a URI, but for its names. */
function textOf(segment: Segment): string {
  return segment.kind === "literal" ? `/${encodeURI(segment.text.toWellFormed())}` : `/{${segment.name}}`;
}
