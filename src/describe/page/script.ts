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
