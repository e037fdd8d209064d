import type { HttpRequest } from "../../http/request.ts";
import { type AssetName, assetPath, ASSETS } from "./asset.ts";
import { cachedReply, type CachedText, contentHash } from "../../http/files/conditional.ts";

/** What the page adds to Swagger UI's style sheet: a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3), a focus that is seen, and room on a phone. */

/** The style sheet. */
export const STYLE: string = `
body {
  margin: 0;
}

/* Until Swagger UI has come, and where it does not. */
#docs {
  font-family: sans-serif;
}
#docs > :is(h1, p) {
  margin: 1rem;
}

.swagger-ui .info a,
.swagger-ui .info .link .url {
  color: #1a5fb4;
}
.swagger-ui .info .title small,
.swagger-ui .download-contents {
  background: #5c6370;
}
.swagger-ui .info .title small.version-stamp {
  background: #4b6b00;
}
.swagger-ui .btn.authorize {
  border-color: #19713f;
  color: #19713f;
}
.swagger-ui .opblock .opblock-summary-method {
  color: #1b1b1b;
}
.swagger-ui :is(.opblock-head, .opblock-options) .opblock-summary-method {
  color: #fff;
}
.swagger-ui .opblock.opblock-deprecated {
  opacity: 1;
}
.swagger-ui .parameter__in,
.swagger-ui .json-schema-2020-12-expand-deep-button {
  color: #595959;
}
.swagger-ui .parameter__name.required span,
.swagger-ui .parameter__name.required::after {
  color: #b42318;
}
.swagger-ui .response-control-media-type__accept-message,
.swagger-ui .response-control-media-type__accept-message code {
  color: #19713f;
}
.swagger-ui .btn.cancel {
  border-color: #b42318;
  color: #b42318;
}
.swagger-ui .btn.execute {
  background: #1a5fb4;
  border-color: #1a5fb4;
}
.swagger-ui .json-schema-2020-12__constraint--string {
  background: #8a5a00;
}
.swagger-ui .json-schema-2020-12-accordion:focus-visible {
  outline: 2px solid;
}

@media (max-width: 640px) {
  .swagger-ui .opblock .opblock-section-header {
    flex-wrap: wrap;
  }
  .swagger-ui .response-col_links {
    display: none;
  }
}
`;

/** What runs in the browser: starts Swagger UI, and gives it what assistive technology needs. */

/**
 * The script. It is the same for every application, so that nothing that an application says can become a part of it: what differs
 * stands in the attributes of the page.
 */
export const SCRIPT: string = String.raw`"use strict";

const page = document.getElementById("docs");

function start() {
  const openapiUrl = new URL(page.dataset.openapiUrl, location.href);
  const rootUrl = new URL(page.dataset.rootUrl, location.href);
  const ui = SwaggerUIBundle({
    domNode: page,
    url: openapiUrl.href,
    layout: "BaseLayout",
    deepLinking: true,
    // The colours of the default theme are too dark.
    syntaxHighlight: { theme: "obsidian" },
    plugins: [WithoutNestedLinks, WithoutFormatWarnings],
    requestInterceptor: (request) => addPrefix(withoutUnchosen(request)),
  });
  new MutationObserver(repair).observe(page, { childList: true, subtree: true });

  // The document names paths of the application. A proxy may serve it below a prefix: the one that the page has.
  function addPrefix(request) {
    const url = new URL(request.url, location.href);
    if (request.loadSpec || url.origin !== location.origin || ui.specSelectors.specJson().has("servers")) return request;
    url.pathname = rootUrl.pathname + url.pathname.slice(1);
    request.url = url.href;
    return request;
  }
}

// For a file that was not chosen, Swagger UI sends one that is empty where the document tells its media types.
function withoutUnchosen(request) {
  const isUnchosen = (value) => value instanceof File && value.name === "blob" && value.size === 0;
  if (request.body instanceof FormData) {
    for (const name of [...request.body.keys()]) {
      if (request.body.getAll(name).every(isUnchosen)) request.body.delete(name);
    }
  }
  return request;
}

// Swagger UI has a link inside of the button that opens an operation: two stops of the tab key, of which screen readers tell one.
function WithoutNestedLinks() {
  return { components: { DeepLink: ({ text }) => text } };
}

// Swagger UI warns of each list whose items have a format, since it has no component for most
// formats.
function WithoutFormatWarnings() {
  return {
    afterLoad({ log }) {
      const { warn } = log;
      log.warn = (...words) => {
        if (!words.join(" ").startsWith("Could not find component: JsonSchema_")) warn(...words);
      };
    },
  };
}

// What Swagger UI leaves without a name or a role, or in the wrong order: where it is, and what it lacks.
const REPAIRS = [
  [".information-container:not([role])", () => ({ role: "banner" })],
  [":is(h3, h4, h5):not([aria-level])", ({ tagName }) => ({ ariaLevel: tagName[1] - 1 })],
  [".responses-table[role=region]:not([aria-label])", (table) => ({ ariaLabel: "Responses of " + operationOf(table) })],
  [":is(select, textarea, input):not([aria-label], [id])", (control) => ({ ariaLabel: inputOf(control) })],
  [".dialog-ux:not([role])", () => ({ role: "dialog", ariaModal: "true", ariaLabel: "Authorize" })],
  [".close-modal:not([aria-label])", () => ({ ariaLabel: "Close" })],
  [".modal-btn[aria-label]", () => ({ ariaLabel: null })],
];

function repair() {
  for (const [selector, propertiesOf] of REPAIRS) {
    for (const element of page.querySelectorAll(selector)) Object.assign(element, propertiesOf(element));
  }
}

function operationOf(element) {
  return element.closest(".opblock").querySelector(".opblock-summary-control").innerText;
}

function inputOf(control) {
  const row = control.closest("[data-property-name], [data-param-name]");
  return row?.dataset.propertyName ?? row?.dataset.paramName ?? "Request body";
}

if (typeof SwaggerUIBundle === "undefined") {
  page.append("Swagger UI, which shows it, could not be loaded. The log of the application says why.");
} else {
  start();
}
`;

