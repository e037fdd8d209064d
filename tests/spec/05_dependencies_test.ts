// Section 5 of the contract: dependencies.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

/** A dependency that notes when it opens and closes. */
function noting(notes: string[], name: string, deps: Record<string, Untyped> = {}) {
  return dependency({ deps }, async function* () {
    notes.push(`${name} opens`);
    try {
      yield name;
    } finally {
      await Promise.resolve();
      notes.push(`${name} closes`);
    }
  });
}

async function ask(app: App, path = "/", init: RequestInit = {}): Promise<Response> {
  const client = new TestClient(app);
  const { method = "GET", ...rest } = init;
  const response = await client.request(method, path, rest as Untyped);
  await client.close();
  return response;
}

Deno.test("A dependency supplies an argument, and has its own inputs and dependencies", async () => {
  const connection = dependency(async (request) => `to ${request.method}`);
  const user = dependency(
    {
      query: { tenant: v.number() },
      headers: { "x-user": v.string() },
      cookies: { sid: v.optional(v.string(), "none") },
      deps: { connection },
    },
    async (_request, args) => args,
  );
  const app = new App();
  app.get("/", { deps: { user } }, async (_request, { user }) => user);
  await using client = new TestClient(app);
  assertEquals(await client.get("/?tenant=7", { headers: { "x-user": "ada" } }).json<unknown>(), {
    tenant: 7,
    headers: { "x-user": "ada" },
    cookies: { sid: "none" },
    connection: "to GET",
  });
});

Deno.test("A plain async function, and a plain async generator, work too", async () => {
  const notes: string[] = [];
  const app = new App();
  app.get(
    "/",
    {
      deps: {
        one: async (request: { path: string }) => request.path,
        two: async function* () {
          yield 2;
          notes.push("closed");
        },
      },
    },
    async (_request, { one, two }) => [one, two],
  );
  assertEquals(await (await ask(app)).json(), ["/", 2]);
  assertEquals(notes, ["closed"]);
});

Deno.test("A dependency must be async: a sync function throws TypeError when it is declared", () => {
  for (const wrong of [() => 1, function* () {}, class {}, null, "x", {}]) {
    assertThrows(() => dependency(wrong as Untyped), TypeError);
    assertThrows(() => dependency({}, wrong as Untyped), TypeError);
    assertThrows(() => new App().get("/", { deps: { wrong } } as Untyped, async () => {}), TypeError);
  }
});

Deno.test("The client cannot supply a dependency's value", async () => {
  const app = new App();
  app.post("/", { deps: { user: async () => "from the server" } }, async (_request, { user }) => user);
  await using client = new TestClient(app);
  const reply = client.post("/?user=me", { json: { user: "me" }, headers: { user: "me" }, cookies: { user: "me" } });
  assertEquals(await reply.json(), "from the server");
});

Deno.test("The inputs of a dependency are validated with those of the handler, before any dependency runs", async () => {
  let ran = 0;
  const count = dependency(async () => ++ran);
  const paging = dependency({ query: { page: v.number() }, deps: { count } }, async (_request, { page }) => page);
  const app = new App();
  app.get("/{id}", { params: { id: v.number() }, deps: { count, paging } }, async () => ++ran);
  await using client = new TestClient(app);
  const { errors } = await client.get("/x?page=y").problem(422);
  assertEquals(errors.map((issue) => [issue.in, ...issue.path]), [["path", "id"], ["query", "page"]]);
  assertEquals(ran, 0);
});

Deno.test("A dependency is resolved at most once per request, and again for the next request", async () => {
  let made = 0;
  const shared = dependency(async () => ++made);
  const plain = async () => ++made * 100;
  const left = dependency({ deps: { shared, plain } }, async (_request, args) => ({ ...args }));
  const right = dependency({ deps: { again: shared, plain } }, async (_request, args) => ({ ...args }));
  const app = new App();
  app.get("/", { deps: { left, right, shared, plain } }, async (_request, args) => args);
  await using client = new TestClient(app);
  for (let turn = 0; turn < 2; turn++) {
    const { left, right, shared, plain } = await client.get("/").json<Untyped>();
    assertEquals([left.shared, right.again, left.plain, right.plain], [shared, shared, plain, plain]);
    assertEquals(made, (turn + 1) * 2);
  }
});

