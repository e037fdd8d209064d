/** The OpenAPI document of an application: its routes by path and method, and their components. */
import type { PathTemplate } from "../../routing/path.ts";
import type { Route } from "../../routing/route.ts";
import { Models } from "../json_schema/models.ts";
import { documentationOf } from "../route/docstring.ts";
import { inputsOf, type ParameterInput } from "../route/inputs.ts";
import type { OpenAPIComponents, OpenAPIDocument, OpenAPIInfo, OpenAPIPathItem, OpenAPITag } from "./document.ts";
import type { OpenAPIMethod, OpenAPIOperation } from "../../http/operation.ts";
import type { DocumentOptions } from "./document_options.ts";
import { headersOfOptions, isDescribedElsewhere, Parameters, requestBodyOf } from "./parameters.ts";
import { type DocumentedErrors, ErrorReplies, repliesOf } from "./replies.ts";
import { isCredential, SecuritySchemes } from "./security.ts";
import { stringify } from "../../http/json.ts";
import { quote } from "../../base/options.ts";
import type { SecurityScheme } from "../../binding/security.ts";
import { belowBasePath } from "../../http/connection.ts";

interface DocumentParts extends DocumentOptions {
  readonly title: string;
  readonly version: string;
  readonly description?: string | undefined;
  readonly routes: readonly DescribedRoute[];
  readonly errors?: DocumentedErrors | undefined;
}

type DescribedRoute = Pick<
  Route,
  | "name"
  | "method"
  | "template"
  | "operationId"
  | "options"
  | "handler"
  | "levels"
  | "isLimited"
  | "idempotency"
>;

const METHODS: ReadonlySet<string> = new Set<OpenAPIMethod>(
  ["get", "put", "post", "delete", "options", "head", "patch"],
);

/**
 * Deterministic, including the order of keys.
 *
 * @throws {TypeError} If JSON Schema cannot express a schema, or `document` returns no document.
 * @throws {RouteError} With code `conflict`, if two security schemes have the same name.
 * @throws {Error} If `document` throws.
 */
export function openapiDocument(parts: DocumentParts): OpenAPIDocument {
  const { routes, errors = "default", servers, tags: described, externalDocs, document } = parts;
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
  const tags = tagsOf(operations, described);
  return transformed({
    openapi: "3.1.0",
    info: infoOf(parts),
    ...(servers && servers.length > 0 && { servers: [...servers] }),
    ...(tags.length > 0 && { tags }),
    ...(externalDocs && { externalDocs }),
    paths: paths.items,
    components: operations.length > 0 ? components.definitions() : {},
  }, document);
}

export function infoOf(
  { title, version, description, termsOfService, contact, license }: Omit<DocumentParts, "routes">,
): OpenAPIInfo {
  return {
    title,
    version,
    ...(description !== undefined && { description }),
    ...(termsOfService !== undefined && { termsOfService }),
    ...(contact && { contact }),
    ...(license && { license }),
  };
}

/** First the described tags, then the others in the order of their first use. */
function tagsOf(operations: readonly OpenAPIOperation[], described: readonly OpenAPITag[] = []): OpenAPITag[] {
  const known = new Set(described.map(({ name }) => name));
  const used = new Set(operations.flatMap((operation) => operation.tags ?? []));
  return [...described, ...[...used.difference(known)].map((name) => ({ name }))];
}

/** `pathNames` are the names of path parameters in the document. */
function operationOf(route: DescribedRoute, pathNames: readonly string[], components: Components): OpenAPIOperation {
  const { operationId, options: { tags = [], deprecated }, template: { names } } = route;
  const inputs = inputsOf(route.options, names, route.levels);
  const nameOf = ({ in: source, name }: ParameterInput) => source === "path" ? pathNames[names.indexOf(name)]! : name;
  const parameters = inputs.parameters
    .filter((input) => !isDescribedElsewhere(input) && !isCredential(input, inputs.dependencies))
    .map((input) => components.parameters.of(input, nameOf(input)));
  parameters.push(...headersOfOptions(route.options, route.idempotency, parameters));
  const security = components.security.of(route.name, inputs);
  return {
    operationId,
    ...documentationOf(route),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(deprecated && { deprecated }),
    ...(parameters.length > 0 && { parameters }),
    ...(inputs.body && { requestBody: requestBodyOf(inputs.body, operationId, components.models) }),
    responses: repliesOf(route, inputs, components.models, components.errors),
    ...(security && { security }),
  };
}

class Components {
  readonly models: Models = new Models("#/components/schemas/");
  readonly parameters: Parameters = new Parameters(this.models);
  readonly errors: ErrorReplies;
  readonly security: SecuritySchemes = new SecuritySchemes();

