/**
 * The documents of an application, and the endpoints that it serves besides its routes: the
 * document, its page, the endpoint for agents.
 */
import { load } from "../base/async_context.ts";
import { checkInputs, NO_INPUTS } from "../binding/inputs.ts";
import type { Replacements } from "../binding/replacements.ts";
import type { McpParts } from "../describe/mcp/options.ts";
import type { McpApplication } from "../describe/mcp/server.ts";
import type { OpenAPIDocument } from "../describe/openapi/document.ts";
import type { DocumentOptions } from "../describe/openapi/document_options.ts";
import { openapiDocument } from "../describe/openapi/openapi.ts";
import type { DocumentedErrors } from "../describe/openapi/replies.ts";
import type { AssetName } from "../describe/page/assets.ts";
import { type DocsParts, REDIRECT_PAGE } from "../describe/page/options.ts";
import type { DocsPageOptions } from "../describe/page/page.ts";
import type { DocumentedWebhook } from "../http/documented.ts";
import type { CachedText } from "../http/files/conditional.ts";
import { stringify } from "../http/json.ts";
import type { HttpRequest } from "../http/request.ts";
import { hideQueryOf } from "../log/redaction.ts";
import type { BuiltInRoute, Dispatcher } from "../routing/dispatch.ts";
import type { RateLimiters } from "../rate_limit/limiter.ts";
import { type Authorize, compileRoute } from "../routing/route.ts";
import { parsePath } from "../routing/path.ts";
import { isDocumented, type Registry, type ReservedPath } from "../routing/registry.ts";
import { Route } from "../routing/route.ts";
import { toLevel } from "../routing/scope.ts";
import { ANY_METHOD } from "../routing/table.ts";
import type { DeclaredTopic } from "../topics/declared_topic.ts";

/** The paths of the endpoints; null turns one off. */
export interface BuiltInUrls {
  readonly openapiUrl: string | null;
  readonly docsUrl: string | null;
  readonly mcpUrl: string | null;
  readonly readyUrl: string | null;
}

export interface BuiltInParts
  extends McpParts, Pick<McpApplication, "title" | "version" | "description" | "limits" | "metadataHint"> {
  readonly document: (basePath: string) => OpenAPIDocument;
  readonly docs: DocsParts;
  readonly dispatcher: () => Dispatcher;
  /** @throws {HTTPError} With 503, if the application has stopped. */
  readonly stateForCall: () => Readonly<Record<string, unknown>>;
  readonly limiters: RateLimiters;
  readonly replacements: Replacements | undefined;
}

export type BuiltIn = BuiltInRoute & ReservedPath;

const ASSETS: readonly AssetName[] = ["swagger-ui.css", "page.css", "swagger-ui.js", "page.js", "oauth2-redirect.js"];

/**
 * Checks the paths of the endpoints. Without a document there is no page.
 *
 * @throws {RouteError} With code `path`, if a path cannot be parsed.
 * @throws {TypeError} If a path has a parameter.
 */
export function checkUrls({ openapiUrl, docsUrl, mcpUrl, readyUrl }: BuiltInUrls): BuiltInUrls {
  for (const [option, url] of Object.entries({ openapiUrl, docsUrl, mcpUrl, readyUrl })) {
    if (url === null) continue;
    const { names } = parsePath(url, `set ${option}`);
    if (url === "" || names.length > 0) {
      throw new TypeError(`Cannot set ${option} to "${url}": it must be a path without parameters, or null`);
    }
  }
  return { openapiUrl, docsUrl: openapiUrl === null ? null : docsUrl, mcpUrl, readyUrl };
}

/**
 * Makes the endpoints at checked paths.
 *
 * @throws {TypeError} If no text can satisfy a schema of a guard of the page.
 * @throws {RouteError} If a guard of the page needs a parameter of the path.
 */
export function builtIns({ openapiUrl, docsUrl, mcpUrl }: BuiltInUrls, parts: BuiltInParts): readonly BuiltIn[] {
  const endpoints: BuiltIn[] = [];
  const { deps: declared, rateLimits, ...signIn } = parts.docs;
  const deps = parts.replacements?.ofAll(declared) ?? declared;
  const isPrivate = deps.size > 0;
  const authorize = authorizeDocs(deps, rateLimits, parts.limiters);
  // A reply that only some clients may get must not be stored by shared caches.
  const cacheControl = isPrivate ? "private, no-cache" : "no-cache";
  if (openapiUrl !== null) {
    const handler = documentEndpoint(parts.document, cacheControl);
    const shown = { what: "its document", option: "openapiUrl" };
    endpoints.push({ method: "GET", path: openapiUrl, handler, authorize, isPrivate, ...shown });
  }
  if (openapiUrl !== null && docsUrl !== null) {
    const assetFolder = docsUrl.endsWith("/") ? docsUrl : `${docsUrl}/`;
    const { title } = parts;
    const document = () => parts.document("");
    const options = { title, docsUrl, openapiUrl, assetFolder, signIn, document, cacheControl };
    for (const endpoint of docsEndpoints(options, authorize)) {
      endpoints.push({ method: "GET", ...endpoint, isPrivate, what: "its documentation page", option: "docsUrl" });
    }
  }
  if (mcpUrl !== null) {
    endpoints.push({
      // The endpoint refuses other methods itself; else they would reach a route that matches every
      // path.
      method: ANY_METHOD,
      path: mcpUrl,
      handler: agentEndpoint(toMcpApplication(parts)),
      pages: parts.originPolicy,
      what: "agents",
      option: "mcpUrl",
    });
  }
  return endpoints;
}