/** The files of Swagger UI, out of its package. They are read when the page is first shown: an application that never shows it pays nothing. */

/** The version of the package. */
export async function swaggerUIVersion(): Promise<string> {
  const { default: { version } } = await import("swagger-ui-dist/package.json", { with: { type: "json" } });
  return version;
}

/** The script. */
export function readSwaggerUIScript(): Promise<string> {
  return readText(
    () => import("swagger-ui-dist/swagger-ui-bundle.js", { with: { type: "text" } }),
    "swagger-ui-bundle.js",
  );
}

/** The style sheet. */
export function readSwaggerUIStyle(): Promise<string> {
  return readText(() => import("swagger-ui-dist/swagger-ui.css", { with: { type: "text" } }), "swagger-ui.css");
}

/**
 * The text of a file of the package.
 *
 * Deno imports text from 2.8 on, which takes no permission. Older ones refuse it, and read the file where they keep packages.
 *
 * @param load Imports the file as text.
 * @param file Its name.
 * @throws {Error} When it can be neither imported nor read; the cause says why.
 */
export async function readText(load: () => Promise<{ default: string }>, file: string): Promise<string> {
  try {
    return (await load()).default;
  } catch {
    try {
      const { default: packageFolder } = await import("swagger-ui-dist/absolute-path.js");
      return await Deno.readTextFile(`${packageFolder()}/${file}`);
    } catch (cause) {
      throw new Error(`Cannot read ${file} of Swagger UI: Deno ${Deno.version.deno} can neither import nor read it`, {
        cause,
      });
    }
  }
}

/** The markup of the documentation page: what is different from application to application, and nothing that runs. */

/** What the page shows and loads. All URLs are relative to the page, so that a proxy may serve it below a prefix. */
export interface PageParts {
  /** The title of the application. */
  readonly title: string;
  /** Where the document is. */
  readonly openapiUrl: string;
  /** Where the paths of the document start. */
  readonly rootUrl: string;
  /** Style sheets, in their order. */
  readonly styles: readonly string[];
  /** Scripts, in their order. */
  readonly scripts: readonly string[];
}

/** A drawing of a document, so that browsers do not look for an icon at `/favicon.ico`. */
const ICON = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>" +
  "<path fill='#1b1b1b' d='M3 0h7l4 4v12H3z'/><path stroke='#fff' d='M5 6.5h6M5 9.5h6M5 12.5h4'/></svg>";

/** The page, as HTML. */
export function pageMarkup({ title, openapiUrl, rootUrl, styles, scripts }: PageParts): string {
  const lines = [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escape(title)}</title>`,
    `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">`,
    ...styles.map((url) => `<link rel="stylesheet" href="${escape(url)}">`),
    ...scripts.map((url) => `<script src="${escape(url)}" defer></script>`),
    "</head>",
    "<body>",
    `<div id="docs" data-openapi-url="${escape(openapiUrl)}" data-root-url="${escape(rootUrl)}">`,
    `<h1>${escape(title)}</h1>`,
    `<p>The <a href="${escape(openapiUrl)}">OpenAPI document</a> of this application.</p>`,
    "<noscript><p>This page needs JavaScript to show it.</p></noscript>",
    "</div>",
    "</body>",
    "</html>",
  ];
  return lines.join("\n") + "\n";
}

/**
 * The URL that leads from one path of the application to another.
 *
 * @param from The path of the page, starting with a slash and not encoded.
 * @param to The path to reach, likewise.
 */
export function relativeUrl(from: string, to: string): string {
  const folder = from.split("/").slice(0, -1);
  const target = to.split("/");
  const mostShared = Math.min(folder.length, target.length - 1);
  let shared = 0;
  while (shared < mostShared && folder[shared] === target[shared]) shared++;
  const up = "../".repeat(folder.length - shared);
  // Without the dot, a name with a colon would be read as a scheme.
  return (up || "./") + target.slice(shared).map(encodeURIComponent).join("/");
}

/** Makes a text safe between tags and in a quoted attribute. */
function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The documentation page at `docsUrl`: shows the document by Swagger UI, which the application serves itself. */

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
  "page.css": { contentType: CSS, tag: () => contentHash(STYLE), read: async () => STYLE },
  "swagger-ui.js": { contentType: JAVASCRIPT, tag: swaggerUIVersion, read: readSwaggerUIScript },
  "page.js": { contentType: JAVASCRIPT, tag: () => contentHash(SCRIPT), read: async () => SCRIPT },
};

/** Answers with the page. */
export async function answerPage({ headers }: HttpRequest<unknown>, options: DocsPageOptions): Promise<Response> {
  return await cachedReply(headers, await pageOf(options), {
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
  return await cachedReply(headers, { ...asset, tag }, { "cache-control": cacheControl });
}

async function pageOf({ title, docsUrl, openapiUrl }: DocsPageOptions): Promise<CachedText> {
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
  return { contentType: HTML, tag: await contentHash(markup), read: async () => markup };
}