Deno.test("The only dependency of a route is its argument under each name, whatever its value, with text or a body", async () => {
  let made = 0;
  const pair = async () => ["a", ++made];
  const app = new App();
  app.get("/", { deps: { one: pair, other: pair } }, async (_request, args) => args);
  app.post("/", { body: v.number(), deps: { one: pair, other: pair } }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), { one: ["a", 1], other: ["a", 1] });
  assertEquals(await client.post("/", { json: 7 }).json(), { body: 7, one: ["a", 2], other: ["a", 2] });
});

Deno.test("Independent dependencies are resolved in parallel", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const first = dependency(async () => {
    gates[0].resolve();
    await gates[1].promise;
    return 1;
  });
  const second = dependency(async () => {
    gates[1].resolve();
    await gates[0].promise;
    return 2;
  });
  const app = new App();
  app.get("/", { deps: { first, second } }, async (_request, { first, second }) => [first, second]);
  assertEquals(await (await ask(app)).json(), [1, 2]);
});

Deno.test("A dependency waits for those it needs, and only for those", async () => {
  const slow = Promise.withResolvers<void>();
  const order: string[] = [];
  const base = dependency(async () => {
    await Promise.resolve();
    order.push("base");
    return "base";
  });
  const onBase = dependency({ deps: { base } }, async () => {
    order.push("on base");
    slow.resolve();
  });
  const other = dependency(async () => {
    await slow.promise;
    order.push("other");
  });
  const app = new App();
  app.get("/", { deps: { other, onBase } }, async () => order);
  assertEquals(await (await ask(app)).json(), ["base", "on base", "other"]);
});

Deno.test("Dependencies run after validation and before the handler, inside the middlewares", async () => {
  const order: string[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    order.push("middleware");
    return await next(request);
  });
  const dep = dependency(async () => order.push("dependency"));
  const schema = v.pipe(v.string(), v.check(() => order.push("validation") > 0));
  app.get("/", { query: { q: schema }, deps: { dep } }, async () => order.push("handler"));
  await ask(app, "/?q=1");
  assertEquals(order, ["middleware", "validation", "dependency", "handler"]);
});

Deno.test("Cleanup runs in reverse order, after the handler", async () => {
  const notes: string[] = [];
  const base = noting(notes, "base");
  const middle = noting(notes, "middle", { base });
  const top = noting(notes, "top", { middle, base });
  const app = new App();
  app.get("/", { deps: { top, base } }, async () => notes.push("handler"));
  await ask(app);
  assertEquals(notes, [
    "base opens",
    "middle opens",
    "top opens",
    "handler",
    "top closes",
    "middle closes",
    "base closes",
  ]);
});

Deno.test("Cleanup runs when the handler fails, with an HTTPError or any other error", async () => {
  for (const error of [new HTTPError(409), new Error("x"), "thrown"]) {
    const notes: string[] = [];
    const app = new App();
    app.get("/", { deps: { a: noting(notes, "a") } }, async () => {
      throw error;
    });
    using _log = new CapturedLog();
    await ask(app);
    assertEquals(notes, ["a opens", "a closes"]);
  }
});

Deno.test("Cleanup runs where another dependency fails, and the handler does not", async () => {
  const notes: string[] = [];
  const base = noting(notes, "base");
  const fails = dependency({ deps: { base } }, async () => {
    throw new HTTPError(403, "Not you");
  });
  const slow = dependency(async function* () {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    notes.push("slow opens");
    try {
      yield 1;
    } finally {
      notes.push("slow closes");
    }
  });
  const app = new App();
  app.get("/", { deps: { fails, slow } }, async () => notes.push("handler"));
  const response = await ask(app);
  assertEquals([response.status, (await response.json()).detail], [403, "Not you"]);
  assertEquals(notes.toSorted(), ["base closes", "base opens", "slow closes", "slow opens"]);
});

