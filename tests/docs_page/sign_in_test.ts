// The documentation page signs in: each kind of security scheme, in a real browser.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { App, dependency, Form, HTTPError } from "@webfw/core";
import { apiKey, basic, bearer, equal, jwt, type JwtOptions, session } from "@webfw/core/auth";
import { secureHeaders } from "@webfw/core/middleware";
import type { DocsOptions } from "@webfw/core/types";
import type { Browser, Locator, Page } from "npm:playwright-core@^1.65.1";
import { SignJWT } from "jose";
import * as v from "valibot";
import { AuthorizationServer } from "../support/authorization_server.ts";
import { violations } from "../accessibility/axe.ts";
import { browserTest } from "../browser/support/browser.ts";
import { WatchedPage } from "../browser/support/watched_page.ts";

type Handler = (request: Request) => Response | Promise<Response>;

/** An application under a name that only the browser knows. */
class Site implements AsyncDisposable {
  readonly origin: string;
  /** Its handler can be set later: an authorization server needs the origin first. */
  answer: Handler = () => new Response(null, { status: 503 });
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(hostname = "books.example") {
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    this.#server = Deno.serve(options, (request) => this.answer(request));
    this.origin = `http://${hostname}:${this.#server.addr.port}`;
  }

  get redirectUrl(): string {
    return `${this.origin}/docs/oauth2-redirect.html`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

const SCOPES = { "books:read": "Read books", "books:write": "Change books" };

type MemberOptions = Pick<JwtOptions<unknown>, "oauth2" | "openIdConnectUrl">;

/**
 * An application with one route, `GET /me`, for those who have a token of an authorization server.
 */
function guardedApp({ issuer, jwksUrl: keys }: AuthorizationServer, member: MemberOptions, docs: DocsOptions): App {
  const user = jwt({ issuer, keys, audience: "https://books.example", scheme: "member", ...member });
  const app = new App({ title: "Books", docs });
  app.get("/me", { deps: { user } }, async function me(_request, { user }) {
    return `${user.sub} may ${user.scope}`;
  });
  return app;
}

function oauth2({ authorizationUrl, tokenUrl }: AuthorizationServer): MemberOptions {
  return { oauth2: { authorizationUrl, tokenUrl, scopes: SCOPES } };
}

async function openDocs(browser: Browser, site: Site, otherOrigins: readonly string[] = []): Promise<WatchedPage> {
  const watched = await WatchedPage.open(browser, `${site.origin}/docs`, {}, otherOrigins);
  await watched.page.locator(".opblock").first().waitFor();
  return watched;
}

async function openDialog(page: Page) {
  await page.locator(".auth-wrapper").getByRole("button", { name: "Authorize" }).click();
  return page.locator(".dialog-ux");
}

/** Sends the request of an operation, and gives the reply. */
async function tryOut(page: Page, operationId: string): Promise<string> {
  const block = page.locator(`.opblock[id$="-${operationId}"]`);
  // The address of the page may name the operation, which is then open.
  if (!/ is-open/.test(await block.getAttribute("class") ?? "")) {
    await block.locator(".opblock-summary-control").click();
  }
  const start = block.getByRole("button", { name: "Try it out" });
  const execute = block.getByRole("button", { name: "Execute" });
  await start.or(execute).first().waitFor();
  if (await start.isVisible()) await start.click();
  await execute.click();
  const reply = block.locator(".live-responses-table .response");
  await reply.waitFor();
  return await reply.innerText();
}

/** All that the window keeps. */
async function storageOf(page: Page): Promise<string> {
  return await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })");
}

