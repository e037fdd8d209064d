// Section 2 of the contract of guards, `session`: "Two sessions of one application with one cookie
// name are a `TypeError`".

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { anySecurity, App, type Dependency, dependency, Router } from "@webfw/core";
import { bearer, memorySessions, optional, session, type SessionOptions } from "@webfw/core/auth";
import * as v from "valibot";

const Data = v.object({ userId: v.number() });
const SECRET = "0b72d3c1".repeat(4);

function sessionOf(scheme: string, options: Partial<SessionOptions> = {}) {
  return session(Data, { secret: SECRET, scheme, ...options } as SessionOptions);
}

const user = sessionOf("user");
const admin = sessionOf("admin", { store: memorySessions() });
const role = dependency({ deps: { me: admin.required() } }, async (_request, { me }) => me.data);
const token = bearer(async (token) => token);

/** Each uses the second session in another way, beside a route with the first one. */
const WAYS: Readonly<Record<string, (app: App) => void>> = {
  "a route": (app) => app.get("/admin", { deps: { admin } }, async () => 1),
  "a guard made of it": (app) => app.get("/admin", { deps: { me: admin.required() } }, async () => 1),
  "a dependency that needs it": (app) => app.get("/admin", { deps: { role } }, async () => 1),
  "anySecurity": (app) => app.get("/admin", { deps: { any: anySecurity(token, admin.required()) } }, async () => 1),
  "optional": (app) => app.get("/admin", { deps: { me: optional(admin.required()) } }, async () => 1),
  "a WebSocket": (app) => app.websocket("/admin", { deps: { admin } }, async () => {}),
  "a router": (app) => {
    const router = new Router({ prefix: "/admin", deps: { admin } });
    router.get("", async () => 1);
    app.include(router);
  },
  "a router in a router": (app) => {
    const inner = new Router({ deps: { admin } });
    inner.get("/admin", async () => 1);
    const outer = new Router();
    outer.include(inner);
    app.include(outer);
  },
  "an include": (app) => {
    const router = new Router();
    router.get("/admin", async () => 1);
    app.include(router, { deps: { admin } });
  },
  "a mount": (app) => {
    const router = new Router({ deps: { admin } });
    router.mount("/admin", async () => new Response());
    app.include(router);
  },
  "a rate limit": (app) =>
    app.get(
      "/admin",
      { rateLimit: { limit: 1, per: "1h", by: admin as Dependency<unknown>, key: () => "one" } },
      async () => 1,
    ),
};

for (const [way, declare] of Object.entries(WAYS)) {
  Deno.test(`a second session with the cookie of the first is a TypeError: ${way}`, () => {
    const app = new App();
    app.get("/user", { deps: { user } }, async () => 1);
    const { message } = assertThrows(() => declare(app), TypeError);
    assertStringIncludes(
      message,
      'the session "admin" has the cookie of another session "user", __Host-session, use one of them, ' +
        'or give one another name, cookie: { name: "admin" }',
    );
    assertEquals(app.routes.map(({ path }) => path), ["/user"]);
  });
}

Deno.test("the deps of one application, of one route, and those of its page", () => {
  assertThrows(() => new App({ deps: { user, admin } }), TypeError, "Cannot make the App: the session");
  assertThrows(() => new Router({ deps: { user, admin } }), TypeError, "Cannot make a router: the session");
  assertThrows(
    () => new App().get("/", { deps: { user, admin } }, async () => 1),
    TypeError,
    "Cannot register the route: in GET /, the session",
  );
  const app = new App({ docs: { deps: { admin } } });
  assertThrows(() => app.get("/", { deps: { user } }, async () => 1), TypeError, "the cookie of another session");
});

Deno.test("two sessions of one scheme, too", () => {
  const app = new App();
  app.get("/one", { deps: { user } }, async () => 1);
  assertThrows(() => app.get("/two", { deps: { user: sessionOf("user") } }, async () => 1), TypeError);
});

Deno.test("the same session may be used everywhere, and another one with another cookie", () => {
  const other = sessionOf("admin", { cookie: { name: "admin" } });
  // Over http, the name is not that of the first one.
  const plain = sessionOf("plain", { cookie: { secure: false } });
  const app = new App({ deps: { user }, docs: { deps: { me: user.required() } } });
  app.get("/one", { deps: { me: user.required(), other } }, async () => 1);
  app.get("/two", { deps: { any: anySecurity(user.required(), other.required()) } }, async () => 1);
  app.get("/three", { deps: { plain } }, async () => 1);
  const router = new Router({ prefix: "/four", deps: { me: user.required({ redirect: "/login" }) } });
  router.get("", async () => 1);
  app.include(router);
  app.include(router, { prefix: "/again" });
  // Another application may have a session with the same cookie.
  new App().get("/", { deps: { admin } }, async () => 1);
  assertEquals(app.routes.length, 5);
});

Deno.test("after a refused include, the application takes another session of that name", () => {
  const app = new App();
  app.get("/taken", async () => 1);
  const router = new Router({ deps: { admin } });
  router.get("/taken", async () => 1);
  assertThrows(() => app.include(router), Error, "has the method and shape of");
  app.get("/user", { deps: { user } }, async () => 1);
  assertEquals(app.routes.length, 2);
});