  constructor(errors: DocumentedErrors) {
    this.errors = new ErrorReplies(errors);
  }

  /** Call it last and once: it names the models and completes references. */
  definitions(): OpenAPIComponents {
    // First, because replies refer to models.
    const responses = this.errors.definitions(this.models);
    const schemas = this.models.definitions();
    const securitySchemes = this.security.definitions();
    return { schemas, responses, ...(securitySchemes && { securitySchemes }) };
  }
}

interface OpenPath {
  readonly item: OpenAPIPathItem;
  readonly names: readonly string[];
}

/** Templates that differ only in names are one path, with the first names. */
class Paths {
  readonly items: Record<string, OpenAPIPathItem> = {};
  readonly #byShape = new Map<string, OpenPath>();

  open(template: PathTemplate): OpenPath {
    const shape = shapeOf(template);
    return this.#byShape.getOrInsertComputed(shape, () => {
      const item = this.items[documentPath(template)] = {};
      return { item, names: template.names };
    });
  }
}

/** Percent-encoded, except for the names in braces. */
export function documentPath({ segments }: PathTemplate): string {
  return segments.map((segment) => {
    return segment.kind === "literal" ? `/${encodeURI(segment.text.toWellFormed())}` : `/{${segment.name}}`;
  }).join("");
}

/**
 * Omits routes that end in `{name...}` if another one of the same method has `{name}` there: in
 * OpenAPI both are one path, and clients send one segment.
 */
function withoutShadowed(routes: readonly DescribedRoute[]): readonly DescribedRoute[] {
  if (!routes.some(endsInRest)) return routes;
  const keyOf = ({ method, template }: DescribedRoute) => `${method} ${shapeOf(template)}`;
  const kept = new Set(routes.filter((route) => !endsInRest(route)).map(keyOf));
  return routes.filter((route) => !endsInRest(route) || !kept.has(keyOf(route)));
}

function endsInRest({ template }: Pick<DescribedRoute, "template">): boolean {
  return template.segments.at(-1)?.kind === "rest";
}

/** OpenAPI has no `{name...}`. */
function shapeOf(template: PathTemplate): string {
  return endsInRest({ template }) ? template.shape.replace(/\{\.{3}\}$/, "{}") : template.shape;
}

/** Copies the document before and after the option: operations share parts. */
export function transformed(
  document: OpenAPIDocument,
  transformDocument: DocumentOptions["document"],
): OpenAPIDocument {
  if (transformDocument === undefined) return document;
  const copy: OpenAPIDocument = JSON.parse(stringify(document));
  let result: unknown;
  try {
    result = transformDocument(copy);
  } catch (error) {
    const reason = error instanceof Error ? error.message : quote(error);
    throw new Error(`Cannot describe the App: its option "document" threw: ${reason}`, { cause: error });
  }
  checkResult(result);
  try {
    return JSON.parse(stringify(result));
  } catch (error) {
    throw new TypeError('Cannot describe the App: what its option "document" returned is not JSON', { cause: error });
  }
}

function checkResult(result: unknown): asserts result is OpenAPIDocument {
  const action = 'Cannot describe the App: its option "document" returned';
  if (result === undefined) throw new TypeError(`${action} nothing, return the document, also after changing it`);
  if (result instanceof Promise) throw new TypeError(`${action} a promise, write a sync function`);
  const { openapi, info, paths, components } = Object(result);
  const isDocument = typeof openapi === "string" && [info, paths, components].every(isObject);
  if (isDocument) return;
  throw new TypeError(`${action} no document: it must be an object with openapi, info, paths and components`);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The URLs of security schemes and of their flows. */
const URLS = new Set(["authorizationUrl", "tokenUrl", "refreshUrl", "openIdConnectUrl"]);

/**
 * Adds the base path to the server, unless the document has servers, and to the URLs of security
 * schemes, which clients resolve against the host.
 */
export function documentBelow(document: OpenAPIDocument, basePath: string): OpenAPIDocument {
  if (basePath === "") return document;
  const { openapi, info, ...rest } = document;
  const below = { openapi, info, servers: [{ url: basePath }], ...rest };
  const schemes = document.components?.securitySchemes;
  if (!schemes) return below;
  const securitySchemes = schemesBelow(schemes, basePath) as Record<string, SecurityScheme>;
  return { ...below, components: { ...document.components, securitySchemes } };
}

function schemesBelow(value: unknown, basePath: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      URLS.has(name) && typeof member === "string" ? belowBasePath(basePath, member) : schemesBelow(member, basePath),
    ]),
  );
}
