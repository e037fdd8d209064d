/** The document of an application that is served below a base path. */
import type { SecurityScheme } from "../../binding/security.ts";
import { belowBasePath } from "../../http/connection.ts";
import type { OpenAPIDocument } from "./document.ts";

/** The members of security schemes and of their flows that are URLs. */
const URLS = new Set(["authorizationUrl", "tokenUrl", "refreshUrl", "openIdConnectUrl"]);

/**
 * A document whose own URLs have the base path: the server, unless the document names others, and
 * those of security schemes, since clients resolve a path with a slash against the host alone.
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
