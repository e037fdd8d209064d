// "The page signs in": its Content-Security-Policy and the option `docs` of App.

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { App, type AppOptions, dependency, HTTPError, RouteError } from "@webfw/core";
import type { SecurityScheme } from "@webfw/core/types";
import { basic, equal, jwt, session } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { exchange } from "../support/raw_connection.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { Serving } from "../support/serving.ts";

async function get(app: App, path: string, headers: HeadersInit = {}): Promise<Response> {
  return await app.fetch(new Request(`http://localhost${path}`, { headers }));
}

/** Where the page of an application with these schemes may send requests. */
async function connectSources(...schemes: SecurityScheme[]): Promise<string> {
  const app = new App();
  for (const [index, scheme] of schemes.entries()) {
    const user = dependency({ security: { [`scheme${index}`]: scheme } }, async () => "Ada");
    app.get(`/${index}`, { deps: { user } }, async () => 1);
  }
  const policy = (await get(app, "/docs")).headers.get("content-security-policy")!;
  return /connect-src ([^;]*)/.exec(policy)![1]!;
}

function withTokenUrl(tokenUrl: string): SecurityScheme {
  const authorizationUrl = "https://login.example/authorize";
  return { type: "oauth2", flows: { authorizationCode: { authorizationUrl, tokenUrl, scopes: {} } } };
}

const staff = basic(async (name, password) => equal(password, "secret") && name, { realm: "Staff" });
const CREDENTIALS = { authorization: `Basic ${btoa("Ada:secret")}` };

Deno.test("The page's Content-Security-Policy names exactly the declared origins of token endpoints", async () => {
  assertEquals(await connectSources(), "'self'");
  assertEquals(await connectSources({ type: "http", scheme: "bearer" }), "'self'");
  assertEquals(await connectSources(withTokenUrl("/token")), "'self'");
  assertEquals(
    await connectSources(
      withTokenUrl("https://id.example:8443/oauth/token?tenant=1"),
      withTokenUrl("https://ID.example:8443/other"),
      { type: "openIdConnect", openIdConnectUrl: "https://a.example/.well-known/openid-configuration" },
      {
        type: "oauth2",
        flows: {
          implicit: { authorizationUrl: "https://implicit.example/", scopes: {} },
          clientCredentials: { tokenUrl: "http://[::1]:9000/token", scopes: {} },
        },
      },
    ),
    "'self' http://[::1]:9000 https://a.example https://id.example:8443",
  );
});

Deno.test("The page's Content-Security-Policy names nothing that would allow more, or would end the directive", async () => {
  for (
    const url of [
      "https://*.example/token",
      "https://a;script-src/token",
      "https://a,b/token",
      "https://'unsafe-inline'/token",
      "data:text/plain,x",
      "javascript:alert(1)",
      "not a URL",
    ]
  ) {
    assertEquals(await connectSources(withTokenUrl(url)), "'self'", url);
  }
});

Deno.test("The page's Content-Security-Policy does not name what only hidden routes declare", async () => {
  const app = new App();
  const member = jwt({
    issuer: "https://id.example",
    audience: "books",
    openIdConnectUrl: "https://id.example/.well-known/openid-configuration",
  });
  app.get("/hidden", { deps: { member }, hidden: true }, async () => 1);
  assertMatch((await get(app, "/docs")).headers.get("content-security-policy")!, /connect-src 'self';/);
});

Deno.test("docs.deps guards page and document, and neither the files of Swagger UI nor the redirect page", async () => {
  const app = new App({ docs: { deps: { staff } } });
  for (const path of ["/docs", "/openapi.json"]) {
    const refused = await get(app, path);
    assertEquals([refused.status, refused.headers.get("content-type")], [401, "application/problem+json"], path);
    assertStringIncludes(refused.headers.get("www-authenticate")!, 'Basic realm="Staff"');
    await refused.body?.cancel();
    const shown = await get(app, path, CREDENTIALS);
    assertEquals([shown.status, shown.headers.get("cache-control")], [200, "private, no-cache"], path);
    await shown.body?.cancel();
    const etag = shown.headers.get("etag")!;
    assertEquals((await get(app, path, { "if-none-match": etag })).status, 401);
    assertEquals((await get(app, path, { "if-none-match": etag, ...CREDENTIALS })).status, 304);
    const head = await app.fetch(new Request(`http://localhost${path}`, { method: "HEAD" }));
    assertEquals(head.status, 401);
  }
  for (const file of ["page.js", "swagger-ui.css", "oauth2-redirect.js", "oauth2-redirect.html"]) {
    const response = await get(app, `/docs/${file}`);
    assertEquals(response.status, 200, file);
    await response.body?.cancel();
  }
  const api = new App({ docsUrl: null, docs: { deps: { staff } } });
  assertEquals((await get(api, "/openapi.json")).status, 401);
});

