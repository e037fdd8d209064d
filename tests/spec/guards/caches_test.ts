// Section 2 of the contract of guards: "A reply behind a guard belongs to one caller: where the guard
// reads anything but `Authorization` (which shared caches leave alone), or does not say what it
// reads, it carries `Cache-Control: private` unless it says otherwise; `file()` sends `no-cache`,
// behind any guard `private, no-cache`, as `files` does."

import { anySecurity, App, type Dependency, dependency, file, html, HTTPError, Router, SSE } from "@webfw/core";
import { apiKey, basic, bearer, optional, session } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const key = apiKey(async (value) => value === "k" ? { id: 1 } : null, { in: "header", name: "x-api-key" });
const inQuery = apiKey(async (value) => value === "k" ? { id: 1 } : null, { in: "query", name: "key", scheme: "q" });
const token = bearer(async (value) => value === "t" ? { id: 1 } : null);
const password = basic(async (_name, value) => value === "p" ? { id: 1 } : null);
const visit = session(v.object({ id: v.number() }), { secret: () => "a secret of at least 32 characters" });

/** What an application says to caches of a reply to a caller with all credentials. */
async function cachingOf(app: App, path = "/", init: RequestInit = {}): Promise<string> {
  const headers = new Headers({ "x-api-key": "k", authorization: "Bearer t" });
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
  const response = await app.fetch(new Request(`http://localhost${path}`, { ...init, headers }));
  await response.body?.cancel();
  return `${response.status} ${response.headers.get("cache-control")}`;
}

function behind(guard: Dependency<unknown>): App {
  const app = new App();
  app.get("/", { deps: { guard } }, async () => ({ secret: 42 }));
  return app;
}

Deno.test("A reply behind a guard that reads anything but Authorization is private", async () => {
  const needsKey = dependency({ deps: { key } }, async () => "a role");
  const readsMore = dependency(
    { headers: { "x-tenant": v.optional(v.string()) }, security: { bearer: { type: "http", scheme: "bearer" } } },
    async () => "a member",
  );
  const readsCookie = dependency({ deps: { token }, cookies: { theme: v.optional(v.string()) } }, async () => 1);
  const certificate = dependency({ security: { tls: { type: "mutualTLS" } } }, async () => 1);
  const guards = [key, visit, needsKey, readsMore, readsCookie, certificate, optional(key), anySecurity(key, token)];
  for (const guard of guards) {
    assertEquals(await cachingOf(behind(guard as Dependency<unknown>)), "200 private");
  }
  assertEquals(await cachingOf(behind(inQuery), "/?key=k"), "200 private");
});

Deno.test("A reply behind a guard that reads Authorization alone has no header for caches", async () => {
  const byHand = dependency(
    { headers: { Authorization: v.optional(v.string()) }, security: { bearer: { type: "http", scheme: "bearer" } } },
    async () => "Ada",
  );
  const inAuthorization = dependency(
    { security: { key: { type: "apiKey", in: "header", name: "Authorization" } } },
    async () => "Ada",
  );
  const role = dependency({ deps: { token } }, async () => "a role");
  const guards = [token, byHand, inAuthorization, role, optional(token), anySecurity(password, token)];
  for (const guard of guards) assertEquals(await cachingOf(behind(guard as Dependency<unknown>)), "200 null");
  const app = new App();
  app.get(
    "/",
    { deps: { plain: dependency({ cookies: { a: v.optional(v.string()) } }, async () => 1) } },
    async () => 1,
  );
  assertEquals(await cachingOf(app), "200 null");
});

Deno.test("It holds for the guards of all scopes, and for those that do not say what they read", async () => {
  const unknown = dependency(async (request) => request.headers.get("x-internal"));
  const helped = dependency({ deps: { token, helper: dependency(async () => 1) } }, async () => 1);
  const guards: readonly (readonly [Dependency<unknown>, string])[] = [
    [unknown, "private"],
    [key, "private"],
    [token, "null"],
    [helped, "null"],
  ];
  for (const [guard, expected] of guards) {
    const deps = { guard };
    const app = new App({ deps });
    app.get("/", async () => 1);
    assertEquals(await cachingOf(app), `200 ${expected}`);
    assertEquals(await cachingOf(app, "/nothing"), "404 null");
    const router = new Router({ prefix: "/a", deps });
    router.get("/b", async () => 1);
    router.mount("/old", () => new Response("old"));
    const inner = new Router({ prefix: "/c" });
    inner.get("/d", async () => 1);
    router.include(inner);
    const included = new App();
    included.include(router);
    included.get("/open", async () => 1);
    for (const path of ["/a/b", "/a/c/d", "/a/old/x"]) assertEquals(await cachingOf(included, path), `200 ${expected}`);
    assertEquals(await cachingOf(included, "/open"), "200 null");
    const other = new Router();
    other.get("/e", async () => 1);
    const guarded = new App();
    guarded.include(other, { deps });
    assertEquals(await cachingOf(guarded, "/e"), `200 ${expected}`);
  }
});

