/** The documentation page at `docsUrl`: shows the document by Swagger UI, which the application serves itself. */
import type { HttpRequest } from "../../http/request.ts";
import { pageMarkup, relativeUrl } from "./markup.ts";
import { SCRIPT } from "./script.ts";
import { staticReply, type StaticText, tagOf } from "../../http/static_reply.ts";
import { STYLE } from "./style.ts";
import { readSwaggerUIScript, readSwaggerUIStyle, swaggerUIVersion } from "./swagger_ui.ts";

/** What the page is about, and where. */
export interface DocsPageOptions {
  /** The title of the application. */
  readonly title: string;
  /** The path of the page. */
  readonly docsUrl: string;
  /** The path of the document. */
  readonly openapiUrl: string;
}

/** What is served at one path, to GET. */
export interface DocsRoute {
  /** The path, as of a route. */
  readonly path: string;
  /** Answers a request. */
  readonly handler: (request: HttpRequest<unknown>) => Promise<Response>;
}

/**
 * The page may load and call what its own origin serves, and nothing else. Swagger UI has its icons as `data:` URLs, and shows
 * pictures and sounds of replies by `blob:` URLs.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HTML = "text/html; charset=utf-8";
const CSS = "text/css; charset=utf-8";
const JAVASCRIPT = "text/javascript; charset=utf-8";

/** What the page loads. The tag is in the URL, so that browsers keep a file until it changes. */
interface Asset {
  readonly name: string;
  readonly contentType: string;
  tag(): Promise<string>;
  read(): Promise<string>;
}

const STYLES: readonly Asset[] = [
  { name: "swagger-ui.css", contentType: CSS, tag: swaggerUIVersion, read: readSwaggerUIStyle },
  { name: "page.css", contentType: CSS, tag: () => tagOf(STYLE), read: async () => STYLE },
];

const SCRIPTS: readonly Asset[] = [
  { name: "swagger-ui.js", contentType: JAVASCRIPT, tag: swaggerUIVersion, read: readSwaggerUIScript },
  { name: "page.js", contentType: JAVASCRIPT, tag: () => tagOf(SCRIPT), read: async () => SCRIPT },
];

/**
 * The page and the files it loads, which are served below its path.
 *
 * @param options What the page is about, and where.
 */
export function docsRoutes(options: DocsPageOptions): readonly DocsRoute[] {
  const page: DocsRoute = {
    path: options.docsUrl,
    handler: async ({ headers }) => {
      return await staticReply(headers, await pageOf(options), {
        "cache-control": "no-cache",
        "content-security-policy": CONTENT_SECURITY_POLICY,
      });
    },
  };
  return [page, ...[...STYLES, ...SCRIPTS].map((asset) => assetRoute(options.docsUrl, asset))];
}

function assetRoute(docsUrl: string, asset: Asset): DocsRoute {
  return {
    path: assetPath(docsUrl, asset),
    handler: async ({ headers, query }) => {
      const tag = await asset.tag();
      // Behind a balancer, another version of the program may have made the page: then nothing may keep this file.
      const isAskedFor = query.get("v") === tag;
      const cacheControl = isAskedFor ? "public, max-age=31536000, immutable" : "no-cache";
      return await staticReply(headers, { ...asset, tag }, { "cache-control": cacheControl });
    },
  };
}

async function pageOf({ title, docsUrl, openapiUrl }: DocsPageOptions): Promise<StaticText> {
  const urlOf = async (asset: Asset) => `${relativeUrl(docsUrl, assetPath(docsUrl, asset))}?v=${await asset.tag()}`;
  const markup = pageMarkup({
    title,
    openapiUrl: relativeUrl(docsUrl, openapiUrl),
    rootUrl: relativeUrl(docsUrl, "/"),
    styles: await Promise.all(STYLES.map(urlOf)),
    scripts: await Promise.all(SCRIPTS.map(urlOf)),
  });
  return { contentType: HTML, tag: await tagOf(markup), read: async () => markup };
}

function assetPath(docsUrl: string, { name }: Asset): string {
  return docsUrl.endsWith("/") ? docsUrl + name : `${docsUrl}/${name}`;
}