Deno.test("docs.deps with a session redirects a browser that asks for HTML, and refuses others with 401", async () => {
  const visit = session(v.object({ userId: v.number() }), { secret: "a secret of the tests, of 32 characters" });
  const app = new App({ docs: { deps: { signedIn: visit.required({ redirect: "/login" }) } } });
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
  const redirected = await get(app, "/docs", { accept: "text/html,*/*;q=0.8" });
  assertEquals([redirected.status, redirected.headers.get("location")], [303, "/login?next=%2Fdocs"]);
  assertEquals((await get(app, "/openapi.json", { accept: "application/json,*/*" })).status, 401);
  await using client = new TestClient(app, { cookies: true, headers: { accept: "text/html" } });
  await client.post("/login");
  for (const path of ["/docs", "/openapi.json"]) assertEquals((await client.get(path)).status, 200, path);
});

Deno.test("docs.deps are guards: what they throw is the reply, which onError shapes, and they are cleaned up", async () => {
  const log: string[] = [];
  const opened = dependency({ query: { key: v.picklist(["a", "b"]) } }, async function* (_request, { key }) {
    log.push(`open ${key}`);
    try {
      yield key;
    } finally {
      log.push(`close ${key}`);
    }
  });
  const allowed = dependency({ deps: { opened } }, async (_request, { opened }) => {
    if (opened === "b") throw new HTTPError(403, "Only a");
  });
  const app = new App({ docs: { deps: { allowed } } });
  app.onError((error) => new Response(error.message, { status: error.status }));
  const ask = async (path: string) => {
    const response = await get(app, path);
    await response.text();
    return response.status;
  };
  assertEquals(await ask("/docs?key=a"), 200);
  assertEquals(await ask("/docs?key=b"), 403);
  assertEquals(await ask("/docs?key=c"), 422);
  assertEquals(log, ["open a", "close a", "open b", "close b"]);
});

Deno.test("docs.deps do not hold for routes, and the document does not tell of them", async () => {
  const app = new App({ docs: { deps: { staff } } });
  app.get("/books", async () => []);
  assertEquals((await get(app, "/books")).status, 200);
  assertEquals(app.openapi().components.securitySchemes, undefined);
});

Deno.test("The page gets clientId, scopes and persistAuthorization; without a scheme they change nothing", async () => {
  const markup = async (docs: AppOptions["docs"]) => await (await get(new App({ docs: docs! }), "/docs")).text();
  const usual = await markup({});
  assertMatch(usual, / data-redirect-url="\.\/docs\/oauth2-redirect\.html" /);
  assertMatch(usual, / data-scopes="" data-persist-authorization="false" data-parameters="{}">/);
  const set = await markup({ clientId: "books", scopes: ["a:b", "c"], persistAuthorization: true });
  assertMatch(
    set,
    / data-scopes="a:b c" data-persist-authorization="true" data-parameters="{}" data-client-id="books">/,
  );
});

Deno.test("Unknown members of docs are refused, and values that cannot be used", () => {
  const make = (docs: object) => () => new App({ docs });
  assertThrows(
    make({ clientID: "x" }),
    TypeError,
    'the option "docs.clientID" is unknown, the nearest is "docs.clientId"',
  );
  assertThrows(make([]), TypeError, '"docs" must be an object, got an array');
  assertThrows(make({ clientId: "" }), TypeError, '"docs.clientId" must be a non-empty string, got ""');
  assertThrows(make({ scopes: "a b" }), TypeError, '"docs.scopes" must be an array of scopes without spaces');
  assertThrows(make({ scopes: ["a b"] }), TypeError, '"docs.scopes" must be an array of scopes without spaces');
  assertThrows(make({ persistAuthorization: "no" }), TypeError, '"docs.persistAuthorization" must be true or false');
  assertThrows(make({ deps: { staff: 1 } }), TypeError, 'Cannot use the dependency "staff"');
  const ofPath = dependency({ params: { shop: v.string() } }, async () => 1);
  assertThrows(make({ deps: { ofPath } }), RouteError, "the documentation page");
});

Deno.test("Nothing of a credential is logged: the code that the redirect page gets is REDACTED", async () => {
  await using serving = await Serving.start(new App(), { accessLog: true });
  using log = new CapturedLog();
  const target = "/docs/oauth2-redirect.html?code=s3cret&state=1";
  await exchange(serving.port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  assertStringIncludes(log.lines[0]!, "GET /docs/oauth2-redirect.html?REDACTED 200");
});

Deno.test("`oauth2-redirect.html` is served below the page's path, wherever the page is", async () => {
  for (const docsUrl of ["/docs", "/v1/help", "/v1/help/", "/"]) {
    const app = new App({ docsUrl });
    const response = await get(app, `${docsUrl.replace(/\/$/, "")}/oauth2-redirect.html`);
    assertEquals([docsUrl, response.status], [docsUrl, 200]);
    assertStringIncludes(response.headers.get("content-type")!, "text/html");
    await response.body?.cancel();
  }
});