browserTest(
  "The documentation page signs in with OAuth 2.0 at an authorization server of another origin",
  async (browser, t) => {
    await using server = await AuthorizationServer.start();
    await using site = new Site();
    const clientId = await server.register({ redirect_uris: [site.redirectUrl] });
    site.answer = guardedApp(server, oauth2(server), { clientId, scopes: ["books:read"] }).fetch;

    await t.step("with PKCE, and sends the token with requests", async () => {
      await using watched = await openDocs(browser, site, [server.issuer]);
      const { page } = watched;
      const asked = page.context().waitForEvent(
        "request",
        (request) => request.url().startsWith(`${server.issuer}/auth?`),
      );
      const exchanged = page.waitForRequest(server.tokenUrl);
      const dialog = await openDialog(page);
      assertStringIncludes(await dialog.innerText(), "authorizationCode with PKCE");
      const [popup] = await Promise.all([
        page.waitForEvent("popup"),
        dialog.getByRole("button", { name: "Authorize" }).click(),
      ]);
      const closed = popup.isClosed() || popup.waitForEvent("close");
      await dialog.getByRole("button", { name: "Logout" }).waitFor();
      await closed;
      const { searchParams } = new URL((await asked).url());
      assertEquals(searchParams.get("code_challenge_method"), "S256");
      assertEquals(searchParams.get("redirect_uri"), site.redirectUrl);
      assertEquals(searchParams.get("scope"), "books:read");
      assertMatch(searchParams.get("state")!, /^[\da-f]{64}$/);
      const body = new URLSearchParams((await exchanged).postData()!);
      assertEquals([...body.keys()].sort(), ["client_id", "code", "code_verifier", "grant_type", "redirect_uri"]);

      await dialog.getByRole("button", { name: "Close" }).last().click();
      assertMatch(await tryOut(page, "me"), /^200[^]+"ada may books:read"/);
      assertEquals([page.url(), await storageOf(page)], [`${site.origin}/docs#/default/me`, "{}"]);
      await page.reload();
      assertMatch(await tryOut(page, "me"), /^401/);
      assertEquals(watched.complaints.filter((text) => !text.includes("401")), []);
    });

    await t.step("which redirects to a page without guards that no cache keeps", async () => {
      const response = await site.answer(new Request(`${site.redirectUrl}?code=secret`));
      assertEquals(response.headers.get("cache-control"), "no-store");
      assertEquals(response.headers.get("referrer-policy"), "no-referrer");
      assertMatch(response.headers.get("content-security-policy")!, /^default-src 'none'; script-src 'self'; /);
      assertMatch(await response.text(), /<script src="\.\/oauth2-redirect\.js\?v=[0-9a-f]+" defer><\/script>/);
    });
  },
);

