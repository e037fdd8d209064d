// Section 3 of the contract, and the path-joining and mounting rules of the original.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, HTTPError, RouteError, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

// deno-lint-ignore no-explicit-any -- a declaration whose mistake TypeScript would find
type Untyped = any;

async function pathsServed(app: App, candidates: readonly string[]): Promise<string[]> {
  await using client = new TestClient(app);
  const served: string[] = [];
  for (const path of candidates) {
    if ((await client.get(path)).status === 200) served.push(path);
  }
  return served;
}

for (
  const [where, take] of [
    ["Router's prefix", (prefix: string) => new Router({ prefix })],
    ["include's prefix", (prefix: string) => new App().include(new Router(), { prefix })],
  ] as const
) {
  Deno.test(`A ${where} is empty, or starts with a slash and does not end with one`, () => {
    for (const prefix of ["", "/a", "/a/b", "/{a}", "/a/{b}/c", "/é", "/a.b-c_d~e", "/{_a1}", "/{$a}"]) take(prefix);
  });

  Deno.test(`Any other ${where} is a RouteError with code path`, () => {
    for (
      const prefix of [
        "/",
        "a",
        "a/",
        "/a/",
        "//",
        "/a//",
        "{a}",
        "/{a}/",
        "/{}",
        "/{1}",
        "/{a-b}",
        "/{a",
        "/a}",
        "/x{a}",
        "/{a}x",
        "/{a}{b}",
        "/{{a}}",
        "/{a}/{a}",
        "/{a...}",
        "/{a...}/b",
        "/{ a }",
        "/a?b",
        "/a#b",
        "/..",
        "/.",
      ]
    ) {
      assertEquals(assertThrows(() => take(prefix), RouteError, undefined, prefix).code, "path", prefix);
    }
  });
}

Deno.test("The default prefix of a router is empty", async () => {
  const router = new Router();
  router.get("/x", async () => 1);
  const app = new App();
  app.include(router);
  assertEquals(await pathsServed(app, ["/x", "/", "//x"]), ["/x"]);
});

Deno.test('Paths join literally: prefix + "", prefix + "/" and prefix + "/{x}" are three routes', async () => {
  const app = new App();
  const router = new Router({ prefix: "/p" });
  router.get("", async () => "empty");
  router.get("/", async () => "slash");
  router.get("/{x}", async (_request, { x }) => `x=${x}`);
  app.include(router);
  await using client = new TestClient(app);
  assertEquals(await client.get("/p").json(), "empty");
  assertEquals(await client.get("/p/").json(), "slash");
  assertEquals(await client.get("/p/1").json(), "x=1");
  assertEquals((await client.get("/p/1/")).status, 404);
  assertEquals((await client.get("/p//")).status, 404);
});

Deno.test("A trailing slash is significant everywhere, also below an include's prefix", async () => {
  const app = new App();
  app.get("/a", async () => 1);
  app.get("/b/", async () => 1);
  app.get("/c/{x}", async () => 1);
  app.get("/d/{x}/", async () => 1);
  const router = new Router();
  router.get("/e/", async () => 1);
  app.include(router, { prefix: "/v1" });
  assertEquals(
    await pathsServed(app, ["/a", "/a/", "/b", "/b/", "/c/1", "/c/1/", "/d/1", "/d/1/", "/v1/e", "/v1/e/"]),
    ["/a", "/b/", "/c/1", "/d/1/", "/v1/e/"],
  );
});

Deno.test("Declared paths are not normalised: double slashes stay", async () => {
  const app = new App();
  app.get("/a//b", async () => 1);
  assertEquals(await pathsServed(app, ["/a//b", "/a/b", "/a///b"]), ["/a//b"]);
});

Deno.test("A router verb takes the empty string; a path without a slash in front is an error", () => {
  const router = new Router({ prefix: "/p" });
  router.get("", async () => {});
  for (const path of ["x", "{x}", " /x"]) {
    assertEquals(assertThrows(() => router.get(path, async () => {}), RouteError).code, "path", path);
  }
});

