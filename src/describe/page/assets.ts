/** The files that the documentation page loads: those of Swagger UI, and some of our own. */
// A type alone: `deno cache` downloads the package for it, and `deno run` does not.
import type {} from "swagger-ui-dist";
import { cachedReply, contentHash } from "../../http/files/conditional.ts";
import type { HttpRequest } from "../../http/request.ts";
import { importLate } from "../../base/runtime.ts";
import { REDIRECT_SCRIPT, SIGN_IN_SCRIPT } from "./sign_in.ts";

/** The package of Swagger UI, which is downloaded on first use. */
export const PACKAGE: string = "npm:swagger-ui-dist@^5.35.0";

interface Asset {
  readonly contentType: string;
  /** Names the version. It is a part of the URL, so that browsers keep a file until it changes. */
  tag(): Promise<string>;
  read(): Promise<string>;
}

export type AssetName = "swagger-ui.css" | "page.css" | "swagger-ui.js" | "page.js" | "oauth2-redirect.js";

const CSS = "text/css; charset=utf-8";
const JAVASCRIPT = "text/javascript; charset=utf-8";

/**
 * Improves Swagger UI's style sheet: a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3), a visible focus, and
 * a layout for phones.
 */
const STYLE = `
body {
  margin: 0;
}

/* Shown until Swagger UI has loaded, or if it fails. */
#docs {
  font-family: sans-serif;
}
#docs > :is(h1, p) {
  margin: 1rem;
}

.swagger-ui .opblock.opblock-deprecated {
  opacity: 1;
}
.swagger-ui .json-schema-2020-12-accordion:focus-visible {
  outline: 2px solid;
}

html:not(.dark-mode) .swagger-ui {
  .info a,
  .info .link .url,
  .scopes h2 a {
    color: #1a5fb4;
  }
  .info .title small,
  .download-contents {
    background: #5c6370;
  }
  .info .title small.version-stamp {
    background: #4b6b00;
  }
  .btn.authorize {
    border-color: #19713f;
    color: #19713f;
  }
  .opblock .opblock-summary-method {
    color: #1b1b1b;
  }
  :is(.opblock-head, .opblock-options) .opblock-summary-method {
    color: #fff;
  }
  .parameter__in,
  .json-schema-2020-12-expand-deep-button {
    color: #595959;
  }
  .parameter__name.required span,
  .parameter__name.required::after {
    color: #b42318;
  }
  .response-control-media-type__accept-message,
  .response-control-media-type__accept-message code {
    color: #19713f;
  }
  .btn.cancel {
    border-color: #b42318;
    color: #b42318;
  }
  .btn.execute {
    background: #1a5fb4;
    border-color: #1a5fb4;
  }
  .json-schema-2020-12__constraint--string {
    background: #8a5a00;
  }
}
html.dark-mode .swagger-ui {
  .opblock.opblock-deprecated .opblock-summary-method {
    color: #fff;
  }
  .opblock.opblock-put .opblock-section-header {
    background: #5e3826;
  }
  .opblock .opblock-section-header .try-out__btn.cancel {
    border-color: #ff9b9b;
    color: #ff9b9b;
  }
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

/**
 * Starts Swagger UI, and adds what assistive technology needs. Nothing of the application is in the
 * text, so it cannot inject code: the script reads attributes of the page.
 */
const SCRIPT = String.raw`"use strict";

const page = document.getElementById("docs");
let ui;

// Swagger UI has its dark colours behind this class.
const darkness = matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
followSystem();
darkness.addEventListener("change", followSystem);

function start() {
  const { openapiUrl, redirectUrl, persistAuthorization, clientId, scopes } = page.dataset;
  ui = SwaggerUIBundle({
    domNode: page,
    url: new URL(openapiUrl, location.href).href,
    oauth2RedirectUrl: new URL(redirectUrl, location.href).href,
    persistAuthorization: persistAuthorization === "true",
    layout: "BaseLayout",
    deepLinking: true,
    filter: true,
    // The colours of the default theme have too little contrast.
    syntaxHighlight: { theme: "obsidian" },
    plugins: [WithoutNestedLinks, WithoutFormatWarnings, WithEmptyFilter, SignIn],
    requestInterceptor: (request) => refuseUndeclared(addPrefix(asTokenRequest(withoutUnchosen(request)))),
  });
  ui.initOAuth({
    ...(clientId !== undefined && { clientId }),
    scopes: scopes.split(" ").filter(Boolean),
    usePkceWithAuthorizationCodeGrant: true,
  });
  if (persistAuthorization !== "true") addEventListener("pagehide", () => deleteCookies(ui));
  new MutationObserver(repair).observe(page, { childList: true, subtree: true });
}

