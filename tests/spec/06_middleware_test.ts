// Section 6 of the contract: middleware.

import { assert, assertEquals, assertFalse, assertStringIncludes, assertThrows } from "@std/assert";
import { App, HTTPError, type Middleware, RouteError, Router, text } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

function noting(notes: string[], name: string): Middleware {
  return async (request, next) => {
    notes.push(`> ${name}`);
    const response = await next(request);
    notes.push(`< ${name} ${response.status}`);
    return response;
  };
}

Deno.test("A middleware returns await next(request), or another reply", async () => {
  const app = new App();
  let reached = 0;
  app.middleware(async (request, next) => request.path === "/own" ? text("own", { status: 202 }) : await next(request));
  app.get("/own", async () => ++reached);
  app.get("/next", async () => ++reached);
  await using client = new TestClient(app);
  const own = await client.get("/own");
  assertEquals([own.status, await own.text(), reached], [202, "own", 0]);
  assertEquals(await client.get("/next").json(), 1);
});

Deno.test("Outermost first: app middleware, then each router's from the outermost inwards, then the handler", async () => {
  const notes: string[] = [];
  const inner = new Router({ prefix: "/inner" });
  inner.middleware(noting(notes, "inner 1"));
  inner.middleware(noting(notes, "inner 2"));
  inner.get("", async () => notes.push("handler"));
  const outer = new Router({ prefix: "/outer" });
  outer.include(inner);
  outer.middleware(noting(notes, "outer"));
  const app = new App();
  app.include(outer);
  app.middleware(noting(notes, "app 1"));
  app.middleware(noting(notes, "app 2"));
  await using client = new TestClient(app);
  await client.get("/outer/inner");
  assertEquals(notes, [
    "> app 1",
    "> app 2",
    "> outer",
    "> inner 1",
    "> inner 2",
    "handler",
    "< inner 2 200",
    "< inner 1 200",
    "< outer 200",
    "< app 2 200",
    "< app 1 200",
  ]);
});

Deno.test("Router middleware runs only for that router's routes and those of routers included into it", async () => {
  const notes: string[] = [];
  const [a, b, inA] = [new Router({ prefix: "/a" }), new Router({ prefix: "/b" }), new Router({ prefix: "/in" })];
  for (const [router, name] of [[a, "a"], [b, "b"], [inA, "in"]] as const) {
    router.middleware(noting(notes, name));
    (router as Untyped).get("/x", async () => 1);
  }
  a.include(inA);
  const app = new App();
  app.include(a);
  app.include(b);
  app.get("/own", async () => 1);
  await using client = new TestClient(app);
  const table: [path: string, ran: string[]][] = [
    ["/a/x", ["a"]],
    ["/a/in/x", ["a", "in"]],
    ["/b/x", ["b"]],
    ["/own", []],
    ["/a/missing", []],
  ];
  for (const [path, ran] of table) {
    notes.length = 0;
    await client.get(path);
    assertEquals(notes.filter((note) => note.startsWith(">")), ran.map((name) => `> ${name}`), path);
  }
});

Deno.test("A router included in two places runs through the middleware of each place", async () => {
  const notes: string[] = [];
  const shared = new Router();
  shared.middleware(noting(notes, "shared"));
  shared.get("/x", async () => 1);
  const app = new App();
  for (const name of ["v1", "v2"]) {
    const router = new Router({ prefix: `/${name}` });
    router.middleware(noting(notes, name));
    router.include(shared);
    app.include(router);
  }
  await using client = new TestClient(app);
  await client.get("/v2/x");
  assertEquals(notes, ["> v2", "> shared", "< shared 200", "< v2 200"]);
});

Deno.test("App middleware also sees 400, 404, 405, 413, 415, 422 and 500", async () => {
  const notes: string[] = [];
  const app = new App();
  app.middleware(noting(notes, "app"));
  app.post("/{n}", { params: { n: v.number() }, body: v.object({}), limits: { body: 10 } }, async () => {
    throw new Error("x");
  });
  await using client = new TestClient(app);
  using _log = new CapturedLog();
  const json = { "content-type": "application/json" };
  const statuses = [
    await client.get("/%ff"),
    await client.get("/a/b"),
    await client.get("/1"),
    await client.post("/1", { json: "x".repeat(20) }),
    await client.post("/1", { body: "{}" }),
    await client.post("/x", { body: "{}", headers: json }),
    await client.post("/1", { body: "{}", headers: json }),
  ].map(({ status }) => status);
  assertEquals(statuses, [400, 404, 405, 413, 415, 422, 500]);
  assertEquals(notes.filter((note) => note.startsWith("<")), statuses.map((status) => `< app ${status}`));
});