browserTest("The documentation page takes only the reply to its own sign-in", async (browser, t) => {
  await using server = await AuthorizationServer.start({ signIn: "form" });
  await using site = new Site();
  const clientId = await server.register({ redirect_uris: [site.redirectUrl] });
  site.answer = guardedApp(server, oauth2(server), { clientId, scopes: ["books:read"] }).fetch;

  /** Opens the window of the authorization server. */
  const begin = async (page: Page) => {
    const asked = page.context().waitForEvent(
      "request",
      (request) => request.url().startsWith(`${server.issuer}/auth?`),
    );
    const dialog = await openDialog(page);
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      dialog.getByRole("button", { name: "Authorize" }).click(),
    ]);
    await popup.getByLabel("Login").waitFor();
    return { dialog, popup, state: new URL((await asked).url()).searchParams.get("state")! };
  };

  await t.step("not that of a foreign state, and its window has no opener", async () => {
    await using watched = await openDocs(browser, site, [server.issuer]);
    const { page } = watched;
    const { dialog, popup } = await begin(page);
    assertEquals(await popup.evaluate("opener"), null);
    for (const foreign of ["state=foreign&code=stolen", "code=stolen", "state=undefined&access_token=stolen"]) {
      const attack = await page.context().newPage();
      await attack.goto(`${site.redirectUrl}?${foreign}`);
      await attack.getByText("No page waits for this sign-in").waitFor();
      assertEquals(attack.url(), site.redirectUrl);
      await attack.close();
    }
    assertEquals(server.requests.filter((line) => line === "POST /token"), []);
    await popup.getByLabel("Login").fill("grace");
    await Promise.all([popup.waitForEvent("close"), popup.getByRole("button", { name: "Sign in" }).click()]);
    await dialog.getByRole("button", { name: "Logout" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    assertMatch(await tryOut(page, "me"), /^200[^]+"grace may /);
    assertEquals(watched.complaints, []);
  });

  await t.step("also where two windows sign in at once", async () => {
    await using watched = await openDocs(browser, site, [server.issuer]);
    const first = watched.page;
    const second = await first.context().newPage();
    await second.goto(`${site.origin}/docs`);
    await second.locator(".opblock").first().waitFor();
    const begun = new Map([[first, await begin(first)], [second, await begin(second)]]);
    // The one that began last is the first to end.
    for (const [page, login] of [[second, "grace"], [first, "alan"]] as const) {
      const { dialog, popup } = begun.get(page)!;
      await popup.getByLabel("Login").fill(login);
      await Promise.all([popup.waitForEvent("close"), popup.getByRole("button", { name: "Sign in" }).click()]);
      await dialog.getByRole("button", { name: "Logout" }).waitFor();
      await dialog.getByRole("button", { name: "Close" }).last().click();
      assertMatch(await tryOut(page, "me"), new RegExp(`^200[^]+"${login} may `));
    }
    assertEquals(watched.complaints, []);
  });

  await t.step("and not after it was loaded again; the code is not left in the address", async () => {
    await using watched = await openDocs(browser, site, [server.issuer]);
    const { page } = watched;
    const { popup } = await begin(page);
    await page.reload();
    await page.locator(".opblock").first().waitFor();
    const tokens = server.requests.filter((line) => line === "POST /token").length;
    await popup.getByLabel("Login").fill("grace");
    await popup.getByRole("button", { name: "Sign in" }).click();
    await popup.getByText("No page waits for this sign-in").waitFor();
    assertEquals(popup.url(), site.redirectUrl);
    assertEquals(server.requests.filter((line) => line === "POST /token").length, tokens);
    assertMatch(await tryOut(page, "me"), /^401/);
  });

  await t.step("and shows the error of the authorization server", async () => {
    await using watched = await openDocs(browser, site, [server.issuer]);
    const { dialog, popup, state } = await begin(watched.page);
    const reply = new URLSearchParams({ state, error: "access_denied", error_description: "<b>Not</b> today" });
    await Promise.all([popup.waitForEvent("close"), popup.goto(`${site.redirectUrl}?${reply}`).catch(() => {})]);
    await dialog.getByText("access_denied: <b>Not</b> today").waitFor();
    assertEquals(watched.complaints.filter((text) => !text.startsWith("failed: ")), []);
  });
});

browserTest("The documentation page keeps the sign-in over a reload with persistAuthorization", async (browser) => {
  await using server = await AuthorizationServer.start();
  await using site = new Site();
  const clientId = await server.register({ redirect_uris: [site.redirectUrl] });
  site.answer = guardedApp(server, oauth2(server), { clientId, scopes: ["books:read"], persistAuthorization: true })
    .fetch;
  await using watched = await openDocs(browser, site, [server.issuer]);
  const { page } = watched;
  const dialog = await openDialog(page);
  assertEquals(await violations(page), []);
  await dialog.getByRole("button", { name: "Authorize" }).click();
  await dialog.getByRole("button", { name: "Logout" }).waitFor();
  assertEquals(await violations(page), []);
  await page.reload();
  assertMatch(await tryOut(page, "me"), /^200[^]+"ada may /);
  assertStringIncludes(await storageOf(page), "access_token");
  await (await openDialog(page)).getByRole("button", { name: "Logout" }).click();
  assertEquals(await storageOf(page), '{"authorized":"{}"}');
  assertEquals(watched.complaints, []);
});

browserTest("The documentation page signs in with OpenID Connect Discovery", async (browser, t) => {
  await using server = await AuthorizationServer.start();
  await using site = new Site();
  const clientId = await server.register({ redirect_uris: [site.redirectUrl] });

  await t.step("at the server that declares it", async () => {
    const { openIdConnectUrl } = server;
    site.answer = guardedApp(server, { openIdConnectUrl }, { clientId, scopes: ["openid", "books:write"] }).fetch;
    await using watched = await openDocs(browser, site, [server.issuer]);
    const { page } = watched;
    const dialog = await openDialog(page);
    const flow = dialog.getByRole("heading", { name: "authorization_code with PKCE" });
    // A dialog that opens before the discovery has ended may have to be opened again.
    for (let turn = 0; turn < 6; turn++) {
      if (await flow.waitFor({ timeout: 15_000 }).then(() => true, () => false)) break;
      await dialog.getByRole("button", { name: "Close" }).last().click();
      await openDialog(page);
    }
    await flow.waitFor();
    assertEquals(await dialog.getByRole("button", { name: "Authorize" }).count(), 1);
    await dialog.getByRole("button", { name: "Authorize" }).click();
    await dialog.getByRole("button", { name: "Logout" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    assertMatch(await tryOut(page, "me"), /^200[^]+"ada may books:write"/);
    assertEquals(watched.complaints, []);
  });

  await t.step("and says so when the token endpoint is of an origin that the document does not name", async () => {
    const found = await (await fetch(server.openIdConnectUrl)).json();
    await using elsewhere = new Site();
    elsewhere.answer = () => Response.json(found, { headers: { "access-control-allow-origin": "*" } });
    const openIdConnectUrl = `${elsewhere.origin}/found`;
    site.answer = guardedApp(server, { openIdConnectUrl }, { clientId, scopes: ["openid"] }).fetch;
    await using watched = await openDocs(browser, site, [server.issuer, elsewhere.origin]);
    const dialog = await openDialog(watched.page);
    await dialog.getByRole("button", { name: "Authorize" }).click();
    await dialog.getByText(`This page does not send requests to ${server.issuer}`).waitFor();
    assertEquals(watched.complaints, []);
  });
});

browserTest("The documentation page sends passwords, tokens and keys", async (browser, t) => {
  await using site = new Site();
  const app = new App({ title: "Books" });
  const hostile = "</script>[x](javascript:alert(1))";
  const staff = basic(async (name, password) => equal(password, "passwört€") && name, { description: hostile });
  const reader = bearer(async (token) => equal(token, "token") && "Ada");
  app.get("/basic", { deps: { staff } }, async function sendBasic(_request, { staff }) {
    return staff;
  });
  app.get("/bearer", { deps: { reader } }, async function sendBearer(_request, { reader }) {
    return reader;
  });
  for (const place of ["header", "query", "cookie"] as const) {
    const partner = apiKey(async (key) => equal(key, "k-1") && "Ada", { in: place, name: `x-${place}`, scheme: place });
    app.get(`/${place}`, { deps: { partner }, operationId: `by-${place}` }, async (_request, { partner }) => partner);
  }
  site.answer = app.fetch;

  await t.step("of each place, and forgets them", async () => {
    await using watched = await openDocs(browser, site);
    const { page } = watched;
    const dialog = await openDialog(page);
    assertEquals(await violations(page), []);
    const entry = (name: string) => dialog.locator(".auth-container").filter({ hasText: new RegExp(`^${name}\\s`) });
    await entry("basic").getByLabel("Username").fill("Ada");
    await entry("basic").getByLabel("Password").fill("passwört€");
    await entry("bearer").getByRole("textbox").fill("token");
    for (const place of ["header", "query", "cookie"]) await entry(place).getByRole("textbox").fill("k-1");
    for (let left = 5; left > 0; left--) {
      await dialog.getByRole("button", { name: "Authorize" }).first().click();
    }
    assertEquals(await dialog.getByRole("button", { name: "Logout" }).count(), 5);
    await dialog.getByRole("button", { name: "Close" }).last().click();
    for (const operation of ["sendBasic", "sendBearer", "by-header", "by-query", "by-cookie"]) {
      assertMatch(await tryOut(page, operation), /^200[^]+"Ada"/, operation);
    }
    assertEquals(await storageOf(page), "{}");
    await page.reload();
    for (const operation of ["sendBearer", "by-cookie"]) {
      assertMatch(await tryOut(page, operation), /^401/, operation);
    }
    assertEquals(watched.complaints.filter((text) => !text.includes("401")), []);
  });

  await t.step("and says when the browser keeps a cookie from it", async () => {
    await using watched = await openDocs(browser, site);
    const { page } = watched;
    await page.context().addCookies([{ name: "x-cookie", value: "k-1", url: site.origin, httpOnly: true }]);
    const dialog = await openDialog(page);
    const entry = dialog.locator(".auth-container").filter({ hasText: /^cookie\s/ });
    await entry.getByRole("textbox").fill("k-2");
    await entry.getByRole("button", { name: "Authorize" }).click();
    await entry.getByText("does not let this page set the cookie x-cookie").waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    assertMatch(await tryOut(page, "by-cookie"), /^200/);
    assertEquals(watched.complaints, []);
  });
});

browserTest("The documentation page signs in by name and password, with passwordFlow", async (browser, t) => {
  await using site = new Site();
  const secret = new TextEncoder().encode("a secret of at least 32 bytes, for HS256");
  const issuer = "https://books.example";
  const Login = Form(v.looseObject({ username: v.string(), password: v.string(), scope: v.optional(v.string(), "") }));
  const requests: [authorization: string | null, form: object][] = [];

  /** With its own token endpoint. */
  const appWith = (tokenOf: (name: string, scope: string) => Promise<string>) => {
    const app = new App({ title: "Books" });
    app.post("/token", { form: Login }, async (request, { form }) => {
      requests.push([request.headers.get("authorization"), { ...form }]);
      if (!equal(form.password, "passwört€")) throw new HTTPError(400, "The name or the password is wrong");
      return { access_token: await tokenOf(form.username, form.scope), token_type: "bearer" };
    });
    return app;
  };
  const passwordFlow = { tokenUrl: "/token" };
  const user = bearer(async (token) => token.startsWith("t-") && token.slice(2), { passwordFlow });
  const simple = appWith(async (name) => `t-${name}`);
  simple.get("/me", { deps: { user } }, async function me(_request, { user }) {
    return user;
  });
  const signIn = async (page: Page, password: string) => {
    const dialog = await openDialog(page);
    await dialog.getByLabel("username:").fill("Ada");
    await dialog.getByLabel("password:").fill(password);
    assertEquals(await violations(page), []);
    return dialog;
  };
  const authorize = async (dialog: Locator) => {
    await dialog.getByRole("button", { name: "Authorize" }).click();
    await dialog.getByRole("button", { name: "Logout" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
  };

  await t.step("with a token of a bearer guard, and without credentials of a client", async () => {
    site.answer = simple.fetch;
    await using watched = await openDocs(browser, site);
    await authorize(await signIn(watched.page, "passwört€"));
    const form = { grant_type: "password", password: "passwört€", scope: "", username: "Ada" };
    assertEquals(requests, [[null, form]]);
    assertMatch(await tryOut(watched.page, "me"), /^200[^]+"Ada"/);
    assertEquals([await storageOf(watched.page), watched.complaints], ["{}", []]);
  });

  await t.step("and shows that the password is wrong", async () => {
    await using watched = await openDocs(browser, site);
    const dialog = await signIn(watched.page, "guess");
    await dialog.getByRole("button", { name: "Authorize" }).click();
    assertMatch(await dialog.locator(".errors").innerText(), /auth.*error/i);
    assertEquals(await dialog.getByRole("button", { name: "Logout" }).count(), 0);
  });

  await t.step("with the chosen scopes of a JSON Web Token", async () => {
    const app = appWith(async (sub, scope) => {
      const exp = Math.floor(Date.now() / 1000) + 600;
      return await new SignJWT({ iss: issuer, exp, sub, scope }).setProtectedHeader({ alg: "HS256" }).sign(secret);
    });
    const flow = { ...passwordFlow, scopes: SCOPES };
    const member = jwt({ issuer, audience: null, keys: secret, algorithms: ["HS256"], passwordFlow: flow });
    const reader = member.withScopes("books:read");
    app.get("/me", { deps: { reader } }, async function me(_request, { reader }) {
      return `${reader.sub} may ${reader.scope}`;
    });
    site.answer = app.fetch;
    await using watched = await openDocs(browser, site);
    const dialog = await signIn(watched.page, "passwört€");
    await dialog.locator("label").filter({ hasText: "books:read" }).click();
    await authorize(dialog);
    assertMatch(await tryOut(watched.page, "me"), /^200[^]+"Ada may books:read"/);
    assertEquals(watched.complaints, []);
  });

  await t.step("also below the path of a mount", async () => {
    const outer = new App();
    outer.mount("/shop", simple);
    site.answer = outer.fetch;
    await using watched = await WatchedPage.open(browser, `${site.origin}/shop/docs`, {}, []);
    await watched.page.locator(".opblock").first().waitFor();
    await authorize(await signIn(watched.page, "passwört€"));
    assertMatch(await tryOut(watched.page, "me"), /^200[^]+"Ada"/);
    assertEquals(watched.complaints, []);
  });
});

browserTest("The browser asks for the password of a documentation page behind docs.deps", async (browser) => {
  await using site = new Site();
  const staff = basic(async (name, password) => equal(password, "secret") && name);
  const app = new App({ title: "Books", docs: { deps: { staff } } });
  app.get("/books", async function listBooks() {
    return [];
  });
  site.answer = app.fetch;
  const httpCredentials = { username: "Ada", password: "secret", origin: site.origin };
  await using watched = await WatchedPage.open(browser, `${site.origin}/docs`, { httpCredentials });
  await watched.page.locator(".opblock").first().waitFor();
  assertMatch(await tryOut(watched.page, "listBooks"), /^200/);
  assertEquals(watched.complaints.filter((text) => !text.includes("401")), []);
});

browserTest(
  "A session opens the documentation page, and the browser sends it with the requests of the page",
  async (browser) => {
    await using site = new Site();
    const visit = session(v.object({ name: v.string() }), {
      secret: "a secret of the tests, of 32 characters",
      cookie: { secure: false, sameSite: "strict" },
    });
    const signedIn = visit.required({ redirect: "/login" });
    const app = new App({ title: "Books", docs: { deps: { signedIn } } });
    app.get("/login", { query: { next: v.string() }, hidden: true }, async (_request, { next }) => {
      const form = `<form method="post" action="/login?${new URLSearchParams({
        next,
      })}"><button>Sign in</button></form>`;
      return new Response(
        `<!doctype html><html lang="en"><title>Sign in</title><link rel="icon" href="data:,">${form}`,
        {
          headers: { "content-type": "text/html" },
        },
      );
    });
    app.post(
      "/login",
      { query: { next: v.string() }, deps: { visit }, hidden: true },
      async (_request, { next, visit }) => {
        await visit.set({ name: "Ada" });
        return new Response(null, { status: 303, headers: { location: next } });
      },
    );
    app.get("/me", { deps: { signedIn } }, async function me(_request, { signedIn }) {
      return signedIn.data.name;
    });
    site.answer = app.fetch;
    await using watched = await WatchedPage.open(browser, `${site.origin}/docs`);
    const { page } = watched;
    assertEquals(page.url(), `${site.origin}/login?next=%2Fdocs`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator(".opblock").first().waitFor();
    assertMatch(await tryOut(page, "me"), /^200[^]+"Ada"/);
    assertEquals(watched.complaints, []);
  },
);

browserTest("The documentation page signs in where secureHeaders cuts its windows off", async (browser) => {
  await using server = await AuthorizationServer.start();
  await using site = new Site("127.0.0.1");
  const clientId = await server.register({ redirect_uris: [site.redirectUrl] });
  const app = guardedApp(server, oauth2(server), { clientId, scopes: ["books:read"] });
  app.middleware(secureHeaders({ crossOriginOpenerPolicy: "same-origin" }));
  site.answer = app.fetch;
  await using watched = await openDocs(browser, site, [server.issuer]);
  const { page } = watched;
  const dialog = await openDialog(page);
  await dialog.getByRole("button", { name: "Authorize" }).click();
  await dialog.getByRole("button", { name: "Logout" }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  assertMatch(await tryOut(page, "me"), /^200[^]+"ada may books:read"/);
  assertEquals(watched.complaints, []);
});

browserTest(
  "The documentation page signs in at the application itself, below the prefix of a proxy",
  async (browser) => {
    await using site = new Site();
    const flow = { authorizationUrl: "/authorize", tokenUrl: "/token", scopes: {} };
    const user = dependency(
      { security: { own: { type: "oauth2", flows: { authorizationCode: flow } } } },
      async ({ headers }) => {
        if (headers.get("authorization") !== "Bearer t-1") throw new HTTPError(401);
        return "Ada";
      },
    );
    const app = new App({ title: "Books", docs: { clientId: "page" } });
    const asked = { redirect_uri: v.string(), state: v.string() };
    app.get("/authorize", { query: asked, hidden: true }, async (_request, { redirect_uri, state }) => {
      const location = `${redirect_uri}?${new URLSearchParams({ code: "c-1", state })}`;
      return new Response(null, { status: 303, headers: { location } });
    });
    app.post("/token", { hidden: true }, async (request) => {
      const form = new URLSearchParams(await request.text());
      if (form.get("code") !== "c-1") throw new HTTPError(400);
      return { access_token: "t-1", token_type: "bearer" };
    });
    app.get("/me", { deps: { user } }, async function me(_request, { user }) {
      return user;
    });
    site.answer = (request) => {
      const url = new URL(request.url);
      if (!url.pathname.startsWith("/shop/v1/")) return new Response(null, { status: 404 });
      url.pathname = url.pathname.slice("/shop/v1".length);
      return app.fetch(new Request(url, { method: request.method, headers: request.headers, body: request.body }));
    };
    await using watched = await WatchedPage.open(browser, `${site.origin}/shop/v1/docs`);
    const { page } = watched;
    const dialog = await openDialog(page);
    await dialog.getByRole("button", { name: "Authorize" }).click();
    await dialog.getByRole("button", { name: "Logout" }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    assertMatch(await tryOut(page, "me"), /^200[^]+"Ada"/);
    assertEquals(watched.complaints, []);
  },
);