function addPrefix(request) {
  if (!request.loadSpec) request.url = withPrefix(new URL(request.url, location.href)).href;
  return request;
}

// A proxy may serve the application below a prefix without saying so. Then the paths of the
// document lack it, and the URL of the page has it.
function withPrefix(url) {
  if (url.origin !== location.origin || ui.specSelectors.specJson().has("servers")) return url;
  url.pathname = new URL(page.dataset.rootUrl, location.href).pathname + url.pathname.slice(1);
  return url;
}

// Swagger UI sends an empty file if none was chosen and the document has its media types.
function withoutUnchosen(request) {
  const isUnchosen = (value) => value instanceof File && value.name === "blob" && value.size === 0;
  if (request.body instanceof FormData) {
    for (const name of [...request.body.keys()]) {
      if (request.body.getAll(name).every(isUnchosen)) request.body.delete(name);
    }
  }
  return request;
}

// Swagger UI puts a link into the button that opens an operation: two tab stops, of which screen
// readers announce one.
function WithoutNestedLinks() {
  return { components: { DeepLink: ({ text }) => text } };
}

// Swagger UI warns of each list whose items have a format, because it has no component for most
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

// Swagger UI says that the document has no operations where the filter lets none through.
function WithEmptyFilter() {
  const operations = (Operations, { React, layoutSelectors, specSelectors }) => (props) => {
    const filter = layoutSelectors.currentFilter();
    const isEmpty = typeof filter === "string" && filter !== "" && specSelectors.taggedOperations().size === 0;
    return isEmpty
      ? React.createElement("h3", null, "No operation has this in its tag or path.")
      : React.createElement(Operations, props);
  };
  return { wrapComponents: { operations } };
}

// Elements that Swagger UI leaves without a name or role, or with the wrong level.
const REPAIRS = [
  [".information-container:not([role])", () => ({ role: "banner" })],
  [":is(h3, h4, h5):not([aria-level])", ({ tagName }) => ({ ariaLevel: tagName[1] - 1 })],
  [".auth-container h6:not([aria-level])", () => ({ ariaLevel: 4 })],
  [".responses-table[role=region]:not([aria-label])", (table) => ({ ariaLabel: "Responses of " + operationOf(table) })],
  [".filter-container:not([role])", () => ({ role: "search" })],
  [".operation-filter-input:not([aria-label])", ({ placeholder }) => ({ ariaLabel: placeholder })],
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

${SIGN_IN_SCRIPT}
if (typeof SwaggerUIBundle === "undefined") {
  page.append("Swagger UI, which shows it, could not be loaded. The log of the application says why.");
} else {
  start();
}
`;

/** The files that the page loads, in their order. */
export const STYLE_SHEETS: readonly AssetName[] = ["swagger-ui.css", "page.css"];
export const SCRIPTS: readonly AssetName[] = ["swagger-ui.js", "page.js"];

const ASSETS: Readonly<Record<AssetName, Asset>> = {
  "swagger-ui.css": {
    contentType: CSS,
    tag: swaggerUIVersion,
    read: () => readSwaggerUI("swagger-ui.css"),
  },
  "page.css": { contentType: CSS, tag: () => contentHash(STYLE), read: async () => STYLE },
  "swagger-ui.js": {
    contentType: JAVASCRIPT,
    tag: swaggerUIVersion,
    read: () => readSwaggerUI("swagger-ui-bundle.js"),
  },
  "page.js": { contentType: JAVASCRIPT, tag: () => contentHash(SCRIPT), read: async () => SCRIPT },
  "oauth2-redirect.js": {
    contentType: JAVASCRIPT,
    tag: () => contentHash(REDIRECT_SCRIPT),
    read: async () => REDIRECT_SCRIPT,
  },
};

/** The URL of a file in the same folder, with its version. */
export async function assetUrl(name: AssetName): Promise<string> {
  return `${name}?v=${await ASSETS[name].tag()}`;
}

export async function answerAsset({ headers, query }: HttpRequest<unknown>, name: AssetName): Promise<Response> {
  const asset = ASSETS[name];
  const tag = await asset.tag();
  // Behind a load balancer, the page may come from another version of the program: its URLs must
  // not be cached here.
  const isCurrent = query.get("v") === tag;
  const cacheControl = isCurrent ? "public, max-age=31536000, immutable" : "no-cache";
  return await cachedReply(headers, { ...asset, tag }, { "cache-control": cacheControl });
}

async function readSwaggerUI(name: string): Promise<string> {
  return (await importLate<{ default: string }>(`${PACKAGE}/${name}`, "text")).default;
}

async function swaggerUIVersion(): Promise<string> {
  return (await importLate<{ default: { version: string } }>(`${PACKAGE}/package.json`, "json")).default.version;
}
