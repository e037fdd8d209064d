/** The files of the documentation page: Swagger UI, and our style sheet and scripts. */
// A type: `deno cache` downloads the package for it, and `deno run` does not.
import type {} from "swagger-ui-dist";
import { cachedReply, contentHash } from "../../http/files/conditional.ts";
import type { HttpRequest } from "../../http/request.ts";
import { importLate } from "../../base/runtime.ts";

/** Downloaded on first use. */
export const PACKAGE: string = "npm:swagger-ui-dist@^5.35.0";

interface Asset {
  readonly contentType: string;
  /** The version in the URL: browsers cache a file until it changes. */
  tag(): Promise<string>;
  read(): Promise<string>;
}

export type AssetName = "swagger-ui.css" | "page.css" | "swagger-ui.js" | "page.js" | "oauth2-redirect.js";

const CSS = "text/css; charset=utf-8";
const JAVASCRIPT = "text/javascript; charset=utf-8";

/**
 * Replaces the sign-in of Swagger UI: its state is the time in seconds, its redirect page accepts a
 * code with a wrong state, and it needs `window.opener`, which some authorization servers remove.
 * Here two windows use a `BroadcastChannel`, which only this origin receives, and the authorization
 * server gets no opener.
 */
const CHANNEL = "webfw-docs-sign-in";

/** Included in {@linkcode SCRIPT}: it uses its `page` and `withPrefix`. */
const SIGN_IN_SCRIPT = String.raw`
const otherOrigins = page.dataset.otherOrigins.split(" ");
let stopWaiting = () => {};

// A plugin of Swagger UI.
function SignIn() {
  const wrapActions = { authPopup: () => signIn, authorize: settingCookies, logout: deletingCookies };
  return {
    statePlugins: {
      auth: { wrapActions, wrapSelectors: { definitionsToAuthorize: withoutUnsafeFlows } },
      spec: { wrapActions: { executeRequest: withUtf8 } },
    },
  };
}

function signIn(url, { auth, redirectUrl, callback, errCb }) {
  const fail = (message) => errCb({ authId: auth.name, source: "auth", level: "error", message });
  const target = withPrefix(new URL(url, location.href));
  // A discovery document can contain any address.
  if (!/^https?:$/.test(target.protocol)) return fail("The authorization endpoint is no web address.");
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const state = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  target.searchParams.set("state", state);
  const opened = open("about:blank");
  if (opened === null) return fail("The browser did not open a window: let this page open windows.");
  opened.opener = null;
  opened.location.replace(target);

  stopWaiting();
  const channel = new BroadcastChannel("${CHANNEL}");
  stopWaiting = () => channel.close();
  channel.onmessage = ({ data: { answer } }) => {
    // Messages of other windows and of attackers arrive here, too.
    if (answer?.state !== state) return;
    channel.postMessage({ taken: state });
    channel.close();
    const { code, access_token, error, error_description } = answer;
    if (code) callback({ auth: { ...auth, code }, redirectUrl });
    else if (access_token) callback({ auth, token: answer, isValid: true, redirectUrl });
    else fail([error ?? "The authorization server sent no code", error_description].filter(Boolean).join(": "));
  };
}

// A header that is not sent makes no preflight, which many authorization servers refuse. A client
// without a name and a secret must not send empty ones.
function asTokenRequest(request) {
  const { headers = {}, body } = request;
  const isForToken = "X-Requested-With" in headers && headers.Accept === "application/json, text/plain, */*";
  if (!isForToken || typeof body !== "string") return request;
  delete headers["X-Requested-With"];
  if (headers.Authorization === "Basic " + btoa(":")) delete headers.Authorization;
  const form = new URLSearchParams(body);
  if (form.get("client_secret") === "") form.delete("client_secret");
  request.body = String(form);
  return request;
}

// The policy of the page forbids these requests, and its error does not explain why.
function refuseUndeclared(request) {
  const { origin } = new URL(request.url, location.href);
  if (origin === location.origin || otherOrigins.includes(origin)) return request;
  throw new Error(
    "This page does not send requests to " + origin + ". If the application is there, name it in servers. If " +
      "tokens come from there, declare a scheme of type oauth2 with its tokenUrl.",
  );
}

// A discovery document lists all flows of the server. OAuth 2.1 has no implicit flow, and a page
// has no secret for the flows of programs.
function withoutUnsafeFlows(original) {
  return (_state, ...rest) =>
    original(...rest)?.filter((definitions) =>
      definitions.every((scheme) =>
        scheme.get("openIdConnectUrl") === undefined || scheme.get("flow") === "authorization_code"
      )
    );
}

// Swagger UI passes passwords to btoa(), which requires bytes.
function withUtf8(original) {
  const bytesOf = (text = "") => String.fromCharCode(...new TextEncoder().encode(text));
  return (request) => {
    const authorized = { ...request.securities?.authorized };
    for (const [name, scheme] of Object.entries(authorized)) {
      if (!/^basic$/i.test(scheme.schema?.scheme)) continue;
      const { username, password } = scheme.value;
      authorized[name] = { ...scheme, value: { username: bytesOf(username), password: bytesOf(password) } };
    }
    return original({ ...request, securities: { ...request.securities, authorized } });
  };
}

// Browsers ignore a Cookie header of a script, and send their own cookies.
function settingCookies(original, { errActions }) {
  return (schemes) => {
    original(schemes);
    for (const [authId, { schema, value }] of Object.entries(schemes)) {
      const name = cookieOf(schema);
      if (name === undefined) continue;
      const isValid = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/.test(value);
      if (isValid) setCookie(name, value, "");
      if (isValid && document.cookie.split("; ").includes(name + "=" + value)) continue;
      const message = "The browser does not let this page set the cookie " + name + ". If the application sets it, " +
        "sign in there: the browser sends it with each request.";
      errActions.newAuthErr({ authId, source: "auth", level: "error", message });
    }
  };
}

function deletingCookies(original, { authSelectors }) {
  return (names) => {
    for (const name of names) deleteCookie(authSelectors.authorized().getIn([name, "schema"]));
    original(names);
  };
}

function deleteCookies(ui) {
  ui.authSelectors.authorized()?.forEach((scheme) => deleteCookie(scheme.get("schema")));
}

function deleteCookie(schema) {
  const name = cookieOf(schema);
  if (name !== undefined) setCookie(name, "", "; Max-Age=0");
}

function cookieOf(schema) {
  if (schema?.get?.("type") === "apiKey" && schema.get("in") === "cookie") return schema.get("name");
}

function setCookie(name, value, attributes) {
  const path = new URL(page.dataset.rootUrl, location.href).pathname;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = name + "=" + value + "; Path=" + path + "; SameSite=Strict" + secure + attributes;
}
`;

