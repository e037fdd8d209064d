/**
 * How the documentation page signs in with OAuth 2.0 and OpenID Connect: what replaces parts of
 * Swagger UI, and the page that the authorization server redirects to.
 *
 * Swagger UI's own `state` is the time in seconds, its redirect page takes the code of a wrong
 * `state`, and needs `window.opener`, which some authorization servers cut off. So both are ours:
 * the two windows talk over a `BroadcastChannel`, which only pages of this origin hear. The window
 * of the authorization server cannot reach the page, because it has no opener.
 */

const CHANNEL = "webfw-docs-sign-in";

/**
 * A part of the page's script. It uses `page` and `withPrefix` of the other part. Nothing of the
 * application is in the text.
 */
export const SIGN_IN_SCRIPT = String.raw`
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
  // Also a discovery document can name the address.
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
    // Also answers of other windows and of attackers arrive here.
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
// without a secret must not send an empty one.
function asTokenRequest(request) {
  const { headers = {}, body } = request;
  const isForToken = "X-Requested-With" in headers && headers.Accept === "application/json, text/plain, */*";
  if (!isForToken || typeof body !== "string") return request;
  delete headers["X-Requested-With"];
  const form = new URLSearchParams(body);
  if (form.get("client_secret") === "") form.delete("client_secret");
  request.body = String(form);
  return request;
}

// The policy of the page forbids these requests. Its error would not say why.
function refuseUndeclared(request) {
  const { origin } = new URL(request.url, location.href);
  if (origin === location.origin || otherOrigins.includes(origin)) return request;
  throw new Error(
    "This page does not send requests to " + origin + ". If the application is there, name it in servers. If " +
      "tokens come from there, declare a scheme of type oauth2 with its tokenUrl.",
  );
}

// A discovery document lists all that the server can do. OAuth 2.1 has no implicit flow, and a page
// has no secret for the flows of programs.
function withoutUnsafeFlows(original) {
  return (_state, ...rest) =>
    original(...rest)?.filter((definitions) =>
      definitions.every((scheme) =>
        scheme.get("openIdConnectUrl") === undefined || scheme.get("flow") === "authorization_code"
      )
    );
}

// Swagger UI passes passwords to btoa(), which takes bytes.
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

// Browsers ignore a Cookie header of a script, and send the cookies of this origin by themselves.
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

/** The script of the redirect page. */
export const REDIRECT_SCRIPT = String.raw`"use strict";

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