Deno.test("A route whose full path is empty cannot be included in an App", () => {
  const router = new Router();
  router.get("", async () => {});
  assertEquals(assertThrows(() => new App().include(router), RouteError).code, "path");
  new App().include(router, { prefix: "/x" });
});

Deno.test("Nested includes accumulate prefixes from the outermost include inwards", async () => {
  const inner = new Router({ prefix: "/3" });
  inner.get("/x", async () => 1);
  const middle = new Router({ prefix: "/2" });
  middle.include(inner, { prefix: "/between" });
  const app = new App();
  app.include(middle, { prefix: "/1" });
  assertEquals(app.routes.map(({ path }) => path), ["/1/2/between/3/x"]);
  assertEquals(await pathsServed(app, ["/1/2/between/3/x", "/2/between/3/x", "/between/1/2/3/x"]), [
    "/1/2/between/3/x",
  ]);
});

Deno.test("A router has the same verbs as an App", async () => {
  const router = new Router();
  router.get("/x", async ({ method }) => method);
  router.post("/x", async ({ method }) => method);
  router.put("/x", async ({ method }) => method);
  router.patch("/x", async ({ method }) => method);
  router.delete("/x", async ({ method }) => method);
  router.route("/x", { methods: ["PURGE"] }, async ({ method }) => method);
  const app = new App();
  app.include(router);
  await using client = new TestClient(app);
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "PURGE"]) {
    assertEquals(await client.request(method, "/x").json(), method);
  }
});

Deno.test("An open router checks a handler against its own path at once", () => {
  const router = new Router({ prefix: "/{id}" });
  assertThrows(() => router.get("/x", { params: { nope: v.string() } } as Untyped, async () => {}), RouteError);
  assertThrows(() => router.get("/{id}", async () => {}), RouteError);
  const app = new App();
  app.include(router);
  assertEquals(app.routes, []);
});

Deno.test("A handler that is not an async function is a TypeError at once, and the router stays open", () => {
  const router = new Router();
  for (const handler of [() => {}, function () {}, function* () {}, class {}, "x", null, undefined, {}]) {
    assertThrows(() => router.get("/x", handler as Untyped), TypeError, undefined, String(handler));
  }
  router.get("/x", async () => {});
  const app = new App();
  app.include(router);
  assertEquals(app.routes.length, 1);
});

Deno.test("An include checks the handler against the full path: a name that occurs twice is a RouteError", () => {
  const router = new Router({ prefix: "/{id}" });
  router.get("/x", async () => {});
  const app = new App();
  assertEquals(assertThrows(() => app.include(router, { prefix: "/{id}" }), RouteError, "id").code, "path");
  assertEquals(app.routes, []);
  router.get("/y", async () => {});
  app.include(router, { prefix: "/{other}" });
  assertEquals(app.routes.map(({ path }) => path), ["/{other}/{id}/x", "/{other}/{id}/y"]);
});

Deno.test("A name of an include's prefix that the handler binds otherwise is an error at that include", () => {
  const bind: Record<string, (router: Router) => void> = {
    body: (router) => router.post("/x", { body: v.string() }, async () => {}),
    headers: (router) => router.post("/x", { headers: { a: v.string() } }, async () => {}),
    cookies: (router) => router.post("/x", { cookies: { a: v.string() } }, async () => {}),
    db: (router) => router.post("/x", { deps: { db: async () => 1 } }, async () => {}),
  };
  for (const [name, declare] of Object.entries(bind)) {
    const router = new Router();
    declare(router);
    const app = new App();
    assertThrows(() => app.include(router, { prefix: `/{${name}}` }), RouteError, name);
    assertEquals(app.routes, [], name);
    app.include(router, { prefix: "/{other}" });
  }
});

Deno.test("The same method and shape already in the target is a RouteError with code conflict that names both", () => {
  const app = new App();
  app.get("/books/{id}", async () => {});
  const router = new Router({ prefix: "/books" });
  router.get("/all", async () => {});
  router.get("/{isbn}", async () => {});
  const error = assertThrows(() => app.include(router), RouteError);
  assertEquals(error.code, "conflict");
  assertStringIncludes(error.message, "/books/{id}");
  assertStringIncludes(error.message, "/books/{isbn}");
});