Deno.test("Cleanup runs where the result does not fit the model, and where a middleware replaces the reply", async () => {
  const notes: string[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    if (request.path !== "/replaced") return response;
    await response.body?.cancel();
    throw new HTTPError(502);
  });
  app.get("/misfit", { deps: { a: noting(notes, "a") }, response: v.number() }, async () => "x" as Untyped);
  app.get("/replaced", { deps: { b: noting(notes, "b") } }, async () => 1);
  using _log = new CapturedLog();
  assertEquals((await ask(app, "/misfit")).status, 500);
  assertEquals((await ask(app, "/replaced")).status, 502);
  assertEquals(notes, ["a opens", "a closes", "b opens", "b closes"]);
});

Deno.test("A cleanup that throws is logged; the others still run", async () => {
  const notes: string[] = [];
  const first = noting(notes, "first");
  const broken = dependency({ deps: { first } }, async function* () {
    yield 1;
    throw new Error("broken cleanup");
  });
  const last = noting(notes, "last", { broken });
  const app = new App();
  app.get("/", { deps: { last } }, async () => 1);
  using log = new CapturedLog();
  assertEquals((await ask(app)).status, 200);
  assertEquals(notes, ["first opens", "last opens", "last closes", "first closes"]);
  assertStringIncludes(log.text, "broken cleanup");
  assertEquals(log.lines.length, 1);
});

Deno.test("Cleanup runs after the last byte of a streamed reply, and when its reader leaves", async () => {
  for (const leaves of [false, true]) {
    const notes: string[] = [];
    const closed = Promise.withResolvers<void>();
    const dep = dependency(async function* () {
      yield 1;
      notes.push("closes");
      closed.resolve();
    });
    const app = new App();
    app.get("/", { deps: { dep } }, async function* () {
      for (let part = 0; part < 3; part++) {
        notes.push(`part ${part}`);
        yield part;
      }
    });
    const response = await app.fetch(new Request("http://localhost/"));
    const reader = response.body!.getReader();
    await reader.read();
    assert(!notes.includes("closes"));
    if (leaves) await reader.cancel();
    else while (!(await reader.read()).done);
    await closed.promise;
    assertEquals(notes.at(-1), "closes");
    assertEquals(notes.filter((note) => note === "closes").length, 1);
  }
});

Deno.test("Cleanup runs after the last byte of a Response that the handler made itself", async () => {
  const notes: string[] = [];
  const closed = Promise.withResolvers<void>();
  const dep = dependency(async function* () {
    yield 1;
    notes.push("closes");
    closed.resolve();
  });
  const app = new App();
  app.get("/", { deps: { dep } }, async () => {
    let part = 0;
    return new Response(
      new ReadableStream({
        pull(controller) {
          notes.push("pull");
          if (++part > 2) controller.close();
          else controller.enqueue(new Uint8Array([65]));
        },
      }),
    );
  });
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals(await response.text(), "AA");
  await closed.promise;
  assertEquals(notes.at(-1), "closes");
});

Deno.test("HEAD resolves dependencies and cleans them up, as GET does", async () => {
  const notes: string[] = [];
  const app = new App();
  app.get("/", { deps: { a: noting(notes, "a") } }, async () => 1);
  assertEquals((await ask(app, "/", { method: "HEAD" })).status, 200);
  assertEquals(notes, ["a opens", "a closes"]);
});