const REDIRECT_SCRIPT = String.raw`"use strict";

const answer = Object.fromEntries(new URLSearchParams(location.search.slice(1) || location.hash.slice(1)));
// A code or token must not stay in the address and in the history.
history.replaceState(null, "", location.pathname);
const text = document.querySelector("p");
const channel = new BroadcastChannel("${CHANNEL}");
channel.onmessage = ({ data: { taken } }) => {
  if (typeof taken !== "string" || taken !== answer.state) return;
  channel.close();
  text.textContent = "This window can be closed.";
  close();
};
channel.postMessage({ answer });
text.textContent = "No page waits for this sign-in. Close this window, and start at the documentation page.";
`;

/** Contrast of 4.5 to 1 (WCAG 2.2, 1.4.3), visible focus, and a layout for phones. */
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

/** Constant, so that nothing can be injected: it reads attributes of the page. */
const SCRIPT = String.raw`"use strict";

const page = document.getElementById("docs");
let ui;

// Swagger UI has its dark colours behind this class.
const darkness = matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
followSystem();
darkness.addEventListener("change", followSystem);

function start() {
  const { openapiUrl, redirectUrl, persistAuthorization, clientId, scopes, parameters } = page.dataset;
  ui = SwaggerUIBundle({
    deepLinking: true,
    filter: true,
    // The colours of the default theme have too little contrast.
    syntaxHighlight: { theme: "obsidian" },
    ...JSON.parse(parameters),
    domNode: page,
    url: new URL(openapiUrl, location.href).href,
    oauth2RedirectUrl: new URL(redirectUrl, location.href).href,
    persistAuthorization: persistAuthorization === "true",
    layout: "BaseLayout",
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
  [".schemes-server-container:not([role])", () => ({ role: "region", ariaLabel: "Servers" })],
  ["#servers:not([aria-label])", () => ({ ariaLabel: "Server" })],
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

export const STYLE_SHEETS: readonly AssetName[] = ["swagger-ui.css", "page.css"];
export const SCRIPTS: readonly AssetName[] = ["swagger-ui.js", "page.js"];

const ASSETS: Readonly<Record<AssetName, Asset>> = {
  "swagger-ui.css": swaggerUI(CSS, "swagger-ui.css"),
  "page.css": own(CSS, STYLE),
  "swagger-ui.js": swaggerUI(JAVASCRIPT, "swagger-ui-bundle.js"),
  "page.js": own(JAVASCRIPT, SCRIPT),
  "oauth2-redirect.js": own(JAVASCRIPT, REDIRECT_SCRIPT),
};

function own(contentType: string, text: string): Asset {
  return { contentType, tag: () => contentHash(text), read: async () => text };
}

function swaggerUI(contentType: string, file: string): Asset {
  return {
    contentType,
    tag: async () => (await load<{ version: string }>("package.json", "json")).version,
    read: () => load<string>(file, "text"),
  };
}

async function load<Content>(file: string, type: "json" | "text"): Promise<Content> {
  return (await importLate<{ default: Content }>(`${PACKAGE}/${file}`, type)).default;
}

/** Relative to the folder of the file. */
export async function assetUrl(name: AssetName): Promise<string> {
  return `${name}?v=${await ASSETS[name].tag()}`;
}

export async function answerAsset({ headers, query }: HttpRequest<unknown>, name: AssetName): Promise<Response> {
  const asset = ASSETS[name];
  const tag = await asset.tag();
  // Behind a load balancer, the page may come from another release, whose URLs must not be cached.
  const isCurrent = query.get("v") === tag;
  const cacheControl = isCurrent ? "public, max-age=31536000, immutable" : "no-cache";
  return await cachedReply(headers, { ...asset, tag }, { "cache-control": cacheControl });
}
