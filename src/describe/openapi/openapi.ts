/** The OpenAPI document of an application: its routes by path and method, and what they refer to. */
import type { PathTemplate, Segment } from "../../routing/path.ts";
import { Components } from "./components.ts";
import type { ErrorShaping } from "./error_replies.ts";
import type { OpenAPIDocument, OpenAPIMethod, OpenAPIPathItem } from "./document.ts";
import { type DescribedRoute, operationOf } from "./operation.ts";

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
