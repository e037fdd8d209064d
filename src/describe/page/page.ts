/** The documentation page at `docsUrl`: shows the document by Swagger UI, which the application serves itself. */
import type { HttpRequest } from "../../http/request.ts";
import { type AssetName, assetPath, ASSETS } from "./asset.ts";
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
  readonly contentType: string;
  tag(): Promise<string>;
  read(): Promise<string>;
}

const CONTENTS: Readonly<Record<AssetName, Asset>> = {
  "swagger-ui.css": { contentType: CSS, tag: swaggerUIVersion, read: readSwaggerUIStyle },
  "page.css": { contentType: CSS, tag: () => tagOf(STYLE), read: async () => STYLE },
  "swagger-ui.js": { contentType: JAVASCRIPT, tag: swaggerUIVersion, read: readSwaggerUIScript },
  "page.js": { contentType: JAVASCRIPT, tag: () => tagOf(SCRIPT), read: async () => SCRIPT },
};

/** Answers with the page. */
export async function answerPage({ headers }: HttpRequest<unknown>, options: DocsPageOptions): Promise<Response> {
  return await staticReply(headers, await pageOf(options), {
    "cache-control": "no-cache",
    "content-security-policy": CONTENT_SECURITY_POLICY,
  });
}

/** Answers with a file that the page loads. */
export async function answerAsset({ headers, query }: HttpRequest<unknown>, name: AssetName): Promise<Response> {
  const asset = CONTENTS[name];
  const tag = await asset.tag();
  // Behind a balancer, another version of the program may have made the page: then nothing may keep this file.
  const isAskedFor = query.get("v") === tag;
  const cacheControl = isAskedFor ? "public, max-age=31536000, immutable" : "no-cache";
  return await staticReply(headers, { ...asset, tag }, { "cache-control": cacheControl });
}

async function pageOf({ title, docsUrl, openapiUrl }: DocsPageOptions): Promise<StaticText> {
  const urls = (type: string) => {
    const names = ASSETS.filter((name) => CONTENTS[name].contentType === type);
    return Promise.all(names.map(async (name) => {
      return `${relativeUrl(docsUrl, assetPath(docsUrl, name))}?v=${await CONTENTS[name].tag()}`;
    }));
  };
  const markup = pageMarkup({
    title,
    openapiUrl: relativeUrl(docsUrl, openapiUrl),
    rootUrl: relativeUrl(docsUrl, "/"),
    styles: await urls(CSS),
    scripts: await urls(JAVASCRIPT),
  });
  return { contentType: HTML, tag: await tagOf(markup), read: async () => markup };
}