function toMcpApplication({ dispatcher, stateForCall, ...shown }: BuiltInParts): McpApplication {
  return {
    ...shown,
    get routes() {
      return dispatcher().routes.filter((route) => route instanceof Route);
    },
    // These are answered even while the application stops.
    fetch: (request, info, call) => dispatcher().dispatch(request, stateForCall(), info, call),
    evaluateGuards: (request, destination, info, call) =>
      dispatcher().evaluateGuards(request, destination, stateForCall(), info, call),
    find: (method, path) => dispatcher().routeOf(method, path),
  };
}

function authorizeDocs(
  deps: DocsParts["deps"],
  rateLimits: DocsParts["rateLimits"],
  limiters: RateLimiters,
): Authorize | undefined {
  if (deps.size === 0 && rateLimits.length === 0) return undefined;
  const levels = [toLevel(deps, rateLimits), toLevel(new Map(), [])];
  checkInputs(NO_INPUTS, [], levels, "the documentation page");
  // Counts the request and resolves guards before an endpoint answers. Their refusals are the
  // reply.
  return compileRoute({ inputs: NO_INPUTS, pathNames: [], name: "docs", levels, limiters }).authorize;
}

/** Serves agents. Its module is loaded on first use, since most applications have no tools. */
function agentEndpoint(parts: McpApplication): BuiltIn["handler"] {
  let endpoint: BuiltIn["handler"] | undefined;
  return async (request) => {
    const { mcpEndpoint } = await load(() => import("../describe/mcp/server.ts"));
    return await (endpoint ??= mcpEndpoint(parts))(request);
  };
}

/**
 * Serves the document. The JSON of one base path is cached: routes do not change while the
 * application serves, and clients can make a proxy name any base path.
 */
function documentEndpoint(document: (basePath: string) => OpenAPIDocument, cacheControl: string): BuiltIn["handler"] {
  let written: { readonly basePath: string; readonly content: Promise<CachedText> } | undefined;
  const write = async (basePath: string): Promise<CachedText> => {
    const { contentHash } = await load(() => import("../http/files/conditional.ts"));
    const text = stringify(document(basePath));
    return { contentType: "application/json", tag: await contentHash(text), read: async () => text };
  };
  return async ({ headers, basePath }) => {
    const { cachedReply } = await load(() => import("../http/files/conditional.ts"));
    if (written?.basePath !== basePath) written = { basePath, content: write(basePath) };
    return await cachedReply(headers, await written.content, { "cache-control": cacheControl });
  };
}

/**
 * The page and its files, loaded on first use: most processes never show the page.
 *
 * The files have no data of the application. The redirect page has no guards: a browser that comes
 * from the authorization server sends no `SameSite=Strict` cookie.
 */
function docsEndpoints(
  options: DocsPageOptions,
  authorize: Authorize | undefined,
): Pick<BuiltIn, "path" | "handler" | "authorize">[] {
  const page = async (request: HttpRequest) => {
    return await (await load(() => import("../describe/page/page.ts"))).answerPage(request, options);
  };
  hideQueryOf(options.assetFolder + REDIRECT_PAGE);
  const redirectPage = async () => await (await load(() => import("../describe/page/page.ts"))).answerRedirectPage();
  return [
    { path: options.docsUrl, handler: page, authorize },
    { path: options.assetFolder + REDIRECT_PAGE, handler: redirectPage },
    ...ASSETS.map((name) => ({
      path: options.assetFolder + name,
      handler: async (request: HttpRequest) =>
        await (await load(() => import("../describe/page/assets.ts"))).answerAsset(request, name),
    })),
  ];
}

interface DocumentsParts {
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string | undefined;
  };
  readonly described: DocumentOptions;
  readonly registry: Registry;
  readonly topics: { readonly declared: readonly DeclaredTopic[] };
  readonly webhooks: { readonly documented: readonly DocumentedWebhook[] };
}

export class Documents {
  readonly #parts: DocumentsParts;
  #errors: DocumentedErrors = "default";
  #made: { readonly parts: number; readonly document: OpenAPIDocument } | undefined;

  constructor(parts: DocumentsParts) {
    this.#parts = parts;
  }

  set errors(errors: DocumentedErrors) {
    this.#errors = errors;
    this.#made = undefined;
  }

  openapi(): OpenAPIDocument {
    const { info, described, registry, webhooks: { documented: webhooks } } = this.#parts;
    const routes = registry.routes.filter(isDocumented);
    // They are never removed, so their number shows whether the document is up to date.
    const parts = routes.length + webhooks.length;
    if (this.#made?.parts !== parts) {
      registry.nameOperations();
      const document = openapiDocument({ ...described, ...info, routes, webhooks, errors: this.#errors });
      this.#made = { parts, document };
    }
    return this.#made.document;
  }

  /**
   * The AsyncAPI document.
   *
   * @throws {TypeError} If JSON Schema cannot express a schema.
   */
  async asyncapi(): Promise<object> {
    const { asyncapiDocument } = await load(() => import("../describe/asyncapi/asyncapi.ts"));
    const { info, described, registry, topics: { declared } } = this.#parts;
    registry.nameOperations();
    // Those of the framework are no part of the interface.
    const topics = declared.filter(({ name }) => !name.startsWith("webfw."));
    return asyncapiDocument({ ...described, ...info, routes: registry.routes, topics });
  }
}
