/** The endpoints that an application serves beside its routes: its document, the page that shows it, and that for agents. */
import { docsRoutes } from "./describe/page/docs_routes.ts";
import type { CachedText } from "./http/files/conditional.ts";
import { mcpEndpoint, type McpParts } from "./describe/mcp/endpoint.ts";
import type { OpenAPIDocument } from "./describe/openapi/document.ts";
import { stringify } from "./http/json.ts";
import type { HttpRequest } from "./http/request.ts";
import type { BuiltInRoute } from "./routing/dispatch.ts";
import { parsePath } from "./routing/path.ts";
import { ANY_METHOD } from "./routing/table.ts";
import type { ReservedPath } from "./routing/registry.ts";

/** Where the endpoints are; null where they are turned off. */
export interface BuiltInUrls {
  readonly openapiUrl: string | null;
  readonly docsUrl: string | null;
  readonly mcpUrl: string | null;
}

/** What the endpoints tell of. */
export interface BuiltInParts extends McpParts {
  /** The document of the application. */
  readonly document: () => OpenAPIDocument;
}

/** An endpoint, and what to say to whoever wants its place. */
export type BuiltIn = BuiltInRoute & ReservedPath;

/**
 * Checks where the endpoints are to be. Without a document there is nothing for the page to show.
 *
 * @throws {RouteError} With code `path`, when a path cannot be read.
 * @throws {TypeError} When a path has a parameter.
 */
export function checkUrls({ openapiUrl, docsUrl, mcpUrl }: BuiltInUrls): BuiltInUrls {
  for (const [option, url] of Object.entries({ openapiUrl, docsUrl, mcpUrl })) {
    if (url === null) continue;
    const { names } = parsePath(url, `set ${option}`);
    if (url === "" || names.length > 0) {
      throw new TypeError(`Cannot set ${option} to "${url}": it must be a path without parameters, or null`);
    }
  }
  return { openapiUrl, docsUrl: openapiUrl === null ? null : docsUrl, mcpUrl };
}

/**
 * Makes the endpoints.
 *
 * @param urls Where they are, as checked.
 * @param parts What they tell of.
 */
export function builtIns({ openapiUrl, docsUrl, mcpUrl }: BuiltInUrls, parts: BuiltInParts): readonly BuiltIn[] {
  const endpoints: BuiltIn[] = [];
  if (openapiUrl !== null) {
    const handler = documentEndpoint(parts.document);
    endpoints.push({ method: "GET", path: openapiUrl, handler, what: "its document", option: "openapiUrl" });
  }
  if (openapiUrl !== null && docsUrl !== null) {
    for (const { path, handler } of docsRoutes({ title: parts.title, docsUrl, openapiUrl })) {
      endpoints.push({ method: "GET", path, handler, what: "its documentation page", option: "docsUrl" });
    }
  }
  if (mcpUrl !== null) {
    const handler = mcpEndpoint(parts);
    const around = parts.originPolicy.cors;
    // It refuses other methods itself: those must not reach a route of a user that takes any path.
    endpoints.push({
      method: ANY_METHOD,
      path: mcpUrl,
      handler,
      ...(around && { around }),
      what: "agents",
      option: "mcpUrl",
    });
  }
  return endpoints;
}

/** Serves the document. It is written once: no route is added to an application that serves. */
function documentEndpoint(document: () => OpenAPIDocument): (request: HttpRequest) => Promise<Response> {
  let content: Promise<CachedText> | undefined;
  const write = async (): Promise<CachedText> => {
    const { contentHash } = await import("./http/files/conditional.ts");
    const text = stringify(document());
    return { contentType: "application/json", tag: await contentHash(text), read: async () => text };
  };
  return async ({ headers }) => {
    const { cachedReply } = await import("./http/files/conditional.ts");
    return await cachedReply(headers, await (content ??= write()), { "cache-control": "no-cache" });
  };
}