Deno.test("An HTTPError raised inside reaches outer middleware as a reply carrying its status, never as an exception", async () => {
  const places: Record<string, (app: App) => void> = {
    handler: (app) =>
      app.get("/", async () => {
        throw new HTTPError(403);
      }),
    dependency: (app) =>
      app.get("/", {
        deps: {
          dep: async () => {
            throw new HTTPError(403);
          },
        },
      }, async () => 1),
    "router middleware": (app) => {
      const router = new Router();
      router.middleware(async () => {
        throw new HTTPError(403);
      });
      router.get("/", async () => 1);
      app.include(router);
    },
    "app middleware": (app) => {
      app.middleware(async () => {
        throw new HTTPError(403);
      });
    },
    "router middleware after the handler": (app) => {
      const router = new Router();
      router.middleware(async (request, next) => {
        await (await next(request)).body?.cancel();
        throw new HTTPError(403);
      });
      router.get("/", async () => 1);
      app.include(router);
    },
  };
  for (const [place, declare] of Object.entries(places)) {
    const notes: string[] = [];
    const app = new App();
    app.middleware(noting(notes, "log"));
    declare(app);
    await using client = new TestClient(app);
    assertEquals((await client.get("/").problem(403)).title, "Forbidden", place);
    assertEquals(notes, ["> log", "< log 403"], place);
  }
});

Deno.test("Any other error inside reaches outer middleware as a 500 whose cause is logged", async () => {
  for (const thrown of [new Error("secret cause"), "secret cause", { secret: "cause" }, undefined, null]) {
    const notes: string[] = [];
    const app = new App();
    app.middleware(noting(notes, "log"));
    app.middleware(async () => {
      throw thrown;
    });
    await using client = new TestClient(app);
    using log = new CapturedLog();
    const body = JSON.stringify(await client.get("/").problem(500));
    assertFalse(body.includes("secret"));
    assertEquals(notes, ["> log", "< log 500"]);
    assertEquals(log.lines.length, 1);
    if (thrown) assertStringIncludes(log.text, "secret");
  }
});

Deno.test("Middleware may change the headers of any reply", async () => {
  const makers: Record<string, (app: App) => void> = {
    "a JSON result": (app) => app.get("/", async () => 1),
    "a Response": (app) => app.get("/", async () => new Response("x")),
    "a Response with immutable headers": (app) => app.get("/", async () => Response.redirect("http://localhost/x")),
    "an inner middleware's own immutable Response": (app) =>
      app.middleware(async () => Response.redirect("http://localhost/x")),
    "a router middleware's own immutable Response": (app) => {
      const router = new Router();
      router.middleware(async () => Response.redirect("http://localhost/x"));
      router.get("/", async () => 1);
      app.include(router);
    },
    "an error": (app) =>
      app.get("/", async () => {
        throw new HTTPError(409);
      }),
    "an error shaped with immutable headers": (app) => {
      app.onError(() => Response.redirect("http://localhost/x"));
      app.middleware(async () => {
        throw new HTTPError(409);
      });
    },
    "no route": () => {},
    "a stream": (app) =>
      app.get("/", async function* () {
        yield 1;
      }),
  };
  for (const [name, declare] of Object.entries(makers)) {
    const app = new App();
    app.middleware(async (request, next) => {
      const response = await next(request);
      response.headers.set("x-set", "1");
      response.headers.append("set-cookie", "a=1");
      response.headers.delete("content-type");
      return response;
    });
    declare(app);
    await using client = new TestClient(app);
    const response = await client.get("/");
    assertEquals(response.headers.get("x-set"), "1", name);
    assertEquals(response.headers.getSetCookie(), ["a=1"], name);
    assertFalse(response.headers.has("content-type"), name);
  }
});

Deno.test("A reply with headers that cannot change keeps its status and body", async () => {
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    response.headers.set("x-set", "1");
    return response;
  });
  app.middleware(async () => await globalThis.fetch("data:text/plain,proxied"));
  await using client = new TestClient(app);
  const response = await client.get("/");
  assertEquals([response.status, await response.text(), response.headers.get("x-set")], [200, "proxied", "1"]);
});