Deno.test("It holds for errors, streams, 304, HEAD, kept Responses and the replies of middleware", async () => {
  const kept = new Response("kept");
  const app = new App({ log: () => {} });
  app.middleware(async (request, next) => request.query.has("short") ? new Response("short") : await next(request));
  const scope = new Router({ deps: { key } });
  scope.get("/absent", async () => {
    throw new HTTPError(404);
  });
  scope.get("/broken", async () => {
    throw new Error("Broken");
  });
  scope.get("/invalid", { query: { n: v.number() } }, async (_request, { n }) => n);
  scope.get("/lines", async function* () {
    yield 1;
  });
  scope.get("/blob", async () => new Blob(["data"]));
  scope.get("/html", async () => html("<p>"));
  scope.get("/kept", async () => kept.clone());
  scope.get("/redirect", async () => Response.redirect("http://localhost/html"));
  scope.post("/made", { status: 201 }, async () => 1);
  app.include(scope);
  for (
    const [path, status] of [
      ["/absent", 404],
      ["/broken", 500],
      ["/invalid", 422],
      ["/lines", 200],
      ["/blob", 200],
      ["/html", 200],
      ["/kept", 200],
      ["/redirect", 302],
      ["/html?short", 200],
    ] as const
  ) {
    assertEquals(await cachingOf(app, path, { redirect: "manual" }), `${status} private`, path);
  }
  assertEquals(kept.headers.get("cache-control"), null);
  assertEquals(await cachingOf(app, "/html", { method: "HEAD" }), "200 private");
  assertEquals(await cachingOf(app, "/made", { method: "POST" }), "201 private");
  assertEquals(await cachingOf(app, "/html", { headers: { "x-api-key": "wrong" } }), "401 private");
  await using client = new TestClient(app, { headers: { "x-api-key": "k" } });
  const etag = (await client.get("/blob")).headers.get("etag")!;
  const unmodified = await client.get("/blob", { headers: { "if-none-match": etag } });
  assertEquals([unmodified.status, unmodified.headers.get("cache-control")], [304, "private"]);
});

Deno.test("What a reply says to caches itself stays", async () => {
  const app = new App({ deps: { key } });
  app.get("/public", async () => new Response("x", { headers: { "cache-control": "public, max-age=60" } }));
  app.get("/placed", async (request) => {
    request.replyHeaders.set("cache-control", "max-age=60");
    return 1;
  });
  const numbers = async function* () {
    yield { data: 1 };
  };
  app.get("/events", async () => SSE(numbers()));
  const router = new Router({ prefix: "/router" });
  router.middleware(async (request, next) => {
    const response = await next(request);
    response.headers.append("cache-control", "no-store");
    return response;
  });
  router.get("/", async () => 1);
  app.include(router);
  assertEquals(await cachingOf(app, "/public"), "200 public, max-age=60");
  assertEquals(await cachingOf(app, "/placed"), "200 max-age=60");
  assertEquals(await cachingOf(app, "/events"), "200 no-store, no-transform");
  assertEquals(await cachingOf(app, "/router/"), "200 no-store");
});

Deno.test("file() is no-cache, and behind any guard private, no-cache, as a folder is", async () => {
  await using folder = await TemporaryFolder.make();
  await Deno.writeTextFile(`${folder.path}/a.txt`, "text");
  await Deno.mkdir(`${folder.path}/site`);
  await Deno.writeTextFile(`${folder.path}/site/index.html`, "<p>");
  const send = async () => await file(`${folder.path}/a.txt`);
  const check = async (app: App, expected: string) => {
    assertEquals(await cachingOf(app, "/file"), `200 ${expected}`);
    assertEquals(await cachingOf(app, "/file", { headers: { range: "bytes=0-1" } }), `206 ${expected}`);
    assertEquals(await cachingOf(app, "/folder/a.txt"), `200 ${expected}`);
    assertEquals(await cachingOf(app, "/folder/site", { redirect: "manual" }), `301 ${expected}`);
  };
  const open = new App();
  open.get("/file", send);
  open.files("/folder", folder.path);
  await check(open, "no-cache");
  for (const guard of [token, key, optional(token)] as Dependency<unknown>[]) {
    const app = new App();
    app.get("/file", { deps: { guard } }, send);
    const router = new Router({ prefix: "/folder", deps: { guard } });
    router.files("/", folder.path);
    app.include(router);
    await check(app, "private, no-cache");
  }
  const app = new App();
  app.get("/", async (request) => {
    request.replyHeaders.set("cache-control", "public, max-age=60");
    return await send();
  });
  assertEquals(await cachingOf(app), "200 public, max-age=60");
});

Deno.test("The document and the page behind docs.deps are private, and so are their errors", async () => {
  const hidden = apiKey(async (value) => {
    if (value === "k") return 1;
    throw new HTTPError(404);
  }, { in: "header", name: "x-api-key" });
  const app = new App({ docs: { deps: { hidden } } });
  for (const path of ["/docs", "/openapi.json"]) {
    assertEquals(await cachingOf(app, path), "200 private, no-cache");
    assertEquals(await cachingOf(app, path, { headers: { "x-api-key": "wrong" } }), "404 private");
  }
});
