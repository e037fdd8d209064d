/** The documentation page at `docsUrl`: Swagger UI, and its Content-Security-Policy. */
import { cachedReply, type CachedText, contentHash } from "../../http/files/conditional.ts";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import { isMountWithoutSlash, redirectToSlash } from "../../http/reply.ts";
import type { OpenAPIDocument } from "../openapi/document.ts";
import { type AssetName, assetUrl, SCRIPTS, STYLE_SHEETS } from "./assets.ts";
import { REDIRECT_PAGE, type SignInOptions } from "./options.ts";
import type { SecurityScheme } from "../../binding/security.ts";
import { serverUrls } from "../openapi/document_options.ts";
import { METHODS } from "../openapi/openapi.ts";

export interface DocsPageOptions {
  readonly title: string;
  readonly docsUrl: string;
  readonly openapiUrl: string;
  /** Ends with a slash. */
  readonly assetFolder: string;
  readonly signIn: SignInOptions;
  readonly document: () => OpenAPIDocument;
  readonly cacheControl: string;
}

const HTML = "text/html; charset=utf-8";

/** Without an icon, browsers would request `/favicon.ico`. */
const ICON = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>" +
  "<path fill='#1b1b1b' d='M3 0h7l4 4v12H3z'/><path stroke='#fff' d='M5 6.5h6M5 9.5h6M5 12.5h4'/></svg>";

export async function answerPage(request: HttpRequest<unknown>, options: DocsPageOptions): Promise<Response> {
  const context = contextOf(request);
  if (isMountWithoutSlash(context)) return redirectToSlash(context);
  const document = options.document();
  const origins = fetchedOrigins(document);
  const html = await pageMarkup(options, origins, operationsOf(document));
  const content: CachedText = { contentType: HTML, tag: await contentHash(html), read: async () => html };
  return await cachedReply(request.headers, content, {
    "cache-control": options.cacheControl,
    "content-security-policy": pagePolicy(origins),
  });
}

/** Its URL contains the authorization code, which no cache and no other server may get. */
export async function answerRedirectPage(): Promise<Response> {
  const script = `<script src="./${await assetUrl("oauth2-redirect.js")}" defer></script>`;
  const html = markup("Sign-in", [script], ["<p>This page needs JavaScript to sign in.</p>"]);
  return new Response(html, {
    headers: {
      "cache-control": "no-store",
      "content-security-policy": REDIRECT_POLICY,
      "content-type": HTML,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
  });
}

/** Beyond this number of operations, the page takes seconds to show them. */
const MAX_EXPANDED = 100;

function operationsOf({ paths }: OpenAPIDocument): number {
  return Object.values(paths).flatMap((item) => Object.keys(item).filter((name) => METHODS.has(name))).length;
}

/** All URLs are relative: a proxy may serve the application below a prefix. */
async function pageMarkup(
  options: DocsPageOptions,
  origins: readonly string[],
  operations: number,
): Promise<string> {
  const { title, docsUrl, openapiUrl, assetFolder, signIn } = options;
  const document = escape(relativeUrl(docsUrl, openapiUrl));
  const folder = relativeUrl(docsUrl, assetFolder);
  const assetUrls = (names: readonly AssetName[]) =>
    Promise.all(names.map(async (name) => escape(folder + await assetUrl(name))));
  const data = {
    "openapi-url": document,
    "root-url": escape(relativeUrl(docsUrl, "/")),
    "redirect-url": escape(folder + REDIRECT_PAGE),
    "other-origins": escape(origins.join(" ")),
    scopes: escape(signIn.scopes.join(" ")),
    "persist-authorization": String(signIn.persistAuthorization),
    parameters: escape(JSON.stringify({
      ...(operations > MAX_EXPANDED && { docExpansion: "none" }),
      ...signIn.parameters,
    })),
    ...(signIn.clientId !== undefined && { "client-id": escape(signIn.clientId) }),
  };
  const attributes = Object.entries(data).map(([name, value]) => ` data-${name}="${value}"`).join("");
  const head = [
    `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">`,
    ...(await assetUrls(STYLE_SHEETS)).map((url) => `<link rel="stylesheet" href="${url}">`),
    ...(await assetUrls(SCRIPTS)).map((url) => `<script src="${url}" defer></script>`),
  ];
  return markup(title, head, [
    `<div id="docs"${attributes}>`,
    `<h1>${escape(title)}</h1>`,
    `<p>The <a href="${document}">OpenAPI document</a> of this application.</p>`,
    "<noscript><p>This page needs JavaScript to show it.</p></noscript>",
    "</div>",
  ]);
}

function markup(title: string, head: readonly string[], body: readonly string[]): string {
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escape(title)}</title>`,
    ...head,
    "</head>",
    "<body>",
    ...body,
    "</body>",
    "</html>",
  ];
  return lines.join("\n") + "\n";
}

/** Both paths start with a slash and are not encoded. */
function relativeUrl(from: string, to: string): string {
  const folder = from.split("/").slice(0, -1);
  const target = to.split("/");
  const mostShared = Math.min(folder.length, target.length - 1);
  let shared = 0;
  while (shared < mostShared && folder[shared] === target[shared]) shared++;
  const up = "../".repeat(folder.length - shared);
  // Without `./`, a name with a colon would be a scheme.
  return (up || "./") + target.slice(shared).map(encodeURIComponent).join("/");
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** `URL` also accepts wildcards, and semicolons, which would end a directive. */
const SOURCE = /^https?:\/\/(?:[a-z\d._-]+|\[[\da-f:]+\])(?::\d+)?$/;

/** Without authorization endpoints, which open in a window of their own. */
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

/** Swagger UI has icons as `data:` URLs, and plays files of replies by `blob:` URLs. */
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

export const REDIRECT_POLICY: string =
  "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
