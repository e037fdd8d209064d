/** The metadata by which clients find the authorization server and its scopes (RFC 9728). */
import type { PreparedDependency } from "../../binding/dependency.ts";
import { isScope } from "../../binding/security.ts";
import type { ResourceMetadataHint } from "../../http/challenge.ts";
import { belowBasePath } from "../../http/connection.ts";
import type { HttpRequest } from "../../http/request.ts";
import type { BuiltInRoute } from "../../routing/dispatch.ts";
import { parsePath } from "../../routing/path.ts";
import type { BaseRoute } from "../../routing/route.ts";
import { isTokenScheme, securityOf, type TokenScheme } from "../route/inputs.ts";
import type { OriginPolicy } from "./options.ts";
import { isTool } from "./tool_check.ts";

interface ResourceParts {
  readonly title: string;
  /** Null if not served. */
  readonly docsUrl: string | null;
  /** Null if not served. */
  readonly mcpUrl: string | null;
  readonly originPolicy: OriginPolicy;
}

/** RFC 9728, section 2. */
interface ResourceMetadata {
  resource: string;
  authorization_servers?: string[];
  scopes_supported?: string[];
  bearer_methods_supported: string[];
  resource_name: string;
  resource_documentation?: string;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
/** OpenID Connect Discovery appends it to the issuer. */
const OPENID_CONFIGURATION = "/.well-known/openid-configuration";

export class ProtectedResource {
  readonly #parts: ResourceParts;
  readonly #guards = new WeakMap<BaseRoute, readonly PreparedDependency[]>();

  constructor(parts: ResourceParts) {
    this.#parts = parts;
  }

  /** For the challenges of a route. */
  hintFor(route: BaseRoute, request: HttpRequest): ResourceMetadataHint | undefined {
    return this.#hintAt(WELL_KNOWN, route, request);
  }

  /** For the challenges of the endpoint for agents. */
  hintForTool(tool: BaseRoute, request: HttpRequest): ResourceMetadataHint | undefined {
    return this.#hintAt(metadataPath(this.#parts.mcpUrl ?? ""), tool, request);
  }

  /**
   * Empty if no guard accepts tokens. A route of the application at such a path takes precedence.
   */
  endpoints(routes: readonly BaseRoute[]): BuiltInRoute[] {
    const taking = routes.filter((route) => this.#takesTokens(route));
    if (taking.length === 0) return [];
    const { mcpUrl } = this.#parts;
    const endpoints = this.#endpointsOf("", taking);
    if (mcpUrl !== null && mcpUrl !== "/") {
      const tools = taking.filter((route) => isTool(route));
      endpoints.push(...this.#endpointsOf(mcpUrl, tools.length > 0 ? tools : taking));
    }
    const taken = new Set(routes.map(({ template }) => template.shape));
    return endpoints.filter(({ path }) => !taken.has(parsePath(path, "serve metadata").shape));
  }

  #endpointsOf(path: string, routes: readonly BaseRoute[]): BuiltInRoute[] {
    const { originPolicy } = this.#parts;
    const answer = async (request: HttpRequest): Promise<Response> => {
      originPolicy.checkHost(request);
      return Response.json(this.#metadata(path, routes, request), { headers: PUBLIC });
    };
    return [
      { method: "GET", path: metadataPath(path), handler: answer },
      { method: "OPTIONS", path: metadataPath(path), handler: answerPreflight },
    ];
  }

  #metadata(path: string, routes: readonly BaseRoute[], request: HttpRequest): ResourceMetadata {
    const { title, docsUrl } = this.#parts;
    const { basePath, url: { origin } } = request;
    const servers = new Set<string>();
    const scopes = new Set<string>();
    for (const { security, issuers } of new Set(routes.flatMap((route) => this.#tokenGuards(route)))) {
      for (const issuer of issuers) servers.add(issuer);
      for (const { scheme, scopes: required } of security.flatMap((way) => [...way.values()])) {
        if (!isTokenScheme(scheme)) continue;
        if (issuers.length === 0) addIssuer(servers, scheme, origin, basePath);
        for (const scope of [...offeredScopes(scheme), ...required]) scopes.add(scope);
      }
    }
    return {
      resource: basePath + path === "" ? origin : new URL(basePath + path, origin).href,
      // Empty members are omitted (section 3.2).
      ...(servers.size > 0 && { authorization_servers: [...servers] }),
      ...(scopes.size > 0 && { scopes_supported: [...scopes] }),
      bearer_methods_supported: ["header"],
      resource_name: title,
      ...(docsUrl !== null && { resource_documentation: new URL(basePath + docsUrl, origin).href }),
    };
  }

  #hintAt(path: string, route: BaseRoute, request: HttpRequest): ResourceMetadataHint | undefined {
    if (!this.#takesTokens(route)) return undefined;
    const metadata = urlOf(path, request);
    return metadata === undefined ? undefined : { metadata, scopes: requiredScopes(this.#tokenGuards(route)) };
  }

  #takesTokens(route: BaseRoute): boolean {
    return this.#tokenGuards(route).length > 0;
  }

  #tokenGuards(route: BaseRoute): readonly PreparedDependency[] {
    return this.#guards.getOrInsertComputed(route, () => securityOf(route).filter(takesTokens));
  }
}

/** Whether a guard accepts nothing but tokens. */
export function needsToken(route: BaseRoute): boolean {
  return securityOf(route).some(({ security }) =>
    security.every((way) => [...way.values()].some(({ scheme }) => isTokenScheme(scheme)))
  );
}

/** Public, but not for caches: it contains the host of the request. */
const PUBLIC = { "access-control-allow-origin": "*", "cache-control": "no-store" };

/** MCP clients in pages add a header. */
async function answerPreflight(): Promise<Response> {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, HEAD",
      "access-control-allow-headers": "mcp-protocol-version",
      allow: "GET, HEAD, OPTIONS",
    },
  });
}

/** RFC 9728, section 3.1: the path is appended to the well-known one. */
function metadataPath(path: string): string {
  return path === "/" ? WELL_KNOWN : WELL_KNOWN + path;
}

/** Undefined if the Host header is invalid. */
function urlOf(path: string, request: HttpRequest): string | undefined {
  try {
    return new URL(request.basePath + path, request.url).href;
  } catch {
    return undefined;
  }
}

function takesTokens({ security }: PreparedDependency): boolean {
  return security.some((way) => [...way.values()].some(({ scheme }) => isTokenScheme(scheme)));
}

/** `oauth2` does not declare the issuer, only endpoints. */
function addIssuer(servers: Set<string>, scheme: TokenScheme, origin: string, basePath: string): void {
  if (scheme.type !== "openIdConnect") return;
  const href = URL.parse(belowBasePath(basePath, scheme.openIdConnectUrl), origin)?.href;
  if (href === undefined) return;
  if (href.endsWith(OPENID_CONFIGURATION)) servers.add(href.slice(0, -OPENID_CONFIGURATION.length));
}

/** Omits scopes that a challenge cannot contain. */
function requiredScopes(guards: readonly PreparedDependency[]): string[] {
  const required = guards.flatMap(({ security }) => security.flatMap((way) => [...way.values()]));
  const scopes = required.filter(({ scheme }) => isTokenScheme(scheme)).flatMap(({ scopes }) => scopes);
  return [...new Set(scopes)].filter(isScope);
}

function offeredScopes(scheme: TokenScheme): string[] {
  if (scheme.type !== "oauth2") return [];
  return Object.values(scheme.flows).flatMap((flow) => Object.keys(flow?.scopes ?? {}));
}
