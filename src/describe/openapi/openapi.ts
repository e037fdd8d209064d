/** The OpenAPI document of an application: its routes by path and method, and their components. */
import type { PathTemplate } from "../../routing/path.ts";
import type { Route } from "../../routing/route.ts";
import { Models, pascalCase } from "../json_schema/models.ts";
import { alternativesAt, type DocumentedCallback, type DocumentedWebhook } from "../../http/documented.ts";
import { isSchema, schemaFault } from "../../schema/schema.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";
import { documentationOf } from "../route/docstring.ts";
import { inputsOf, type ParameterInput } from "../route/inputs.ts";
import type { OpenAPIComponents, OpenAPIDocument, OpenAPIInfo, OpenAPIPathItem, OpenAPITag } from "./document.ts";
import type {
  OpenAPICallback,
  OpenAPICallbackItem,
  OpenAPIMethod,
  OpenAPIOperation,
  OpenAPIParameter,
} from "../../http/operation.ts";
import type { DocumentModels, DocumentOptions } from "./document_options.ts";
import { headersOfGuards, headersOfOptions, isDescribedElsewhere, Parameters, requestBodyOf } from "./parameters.ts";
import { type DocumentedErrors, ErrorReplies, repliesOf } from "./replies.ts";
import { isCredential, SecuritySchemes } from "./security.ts";
import { stringify } from "../../http/json.ts";
import { nearest, quote } from "../../base/options.ts";
import type { SecurityScheme } from "../../binding/security.ts";
import { belowBasePath } from "../../http/connection.ts";

