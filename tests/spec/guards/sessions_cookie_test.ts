// Section 2 of the contract of guards, `session`: "Two sessions of one application with one cookie
// name are a `TypeError`".

import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
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

/** An application with a session. */
function appWith(visit: ReturnType<typeof sessionOf>): App {
  const app = new App();
  app.get("/me", { deps: { visit } }, async (_request, { visit }) => visit.data);
  return app;
}

/** Each mounts an application whose session has the cookie of another one. */
const MOUNTS: Readonly<Record<string, (app: App) => void>> = {
  "beside a route": (app) => {
    app.get("/", { deps: { user } }, async () => 1);
    app.mount("/shop", appWith(admin));
  },
  "before a route": (app) => {
    app.mount("/shop", appWith(user));
    app.get("/", { deps: { admin } }, async () => 1);
  },
  "behind a guard": (app) => {
    const router = new Router({ deps: { user } });
    router.mount("/shop", appWith(admin));
    app.include(router);
  },
  "in a router": (app) => {
    app.get("/", { deps: { user } }, async () => 1);
    const router = new Router();
    router.mount("/shop", appWith(admin).fetch);
    app.include(router);
  },
  "beside another mounted application": (app) => {
    app.mount("/user", appWith(user));
    app.mount("/shop", appWith(admin));
  },
  "in a mounted application": (app) => {
    const middle = new App();
    middle.mount("/", appWith(admin));
    app.get("/", { deps: { user } }, async () => 1);
    app.mount("/shop", middle);
  },
};

for (const [way, declare] of Object.entries(MOUNTS)) {
  Deno.test(`a mounted application must not have a session with the cookie of another one: ${way}`, () => {
    const { message } = assertThrows(() => declare(new App()), TypeError);
    assertStringIncludes(message, "has the cookie of another session");
    assertStringIncludes(message, "__Host-session, use one of them, or give one another name");
  });
}

Deno.test("a session that a mounted application declares after the mount keeps the application from serving", async () => {
  for (const depth of [1, 2]) {
    const inner = new App();
    let outer = inner;
    for (let left = depth; left > 0; left--) {
      const app = new App();
      app.mount("/inner", outer);
      outer = app;
    }
    outer.get("/", { deps: { user } }, async () => 1);
    inner.get("/admin", { deps: { admin } }, async () => 1);
    const { message } = await assertRejects(() => outer.start(), TypeError);
    assertEquals(
      message,
      'Cannot serve the App: in the mount /inner, the session "admin" has the cookie of another session "user", ' +
        '__Host-session, use one of them, or give one another name, cookie: { name: "admin" }',
    );
    const fetched = async () => await outer.fetch(new Request("http://localhost/"));
    assertEquals((await assertRejects(fetched, TypeError)).message, message);
  }
});

Deno.test("a mounted application may share the session, or have one whose cookie never meets the other", async () => {
  const at = (path: string, domain?: string) =>
    sessionOf("other", { cookie: { path, secure: false, ...(domain !== undefined && { domain }) } });
  /** Whether an application with one session may mount one with the other. */
  const mounts = (one: ReturnType<typeof at>, other: ReturnType<typeof at>) => {
    try {
      const app = appWith(one);
      app.mount("/shop", appWith(other));
      return true;
    } catch {
      return false;
    }
  };
  assertEquals(mounts(user, user), true);
  assertEquals(mounts(at("/user"), at("/shop")), true);
  assertEquals(mounts(at("/shop"), at("/shopping")), true);
  assertEquals(mounts(at("/", "a.example"), at("/", "b.example")), true);
  assertEquals(mounts(at("/"), at("/shop")), false);
  assertEquals(mounts(at("/shop/cart"), at("/shop/")), false);
  assertEquals(mounts(at("/shop"), at("/shop")), false);
  assertEquals(mounts(at("/", "example.com"), at("/", "Shop.Example.com")), false);
  assertEquals(mounts(at("/", "example.com"), at("/")), false);

  const app = new App();
  const shop = appWith(user);
  app.mount("/a", shop);
  app.mount("/b", shop);
  app.mount("/c", appWith(sessionOf("c", { cookie: { name: "c" } })));
  assertEquals((await app.fetch(new Request("http://localhost/b/me"))).status, 200);
  await app.stop();
});