Deno.test("After a conflict nothing of the router was added, and it stays open", async () => {
  const app = new App();
  app.get("/books/{id}", async () => "first");
  const router = new Router({ prefix: "/books" });
  router.get("/all", async () => "all");
  router.get("/{isbn}", async () => "second");
  assertThrows(() => app.include(router), RouteError);
  assertEquals(app.routes.map(({ path }) => path), ["/books/{id}"]);
  router.get("/more", async () => "more");
  app.include(router, { prefix: "/v2" });
  await using client = new TestClient(app);
  assertEquals(await client.get("/books/all").json(), "first");
  assertEquals(await client.get("/v2/books/more").json(), "more");
});

Deno.test("A conflict between two routers raises at the second include", () => {
  const [one, two] = [new Router({ prefix: "/x" }), new Router()];
  one.get("/{a}", async () => {});
  two.get("/x/{b}", async () => {});
  const app = new App();
  app.include(one);
  assertEquals(assertThrows(() => app.include(two), RouteError).code, "conflict");
});

Deno.test("Shapes are equal after every name is left out; another method, text or depth is no conflict", () => {
  const table: [first: string, second: string, isSame: boolean][] = [
    ["/{a}", "/{b}", true],
    ["/a/{x}/b", "/a/{y}/b", true],
    ["/{a}/{b}", "/{b}/{a}", true],
    ["/{a...}", "/{b...}", true],
    ["/a", "/a", true],
    ["/a", "/A", false],
    ["/a", "/a/", false],
    ["/{a}", "/a", false],
    ["/{a}", "/{a...}", false],
    ["/{a}", "/{a}/", false],
    ["/a/{x}", "/b/{x}", false],
    ["/{x}/a", "/{x}/b", false],
  ];
  for (const [first, second, isSame] of table) {
    const app = new App();
    app.get(first, async () => {});
    app.post(second, async () => {});
    const again = () => app.get(second, async () => {});
    if (isSame) assertEquals(assertThrows(again, RouteError, undefined, `${first} ${second}`).code, "conflict");
    else again();
  }
});

Deno.test("A route registered twice on one app or router is a conflict", () => {
  for (const { get } of [new App(), new Router()] as Untyped[]) {
    get("/x", async () => {});
    assertEquals(assertThrows(() => get("/x", async () => {}), RouteError).code, "conflict");
  }
});

Deno.test("A conflict of one method of route() leaves all of them out", () => {
  const app = new App();
  app.put("/x", async () => {});
  assertThrows(() => app.route("/x", { methods: ["POST", "PUT"] }, async () => {}), RouteError);
  assertEquals(app.routes.map(({ method }) => method), ["PUT"]);
});

Deno.test("Verbs, include and middleware on an included router are RouteErrors with code frozen, and nothing is served", async () => {
  const router = new Router();
  router.get("/x", async () => 1);
  const app = new App();
  app.include(router);
  const handler = async () => 1;
  const attempts: Record<string, () => void> = {
    get: () => router.get("/late", handler),
    post: () => router.post("/late", handler),
    put: () => router.put("/late", handler),
    patch: () => router.patch("/late", handler),
    delete: () => router.delete("/late", handler),
    route: () => router.route("/late", { methods: ["GET"] }, handler),
    include: () => router.include(new Router()),
    middleware: () => router.middleware(async (request, next) => await next(request)),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    assertEquals(assertThrows(attempt, RouteError, undefined, name).code, "frozen", name);
  }
  assertEquals(await pathsServed(app, ["/x", "/late"]), ["/x"]);
});

Deno.test("A router that another router includes is frozen, too, and the other one is still open", () => {
  const [outer, inner] = [new Router(), new Router()];
  outer.include(inner);
  assertEquals(assertThrows(() => inner.get("/x", async () => {}), RouteError).code, "frozen");
  outer.get("/x", async () => {});
});