interface DocumentParts extends DocumentOptions {
  readonly title: string;
  readonly version: string;
  readonly description?: string | undefined;
  readonly routes: readonly DescribedRoute[];
  readonly webhooks?: readonly DocumentedWebhook[];
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

export const METHODS: ReadonlySet<string> = new Set<OpenAPIMethod>(
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
  const {
    routes,
    webhooks: sent = [],
    errors = "default",
    servers,
    tags: described,
    externalDocs,
    document: transform,
  } = parts;
  const components = new Components(errors);
  const paths = new Paths();
  const shown = withoutShadowed(routes).map((route) => {
    const { item, names } = paths.open(route.template);
    const method = route.method.toLowerCase();
    const [place, key] = METHODS.has(method)
      ? [item as Record<string, OpenAPIOperation>, method]
      : [item["x-additionalOperations"] ??= {}, route.method];
    place[key] = operationOf(route, names, components);
    return { route, place, key };
  });
  checkLinks(shown.map(({ route }) => route));
  const webhooks = sent.map((webhook) => [webhook.name, webhookOf(webhook, components.models)] as const);
  const definitions = shown.length + webhooks.length > 0 ? components.definitions() : {};
  for (const { route: { name, options }, place, key } of shown) {
    if (options.document) place[key] = transformed(place[key]!, options.document, name, "operation");
  }
  const operations = [...shown.map(({ place, key }) => place[key]!), ...webhooks.map(([, { post }]) => post!)];
  const tags = tagsOf(operations, described);
  const document: OpenAPIDocument = {
    openapi: "3.1.0",
    info: infoOf(parts),
    ...(servers && servers.length > 0 && { servers: [...servers] }),
    ...(tags.length > 0 && { tags }),
    ...(externalDocs && { externalDocs }),
    paths: paths.items,
    ...(webhooks.length > 0 && { webhooks: Object.fromEntries(webhooks) }),
    components: definitions,
  };
  if (!transform) return document;
  return transformed(document, (copy) => withModels(copy, transform, components.models), "the App", "document");
}

/** Hands over `model`, and adds what it makes. */
function withModels(
  document: OpenAPIDocument,
  transform: NonNullable<DocumentOptions["document"]>,
  models: Models,
): OpenAPIDocument {
  const added: Record<string, JsonSchema> = {};
  const model: DocumentModels["model"] = (schema, form = "output") => {
    if (!isSchema(schema)) throw new TypeError(`Cannot add a model: the schema ${schemaFault(schema)}`);
    const reference = form === "input" ? models.jsonInput(schema) : models.jsonOutput(schema);
    const definitions = models.definitions();
    if (reference.$ref === undefined) {
      throw new TypeError(
        'Cannot add a model: an object with a title is one, write v.pipe(Invoice, v.title("Invoice"))',
      );
    }
    Object.assign(added, definitions);
    Object.assign(document.components.schemas ??= {}, definitions);
    return reference.$ref;
  };
  const result = transform(document, { model });
  // It may be another object than the one that got the models.
  if (isObject(result) && isObject(result.components)) {
    for (const [name, body] of Object.entries(added)) (result.components.schemas ??= {})[name] ??= body;
  }
  return result;
}

/** @throws {TypeError} If a link names an operation that the document does not have. */
function checkLinks(routes: readonly DescribedRoute[]): void {
  const known = new Set(routes.map(({ operationId }) => operationId));
  for (const { name, options: { responses = {} } } of routes) {
    const links = Object.keys(responses).flatMap((code) => alternativesAt(responses, code))
      .flatMap(({ links = {} }) => Object.entries(links));
    const wrong = links.find(([, { operationId }]) => operationId !== undefined && !known.has(operationId));
    if (!wrong) continue;
    const [link, { operationId = "" }] = wrong;
    throw new TypeError(
      `Cannot describe ${name}: its link "${link}" names the operation "${operationId}", which the document does not have; the nearest is "${
        nearest(operationId, [...known])
      }"`,
    );
  }
}

export function infoOf(
  { title, version, summary, description, termsOfService, contact, license }: Omit<DocumentParts, "routes">,
): OpenAPIInfo {
  return {
    title,
    version,
    ...(summary !== undefined && { summary }),
    ...(description !== undefined && { description }),
    ...(termsOfService !== undefined && { termsOfService }),
    ...(contact && { contact }),
    ...(license && { license }),
  };
}

/** First the described tags, then the others in the order of their first use. */
function tagsOf(
  operations: readonly Pick<OpenAPIOperation, "tags">[],
  described: readonly OpenAPITag[] = [],
): OpenAPITag[] {
  const known = new Set(described.map(({ name }) => name));
  const used = new Set(operations.flatMap((operation) => operation.tags ?? []));
  return [...described, ...[...used.difference(known)].map((name) => ({ name }))];
}

/** `pathNames` are the names of path parameters in the document. */
function operationOf(route: DescribedRoute, pathNames: readonly string[], components: Components): OpenAPIOperation {
  const { operationId, options: { tags = [], deprecated, examples, callbacks }, template: { names } } = route;
  const inputs = inputsOf(route.options, names, route.levels);
  const nameOf = ({ in: source, name }: ParameterInput) => source === "path" ? pathNames[names.indexOf(name)]! : name;
  const parameters = inputs.parameters
    .filter((input) => !isDescribedElsewhere(input) && !isCredential(input, inputs.dependencies))
    .map((input) => components.parameters.of(input, nameOf(input)));
  parameters.push(...headersOfOptions(route.options, route.idempotency, parameters));
  parameters.push(...headersOfGuards(inputs.dependencies, parameters));
  const security = components.security.of(route.name, inputs);
  return {
    operationId,
    ...documentationOf(route),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(deprecated && { deprecated }),
    ...(parameters.length > 0 && { parameters }),
    ...(inputs.body && { requestBody: requestBodyOf(inputs.body, operationId, components.models, examples) }),
    responses: repliesOf(route, inputs, components.models, components.errors),
    ...(security && { security }),
    ...(callbacks && { callbacks: callbacksOf(callbacks, operationId, components.models) }),
  };
}

/** Validators demand a refusal. */
const CALLBACK_RESPONSES = {
  "2XX": { description: "The request was received." },
  "4XX": { description: "The request was refused." },
};

function callbacksOf(
  callbacks: Readonly<Record<string, DocumentedCallback>>,
  operationId: string,
  models: Models,
): Record<string, OpenAPICallback> {
  return Object.fromEntries(
    Object.entries(callbacks).map(([name, { url, body, method = "POST", summary, description }]) => {
      const schema = body && models.jsonOutput(body, `${pascalCase(operationId)}${pascalCase(name)}`);
      const request = {
        ...(summary !== undefined && { summary }),
        ...(description !== undefined && { description }),
        ...(schema && { requestBody: { required: true, content: { "application/json": { schema } } } }),
        responses: CALLBACK_RESPONSES,
      };
      return [name, { [url]: { [method.toLowerCase()]: request } }];
    }),
  );
}

/** The headers of Standard Webhooks. */
const WEBHOOK_HEADERS: readonly OpenAPIParameter[] = [
  ["webhook-id", "The id of the message: the same when it is sent again."],
  ["webhook-timestamp", "The time of sending, in seconds since 1970."],
  [
    "webhook-signature",
    "The signatures: `v1,` and the HMAC-SHA256 of the id, the time and the body, with dots between them, in base64. See https://www.standardwebhooks.com.",
  ],
].map(([name, description]) => {
  return { name: name!, in: "header", required: true, description: description!, schema: { type: "string" } };
});

const WEBHOOK_RESPONSES = {
  "2XX": { description: "It was received, and is not sent again." },
  "410": { description: "It is not wanted, and is not sent again." },
  "4XX": { description: "It was refused, and is sent again later." },
};

function webhookOf(
  { name, body, summary, description, tags }: DocumentedWebhook,
  models: Models,
): OpenAPICallbackItem {
  const schema = models.jsonOutput(body, `${pascalCase(name)}Body`);
  return {
    post: {
      ...(summary !== undefined && { summary }),
      ...(description !== undefined && { description }),
      ...(tags.length > 0 && { tags: [...tags] }),
      parameters: [...WEBHOOK_HEADERS],
      requestBody: { required: true, content: { "application/json": { schema } } },
      responses: WEBHOOK_RESPONSES,
    },
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

/** Copies a part before and after the option `document`: operations share parts. */
function transformed<Part extends OpenAPIDocument | OpenAPIOperation>(
  part: Part,
  transform: (part: Part) => Part,
  owner: string,
  kind: keyof typeof MEMBERS,
): Part {
  const copy: Part = JSON.parse(stringify(part));
  let result: unknown;
  try {
    result = transform(copy);
  } catch (error) {
    const reason = error instanceof Error ? error.message : quote(error);
    throw new Error(`Cannot describe ${owner}: its option "document" threw: ${reason}`, { cause: error });
  }
  const returned = `Cannot describe ${owner}: its option "document" returned`;
  if (result === undefined) throw new TypeError(`${returned} nothing, return the ${kind}, also after changing it`);
  if (result instanceof Promise) throw new TypeError(`${returned} a promise, write a sync function`);
  const members: Record<string, unknown> = Object(result);
  const isKind = MEMBERS[kind].every((name) => name === "openapi" || isObject(members[name]));
  if (!isKind || (kind === "document" && typeof members.openapi !== "string")) {
    const list = MEMBERS[kind].join(", ").replace(/, (?=\w+$)/, " and ");
    throw new TypeError(`${returned} no ${kind}: it must be an object with ${list}`);
  }
  try {
    return JSON.parse(stringify(result));
  } catch (error) {
    throw new TypeError(`Cannot describe ${owner}: what its option "document" returned is not JSON`, { cause: error });
  }
}

/** What the result of an option `document` must have. */
const MEMBERS = { document: ["openapi", "info", "paths", "components"], operation: ["responses"] } as const;

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
