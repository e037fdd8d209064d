/** The documentation page at `docsUrl`: Swagger UI, which shows the document. */
import { cachedReply, type CachedText, contentHash } from "../../http/files/conditional.ts";
import type { HttpRequest } from "../../http/request.ts";
import { type AssetName, ASSETS, CSS, JAVASCRIPT } from "./assets.ts";

/** What the page shows, and the paths of its parts. */
export interface DocsPageOptions {
  readonly title: string;
  readonly docsUrl: string;
  readonly openapiUrl: string;
  /** The path below which the assets are; ends with a slash. */
  readonly assetFolder: string;
}

const HTML = "text/html; charset=utf-8";

/**
 * The page may load and call its own origin only. Swagger UI has its icons as `data:` URLs, and
 * shows images and sounds of replies by `blob:` URLs.
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

/** A drawing of a document. Without an icon, browsers would request `/favicon.ico`. */
const ICON = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>" +
  "<path fill='#1b1b1b' d='M3 0h7l4 4v12H3z'/><path stroke='#fff' d='M5 6.5h6M5 9.5h6M5 12.5h4'/></svg>";

export async function answerPage({ headers }: HttpRequest<unknown>, options: DocsPageOptions): Promise<Response> {
  const html = await pageMarkup(options);
  const content: CachedText = { contentType: HTML, tag: await contentHash(html), read: async () => html };
  return await cachedReply(headers, content, {
    "cache-control": "no-cache",
    "content-security-policy": CONTENT_SECURITY_POLICY,
  });
}

/** All URLs are relative to the page, so that a proxy may serve the application below a prefix. */
async function pageMarkup({ title, docsUrl, openapiUrl, assetFolder }: DocsPageOptions): Promise<string> {
  const document = escape(relativeUrl(docsUrl, openapiUrl));
  const root = escape(relativeUrl(docsUrl, "/"));
  const assetUrls = (type: string) => {
    const names = (Object.keys(ASSETS) as AssetName[]).filter((name) => ASSETS[name].contentType === type);
    return Promise.all(names.map(async (name) => {
      return escape(`${relativeUrl(docsUrl, assetFolder + name)}?v=${await ASSETS[name].tag()}`);
    }));
  };
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escape(title)}</title>`,
    `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">`,
    ...(await assetUrls(CSS)).map((url) => `<link rel="stylesheet" href="${url}">`),
    ...(await assetUrls(JAVASCRIPT)).map((url) => `<script src="${url}" defer></script>`),
    "</head>",
    "<body>",
    `<div id="docs" data-openapi-url="${document}" data-root-url="${root}">`,
    `<h1>${escape(title)}</h1>`,
    `<p>The <a href="${document}">OpenAPI document</a> of this application.</p>`,
    "<noscript><p>This page needs JavaScript to show it.</p></noscript>",
    "</div>",
    "</body>",
    "</html>",
  ];
  return lines.join("\n") + "\n";
}

/** The relative URL from one path to another. Both start with a slash and are not encoded. */
function relativeUrl(from: string, to: string): string {
  const folder = from.split("/").slice(0, -1);
  const target = to.split("/");
  const mostShared = Math.min(folder.length, target.length - 1);
  let shared = 0;
  while (shared < mostShared && folder[shared] === target[shared]) shared++;
  const up = "../".repeat(folder.length - shared);
  // Without `./`, a name with a colon would be read as a scheme.
  return (up || "./") + target.slice(shared).map(encodeURIComponent).join("/");
}

/** Makes text safe between tags and in quoted attributes. */
function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