Deno.test("A reply that was read before it is passed on is a mistake that outer middleware sees as a 500", async () => {
  using log = new CapturedLog();
  const spent = async () => {
    const response = await globalThis.fetch("data:text/plain,spent");
    await response.text();
    return response;
  };
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    response.headers.set("x-seen", String(response.status));
    return response;
  });
  app.middleware(async (request, next) => request.path === "/middleware" ? await spent() : await next(request));
  app.get("/handler", spent);
  app.get("/error", async () => {
    throw new HTTPError(400);
  });
  app.onError(async () => await spent());
  await using client = new TestClient(app);
  for (const path of ["/middleware", "/handler", "/error", "/nowhere"]) {
    const response = await client.get(path);
    assertEquals([path, response.status, response.headers.get("x-seen")], [path, 500, "500"]);
    await response.body?.cancel();
  }
  assertStringIncludes(JSON.stringify(log.lines), "Shaping an error reply failed");
});

Deno.test("Middleware sees a streamed reply before it has been made, and may replace it", async () => {
  const notes: string[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    notes.push(`status ${response.status}`);
    return new Response(
      response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(
        new TransformStream({ transform: (part: string, controller) => controller.enqueue(part.toUpperCase()) }),
      ).pipeThrough(new TextEncoderStream()),
    );
  });
  app.get("/", async function* () {
    yield "a";
    notes.push("second part");
    yield "b";
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/").text(), '"A"\n"B"\n');
  assertEquals(notes, ["status 200", "second part"]);
});

Deno.test("A middleware has to be async, and is checked when it is added", () => {
  for (const wrong of [() => new Response(), function* () {}, async function* () {}, null, {}, "x"]) {
    assertThrows(() => new App().middleware(wrong as Untyped), TypeError);
    assertThrows(() => new Router().middleware(wrong as Untyped), TypeError);
  }
});

Deno.test("A middleware that returns no Response is an error, as a 500", async () => {
  for (const wrong of [undefined, null, "text", { status: 200 }]) {
    const app = new App();
    app.middleware(
      async function guard() {
        return wrong;
      } as Untyped,
    );
    await using client = new TestClient(app);
    using log = new CapturedLog();
    assertEquals((await client.get("/")).status, 500);
    assertStringIncludes(log.text, "guard");
  }
});

Deno.test("A second next() is an error, and the handler runs once", async () => {
  let runs = 0;
  const app = new App();
  app.middleware(async (request, next) => {
    await next(request);
    return await next(request);
  });
  app.get("/", async () => ++runs);
  await using client = new TestClient(app);
  using log = new CapturedLog();
  assertEquals([(await client.get("/")).status, runs], [500, 1]);
  assertStringIncludes(log.text, "next()");
});

Deno.test("Middleware for the same request in parallel requests do not mix", async () => {
  const app = new App();
  const gate = Promise.withResolvers<void>();
  app.middleware(async (request, next) => {
    const mine = request.query.get("id");
    const response = await next(request);
    response.headers.set("x-id", mine ?? "");
    return response;
  });
  app.get("/", { query: { id: v.string() } }, async (_request, { id }) => {
    if (id === "2") gate.resolve();
    await gate.promise;
    return id;
  });
  await using client = new TestClient(app);
  const replies = await Promise.all([client.get("/?id=1"), client.get("/?id=2")]);
  for (const response of replies) assertEquals(await response.json(), response.headers.get("x-id"));
});

Deno.test("A middleware cannot be added to an app that serves", async () => {
  const app = new App();
  await (await app.fetch(new Request("http://localhost/"))).body?.cancel();
  const late = () => app.middleware(async (request, next) => await next(request));
  assertEquals(assertThrows(late, RouteError).code, "frozen");
});

Deno.test("A cross-origin preflight is a middleware's work, and it can do it", async () => {
  const app = new App();
  app.middleware(async (request, next) => {
    if (request.method === "OPTIONS") {
      return new Response(null, { status: 204, headers: { "access-control-allow-origin": "*" } });
    }
    return await next(request);
  });
  app.get("/x", async () => 1);
  await using client = new TestClient(app);
  assertEquals((await client.request("OPTIONS", "/x")).status, 204);
  assertEquals((await client.request("OPTIONS", "/nothing")).status, 204);
  assert((await client.get("/x")).ok);
});
