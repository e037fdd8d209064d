/** The Content-Security-Policy of the documentation page. */
import type { SecurityScheme } from "../../binding/security.ts";
import type { OpenAPIDocument } from "../openapi/document.ts";
import { serverUrls } from "../openapi/document_options.ts";

/**
 * What stands in a policy unchanged. A host with a wildcard would allow more than itself, and one
 * with a semicolon would end the directive: URL accepts both.
 */
const SOURCE = /^https?:\/\/(?:[a-z\d._-]+|\[[\da-f:]+\])(?::\d+)?$/;

/**
 * The other origins that the page fetches from: those of the servers that the document names, and,
 * to sign in, of its token endpoints and discovery documents. Authorization endpoints are not among
 * them, because the browser opens them in a window of their own.
 */
export function fetchedOrigins({ components, servers = [] }: OpenAPIDocument): readonly string[] {
  const urls = [
    ...servers.flatMap(serverUrls),
    ...Object.values(components.securitySchemes ?? {}).flatMap(fetchedUrls),
  ];
  const origins = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url).origin);
  return [...new Set(origins)].filter((origin) => SOURCE.test(origin)).sort();
}

function fetchedUrls(scheme: SecurityScheme): readonly string[] {
  if (scheme.type === "openIdConnect") return [scheme.openIdConnectUrl];
  if (scheme.type !== "oauth2") return [];
  const { authorizationCode, clientCredentials, password } = scheme.flows;
  return [authorizationCode, clientCredentials, password].flatMap((flow) => flow ? [flow.tokenUrl] : []);
}

/**
 * The policy of the page, which may load its own origin only. Swagger UI has its icons as `data:`
 * URLs, and shows images and sounds of replies by `blob:` URLs.
 *
 * @param origins The other origins that the page may fetch from.
 */
export function pagePolicy(origins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    ["connect-src 'self'", ...origins].join(" "),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The policy of the page that an authorization server redirects to. */
export const REDIRECT_POLICY: string =
  "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
