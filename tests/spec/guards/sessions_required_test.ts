// Section 2 of the contract of guards, `session`: what a session that is required, or one of several
// guards, does with a caller.

import { assertEquals, assertRejects } from "@std/assert";
import { anySecurity, App, dependency, Router } from "@webfw/core";
import { bearer, optional, session, type SessionOptions } from "@webfw/core/auth";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { Visitor } from "../support/visitor.ts";

const SECRET = "0b72d3c1".repeat(4);
const User = v.object({ userId: v.number() });
const NAME = "__Host-session";

/** An application with a session of a user. */
function appWith(options: SessionOptions): App {
  const visit = session(User, options);
  const app = new App();
  app.post("/login/{id}", { params: { id: v.number() }, deps: { visit } }, async (_request, { id, visit }) => {
    await visit.set({ userId: id });
    return visit.data;
  });
  app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
  app.get("/me", { deps: { user: visit.required() } }, async (_request, { user }) => user.data.userId);
  return app;
}

Deno.test("visit is documented as optional without a 401, required() as required with one", () => {
  const app = appWith({ secret: SECRET, description: "Sign in by POST /login" });
  const { paths, components } = app.openapi();
  assertEquals(paths["/visit"]?.get?.security, [{ session: [] }, {}]);
  assertEquals("401" in paths["/visit"]!.get!.responses, false);
  assertEquals(paths["/me"]?.get?.security, [{ session: [] }]);
  assertEquals("401" in paths["/me"]!.get!.responses, true);
  assertEquals(paths["/me"]?.get?.parameters, undefined);
  assertEquals(components.securitySchemes, {
    session: { type: "apiKey", in: "cookie", name: NAME, description: "Sign in by POST /login" },
  });
});

Deno.test("required() without a session is 401 with WWW-Authenticate", async () => {
  const response = await new Visitor(appWith({ secret: SECRET })).send("/me", { headers: { accept: "text/html" } });
  assertEquals(response.status, 401);
  assertEquals(response.headers.get("www-authenticate"), 'Cookie realm="session", cookie-name="__Host-session"');
  assertEquals((await response.json()).detail, "Sign in: there is no session");
});

Deno.test("required({ redirect }) answers a GET that accepts HTML with 303 to /login?next=…", async () => {
  const visit = session(User, { secret: SECRET });
  const app = new App();
  const member = { user: visit.required({ redirect: "/login" }) };
  app.get("/{rest...}", { deps: member }, async () => "page");
  app.post("/{rest...}", { deps: member }, async () => "page");
  app.get("/with", { deps: { user: visit.required({ redirect: "/login?lang=de" }) } }, async () => "page");
  const ask = async (path: string, accept = "text/html,application/xhtml+xml,*/*;q=0.8", method = "GET") => {
    const response = await app.fetch(new Request("http://localhost" + path, { method, headers: { accept } }));
    await response.body?.cancel();
    return response.status === 303 ? response.headers.get("location") : response.status;
  };
  assertEquals(await ask("/books"), "/login?next=%2Fbooks");
  assertEquals(await ask("/books/1?q=a%20b&x=%C3%A9"), "/login?next=%2Fbooks%2F1%3Fq%3Da%2520b%26x%3D%25C3%25A9");
  assertEquals(await ask("/with"), "/login?lang=de&next=%2Fwith");
  assertEquals(await ask("/books", undefined, "HEAD"), "/login?next=%2Fbooks");
  assertEquals(await ask("/books", undefined, "POST"), 401);
  for (const accept of ["*/*", "application/json", "text/html;q=0", "text/htmlx"]) {
    assertEquals(await ask("/books", accept), 401, accept);
  }
  // Only paths of this application: after "//" a host would begin.
  for (const path of ["//evil.example", "//evil.example/x?y", "/\\evil.example", "/\\/evil.example"]) {
    assertEquals(await ask(path), "/login", path);
  }
  assertEquals(await ask("/https://evil.example"), "/login?next=%2Fhttps%3A%2F%2Fevil.example");
  // No loop.
  assertEquals([await ask("/login"), await ask("/login?next=%2Fbooks")], [401, 401]);
});

Deno.test("a redirect of a guard is neither logged nor shaped by onError, and middleware sees it", async () => {
  const visit = session(User, { secret: SECRET });
  const app = new App();
  const seen: unknown[] = [];
  app.onError(() => void seen.push("error"));
  app.middleware(async (request, next) => {
    const response = await next(request);
    response.headers.set("x-seen", "1");
    seen.push(response.status);
    return response;
  });
  app.get("/", { deps: { user: visit.required({ redirect: "/login" }) } }, async () => "page");
  using log = new CapturedLog();
  const response = await app.fetch(new Request("http://localhost/", { headers: { accept: "text/html" } }));
  assertEquals([response.status, response.headers.get("x-seen"), seen, log.text], [303, "1", [303], ""]);
});

Deno.test("anySecurity takes a session, too: its value is that of the first that lets the caller in", async () => {
  let calls = 0;
  const visit = session(User, { secret: () => ++calls > 0 ? SECRET : undefined });
  const token = bearer(async (token) => token === "t" && { data: { userId: 9 } });
  const user = anySecurity(visit.required({ redirect: "/login" }), token);
  const app = new App();
  app.get("/me", { deps: { user } }, async (_request, { user }) => user.data.userId);
  app.get("/maybe", { deps: { user: optional(visit.required()) } }, async (_request, { user }) => user?.data ?? null);
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
  await app.start();
  assertEquals(calls, 1);
  const visitor = new Visitor(app);
  const ask = async (headers: HeadersInit) => {
    const response = await visitor.send("/me", { headers });
    const text = await response.text();
    return response.status === 200 ? Number(text) : response.status;
  };
  const accept = "text/html";
  assertEquals(await ask({ authorization: "Bearer t", accept }), 9);
  assertEquals([await ask({ accept }), await ask({})], [303, 401]);
  assertEquals(await ask({ authorization: "Bearer wrong", accept }), 401);
  assertEquals(await visitor.get("/maybe"), null);
  await visitor.post("/login");
  assertEquals([await ask({ accept }), await visitor.get("/maybe")], [7, { userId: 7 }]);
  assertEquals(app.openapi().paths["/me"]?.get?.security, [{ session: [] }, { bearer: [] }]);
});

Deno.test("a session on a scope guards its routes, and its secret is asked for at the start", async () => {
  const visit = session(User, { secret: SECRET });
  const app = new App();
  const admin = new Router({ prefix: "/admin", deps: { user: visit.required() } });
  admin.get("/me", async (_request, { user }) => user.data.userId);
  app.include(admin);
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
  const visitor = new Visitor(app);
  assertEquals(await visitor.get("/admin/me"), 401);
  await visitor.post("/login");
  assertEquals(await visitor.get("/admin/me"), 7);

  const broken = new App();
  const outer = new Router({ prefix: "/v1" });
  const inner = new Router({ prefix: "/in" });
  inner.get("/", async () => 1);
  outer.include(inner, { deps: { user: session(User, { secret: () => undefined }).required() } });
  broken.include(outer);
  await assertRejects(() => broken.start(), Error, "is missing");

  const reader = dependency(
    { deps: { user: session(User, { secret: () => undefined }).required() } },
    async (_request, { user }) => user.data.userId,
  );
  await assertRejects(() => new App({ docs: { deps: { reader } } }).start(), Error, "is missing");
});