Deno.test("A dependency that ends without a value, or yields twice, is an error", async () => {
  const none = dependency(
    async function* () {
    } as Untyped,
  );
  const twice = dependency(async function* () {
    yield 1;
    yield 2;
  });
  const app = new App();
  app.get("/none", { deps: { none } }, async () => 1);
  app.get("/twice", { deps: { twice } }, async () => 1);
  for (const [path, status] of [["/none", 500], ["/twice", 200]] as const) {
    using log = new CapturedLog();
    assertEquals((await ask(app, path)).status, status);
    assertEquals(log.lines.length, 1);
  }
});

Deno.test("An error that a dependency returns is thrown: the handler does not run", async () => {
  using log = new CapturedLog();
  const app = new App();
  const plain = async () => new HTTPError(403, "Not today");
  const opened = async function* () {
    yield new HTTPError(403, "Not today");
  };
  const user = bearer(async () => new HTTPError(403, "Not today") as unknown as { name: string });
  const broken = async () => new Error("no database");
  const ran: string[] = [];
  for (const [name, value] of Object.entries({ plain, opened, user, broken })) {
    app.get(`/${name}`, { deps: { value, other: async () => 1 } }, async () => ran.push(name));
    app.get(`/only/${name}`, { deps: { value } }, async () => ran.push(name));
  }
  await using client = new TestClient(app, { headers: { authorization: "Bearer a" } });
  for (const path of ["/plain", "/opened", "/user", "/only/plain", "/only/opened", "/only/user"]) {
    assertEquals((await client.get(path).problem(403)).detail, "Not today");
  }
  await client.get("/broken").problem(500);
  assertEquals(ran, []);
  assertStringIncludes(log.text, "no database");
});

Deno.test("Every route that uses a dependency must have its path parameter", async () => {
  const shop = dependency({ params: { shop: v.number() } }, async (_request, { shop }) => shop * 10);
  const app = new App();
  assertThrows(() => app.get("/books", { deps: { shop } }, async () => {}), Error, "shop");
  const router = new Router({ prefix: "/shops/{shop}" });
  router.get("", { deps: { tenfold: shop } }, async (_request, { shop, tenfold }) => [shop, tenfold]);
  app.include(router);
  await using client = new TestClient(app);
  assertEquals(await client.get("/shops/7").json<unknown>(), [7, 70]);
  assertEquals((await client.get("/shops/x").problem(422)).errors[0]!.in, "path");
});

Deno.test("A name under a dependency's query is rebound to a path that contains it", async () => {
  const shop = dependency({ query: { shop: v.number() } }, async (_request, { shop }) => shop * 10);
  const router = new Router();
  router.get("/x", { deps: { tenfold: shop } }, async (_request, { tenfold }) => tenfold);
  const app = new App();
  app.include(router, { prefix: "/shops/{shop}" });
  app.include(router);
  await using client = new TestClient(app);
  assertEquals(await client.get("/shops/7/x?shop=8").json(), 70);
  assertEquals(await client.get("/x?shop=8").json(), 80);
});

Deno.test("An async schema that rejects is a server error, also where a later input is malformed", async () => {
  const app = new App();
  const broken = v.pipeAsync(v.string(), v.checkAsync(async () => await Promise.reject(new Error("no database"))));
  app.get("/", { query: { q: broken }, cookies: { sid: v.string() } }, async () => 1);
  await using client = new TestClient(app);
  using _log = new CapturedLog();
  assertEquals((await client.get("/?q=1", { cookies: { sid: "1" } })).status, 500);
  assert((await client.get("/?q=1", { headers: { cookie: "=x" } })).status >= 400);
  assert((await client.get("/?q=1&q=2", { headers: { cookie: "=x" } })).status >= 400);
});

Deno.test("Nothing of a failing dependency is left unhandled", async () => {
  const late = dependency(async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    throw new HTTPError(409, "late");
  });
  const early = dependency(async () => {
    throw new HTTPError(403, "early");
  });
  const onBoth = dependency({ deps: { late, early } }, async () => 1);
  const app = new App();
  app.get("/", { deps: { onBoth, late, early } }, async () => 1);
  const { status } = await ask(app);
  assert(status === 403 || status === 409);
});