Deno.test("An included router may be included again elsewhere: another version, another app", async () => {
  const router = new Router({ prefix: "/books" });
  router.get("/{id}", async (_request, args) => args);
  const [app, other] = [new App(), new App()];
  app.include(router, { prefix: "/v1" });
  app.include(router, { prefix: "/v2" });
  other.include(router);
  assertEquals(await pathsServed(app, ["/v1/books/1", "/v2/books/1", "/books/1"]), ["/v1/books/1", "/v2/books/1"]);
  assertEquals(await pathsServed(other, ["/v1/books/1", "/books/1"]), ["/books/1"]);
});

Deno.test("Including the same router twice at one place is a conflict", () => {
  const router = new Router();
  router.get("/x", async () => {});
  const app = new App();
  app.include(router);
  assertEquals(assertThrows(() => app.include(router), RouteError).code, "conflict");
});

Deno.test("Only a Router can be included, and not in itself", () => {
  const router = new Router();
  for (const other of [new App(), {}, null, undefined, "x"]) {
    assertThrows(() => router.include(other as Untyped), TypeError);
  }
  assertThrows(() => router.include(router), Error);
});

Deno.test("Routers cannot include one another in a circle", () => {
  const [one, two] = [new Router(), new Router()];
  one.include(two);
  assertThrows(() => two.include(one), RouteError);
});

Deno.test("A static segment beats a parameter at the same place, whatever the order of registration", async () => {
  const paths = ["/users/me", "/users/{id}", "/users/{rest...}", "/{a}/me", "/{all...}"];
  const asked = { "/users/me": 0, "/users/1": 1, "/users/1/2": 2, "/x/me": 3, "/x/y": 4, "/users": 4, "/users/": 4 };
  for (let turn = 0; turn < paths.length; turn++) {
    const order = paths.map((_, index) => paths[(index + turn) % paths.length]!);
    for (const list of [order, order.toReversed()]) {
      const app = new App();
      for (const path of list) app.get(path, async ({ route }) => route?.path);
      await using client = new TestClient(app);
      for (const [path, index] of Object.entries(asked)) {
        assertEquals(await client.get(path).json(), paths[index], `${path} of ${list}`);
      }
    }
  }
});

Deno.test("A module that declares a router reaches the app and the lifespans' state through the request", async () => {
  const router = new Router<{ db: string }>();
  router.get("/x", async ({ app, state }) => [app.title, state.db]);
  const app = new App<{ db: string }>({ title: "Mounted" });
  app.lifespan(async function* () {
    yield { db: "open" };
  });
  app.include(router);
  await using client = new TestClient(app);
  assertEquals(await client.get("/x").json(), ["Mounted", "open"]);
});

Deno.test("A copy of a route behaves as the original: status, model, limits and errors", async () => {
  const router = new Router();
  const Model = v.object({ a: v.number() });
  router.post("/x", { status: 201, response: Model, body: Model, limits: { body: 20 } }, async (_request, { body }) => {
    if (body.a < 0) throw new HTTPError(409, "Negative");
    return { ...body };
  });
  const app = new App();
  app.include(router, { prefix: "/{tenant}" });
  await using client = new TestClient(app);
  const made = await client.post("/t/x", { json: { a: 1, b: 2 } });
  assertEquals([made.status, await made.json()], [201, { a: 1 }]);
  assertEquals((await client.post("/t/x", { json: { a: -1 } }).problem(409)).detail, "Negative");
  assertEquals((await client.post("/t/x", { json: { a: "x".repeat(20) } })).status, 413);
});

Deno.test("Thousands of routes are distinguished", async () => {
  const app = new App();
  for (let index = 0; index < 2_000; index++) {
    app.get(`/r${index}/{id}/x${index % 7}`, async ({ route }, { id }) => [route?.path, id]);
  }
  await using client = new TestClient(app);
  for (const index of [0, 1, 999, 1_999]) {
    assertEquals(await client.get(`/r${index}/a/x${index % 7}`).json(), [`/r${index}/{id}/x${index % 7}`, "a"]);
    assertEquals((await client.get(`/r${index}/a/x${(index + 1) % 7}`)).status, 404);
  }
  assert(app.routes.length === 2_000);
});
