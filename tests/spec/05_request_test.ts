// Section 5 of the contract: the request as handlers, dependencies and middleware see it.

import { assert, assertEquals, assertInstanceOf, assertStrictEquals } from "@std/assert";
import { App, dependency, HTTPError, HttpRequest, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { Serving } from "./support/serving.ts";

Deno.test("Handlers, dependencies and middleware get the same request, which wraps the platform's", async () => {
  const app = new App();
  const seen: HttpRequest<unknown>[] = [];
  app.middleware(async (request, next) => {
    seen.push(request);
    return await next(request);
  });
  const dep = dependency(async (request) => seen.push(request));
  app.get("/", { deps: { dep } }, async (request) => seen.push(request));
  const raw = new Request("http://localhost/");
  await (await app.fetch(raw)).body?.cancel();
  assertEquals(seen.length, 3);
  for (const request of seen) {
    assertInstanceOf(request, HttpRequest);
    assertStrictEquals(request, seen[0]);
    assertStrictEquals(request.raw, raw);
    assertStrictEquals(request.signal, raw.signal);
    assertStrictEquals(request.headers, raw.headers);
  }
});

Deno.test("A request has its method, url, path, route, params, query, headers and cookies", async () => {
  const app = new App();
  app.put("/books/{id}/{rest...}", { tags: ["t"] }, async function putBook(request) {
    return {
      method: request.method,
      url: request.url.href,
      path: request.path,
      route: [request.route?.method, request.route?.path, request.route?.operationId, request.route?.options],
      params: { ...request.params },
      query: [...request.query],
      header: request.headers.get("x-a"),
      cookies: { ...request.cookies },
    };
  });
  await using client = new TestClient(app);
  const reply = client.put("/books/a%2Fb/c/d%20e?q=1&q=%20&r", {
    headers: { "X-A": "1" },
    cookies: { sid: "s=1", other: "2" },
  });
  assertEquals(await reply.json<unknown>(), {
    method: "PUT",
    url: "http://localhost/books/a%2Fb/c/d%20e?q=1&q=%20&r",
    path: "/books/a%2Fb/c/d%20e",
    route: ["PUT", "/books/{id}/{rest...}", "putBook", { tags: ["t"] }],
    params: { id: "a/b", rest: "c/d e" },
    query: [["q", "1"], ["q", " "], ["r", ""]],
    header: "1",
    cookies: { sid: "s=1", other: "2" },
  });
});

Deno.test("params are text, also where the handler's argument is converted", async () => {
  const app = new App();
  app.get("/{id}", { params: { id: v.number() } }, async ({ params }, { id }) => [params.id, id]);
  await using client = new TestClient(app);
  assertEquals(await client.get("/5.0").json<unknown>(), ["5.0", 5]);
});

Deno.test("route is null if none matches, and the matched one in a middleware", async () => {
  const app = new App();
  const seen: unknown[] = [];
  app.middleware(async (request, next) => {
    seen.push(request.route?.path ?? null);
    return await next(request);
  });
  const router = new Router({ prefix: "/v1" });
  router.get("/{id}", async () => 1);
  app.include(router);
  await using client = new TestClient(app);
  await client.get("/v1/5");
  await client.head("/v1/5");
  await client.get("/nothing");
  await client.post("/v1/5");
  assertEquals(seen, ["/v1/{id}", "/v1/{id}", null, null]);
});

Deno.test("Names that clients choose reach no prototype: in params, query and cookies", async () => {
  const app = new App();
  app.get("/{x}", async ({ cookies, params, query }) => [
    cookies.polluted === undefined && !("toString" in cookies) && !("toString" in params),
    Object.keys(cookies),
    [...query.keys()],
  ]);
  await using client = new TestClient(app);
  const reply = client.get("/x?__proto__=1&__proto__[polluted]=1&constructor.prototype.polluted=1", {
    headers: { cookie: "__proto__=polluted; constructor=c; a=1" },
  });
  const [safe, names] = await reply.json<[boolean, string[], string[]]>();
  assert(safe);
  assert(names.includes("a") && names.includes("constructor"));
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("A Cookie header of any kind is never a server error", async () => {
  const app = new App();
  app.get("/", { cookies: { sid: v.optional(v.string()) } }, async (_request, { cookies }) => cookies.sid ?? null);
  await using client = new TestClient(app);
  const headers = [
    "",
    ";",
    ";;",
    "=",
    "=x",
    "=x; sid=1",
    "sid",
    "sid=",
    "sid=1;",
    "sid=1; =x",
    " sid = 1 ",
    "a b=c",
    "\t",
  ];
  headers.push("sid=%", "sid=%FF", 'sid="', "sid=\xe9", "x".repeat(8_000));
  for (const cookie of headers) {
    const { status } = await client.get("/", { headers: { cookie } });
    assert(status < 500, `${JSON.stringify(cookie)} ${status}`);
  }
  assertEquals(await client.get("/", { headers: { cookie: "a=1; sid=2; b=3" } }).json(), "2");
  assertEquals(await client.get("/", { headers: { cookie: "a=1;sid=x=y;b=3" } }).json(), "x=y");
});

/** Each way to read a body, as the bytes it gives. */
const READERS: Record<string, (request: HttpRequest) => Promise<unknown>> = {
  text: (request) => request.text(),
  bytes: async (request) => new TextDecoder().decode(await request.bytes()),
  json: async (request) => JSON.stringify(await request.json()),
  stream: (request) => new Response(request.stream()).text(),
};

for (const [first, readFirst] of Object.entries(READERS)) {
  for (const [second, readSecond] of Object.entries(READERS)) {
    Deno.test(`A body is readable twice: ${first}(), then ${second}()`, async () => {
      const app = new App();
      app.post("/", async (request) => [await readFirst(request), await readSecond(request), await readFirst(request)]);
      await using client = new TestClient(app);
      const body = '{"a":"é€😀"}';
      assertEquals(await client.post("/", { body }).json<unknown>(), [body, body, body]);
    });
  }
}

Deno.test("A bound body is readable again, and the argument is not shared", async () => {
  const app = new App();
  app.post("/", { body: v.any() }, async (request, { body }) => {
    body.changed = true;
    return [await request.text(), await request.json(), body];
  });
  await using client = new TestClient(app);
  assertEquals(await client.post("/", { json: { a: 1 } }).json<unknown>(), [
    '{"a":1}',
    { a: 1 },
    { a: 1, changed: true },
  ]);
});

Deno.test("bytes() gives the bytes that were sent, whatever was read before", async () => {
  const sent = new Uint8Array([0xef, 0xbb, 0xbf, 0xff, 0x00, 0xc3, 0x28, 0x0d, 0x0a]);
  for (const before of ["none", "text", "bytes", "json"] as const) {
    const app = new App();
    app.post("/", async (request) => {
      if (before !== "none") await request[before]().catch(() => {});
      return [...await request.bytes()];
    });
    await using client = new TestClient(app);
    assertEquals(await client.post("/", { body: sent }).json<unknown>(), [...sent], before);
  }
});

Deno.test("a body that was read through request.raw is the application's mistake, and no fault of the client", async () => {
  const app = new App();
  app.middleware(async (request, next) => {
    await request.raw.text();
    return await next(request);
  });
  app.post("/bound", { body: v.object({ a: v.number() }) }, async () => null);
  app.post("/read", async (request) => await request.text());
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  for (const path of ["/bound", "/read"]) {
    const response = await fetch(serving.origin + path, {
      method: "POST",
      body: '{"a":1}',
      headers: { "content-type": "application/json" },
    });
    await response.body?.cancel();
    assertEquals(response.status, 500, path);
  }
  assertEquals(log.lines.length, 2);
  assert(log.lines.every((line) => line.includes("it was read through request.raw before")), log.text);
});

Deno.test("json() and text() spoil no bytes, over a socket either", async () => {
  const sent = new Uint8Array([0xef, 0xbb, 0xbf, 0xff, 0x00, 0xc3, 0x28, 0x0d, 0x0a]);
  const app = new App();
  app.post("/", async (request) => {
    const before = request.headers.get("before") === "json" ? request.json() : request.text();
    await before.catch(() => {});
    return [...await request.bytes()];
  });
  await using serving = await Serving.start(app);
  for (const before of ["json", "text"]) {
    for (const type of ["application/octet-stream", "application/json"]) {
      const response = await fetch(serving.origin, {
        method: "POST",
        body: sent,
        headers: { before, "content-type": type },
      });
      assertEquals(await response.json(), [...sent], `${before}, ${type}`);
    }
  }
});

Deno.test("formData() reads urlencoded and multipart bodies, also after text()", async () => {
  const app = new App();
  app.post("/", async (request) => {
    if (request.query.has("text")) await request.text();
    const form = await request.formData();
    const again = await request.formData();
    const file = form.get("file");
    return [form.get("a"), form.getAll("b"), again.get("a"), file instanceof File ? [...await file.bytes()] : null];
  });
  await using client = new TestClient(app);
  const binary = new Uint8Array([0xff, 0xfe, 0x00, 0x0a]);
  for (const path of ["/", "/?text"]) {
    const urlencoded = new URLSearchParams([["a", "1 é&"], ["b", "2"], ["b", "3"]]);
    assertEquals(await client.post(path, { body: urlencoded }).json<unknown>(), ["1 é&", ["2", "3"], "1 é&", null]);
    const multipart = new FormData();
    multipart.set("a", "1 é&");
    multipart.append("b", "2");
    multipart.set("file", new File([binary], "x.bin"));
    assertEquals(await client.post(path, { body: multipart }).json<unknown>(), ["1 é&", ["2"], "1 é&", [...binary]]);
  }
});

Deno.test("formData() of another media type is 415, of a malformed form 400", async () => {
  const app = new App();
  app.post("/", async (request) => [...await request.formData()].length);
  await using client = new TestClient(app);
  const send = (type: string, body: string) => client.post("/", { body, headers: { "content-type": type } });
  assertEquals((await send("application/json", "{}")).status, 415);
  assertEquals((await send("text/plain", "a=1")).status, 415);
  assertEquals((await send("multipart/form-data; boundary=x", "nothing of the kind")).status, 400);
  assertEquals((await send("multipart/form-data", "--x\r\n\r\n--x--")).status, 400);
});

Deno.test("A request without a body reads as empty; its JSON is 400", async () => {
  const app = new App();
  app.post("/", async (request) => {
    const streamed = await new Response(request.stream()).text();
    return [await request.text(), (await request.bytes()).length, streamed];
  });
  app.post("/json", async (request) => await request.json());
  await using client = new TestClient(app);
  assertEquals(await client.post("/").json<unknown>(), ["", 0, ""]);
  assertEquals((await client.post("/json")).status, 400);
});

Deno.test("json() of invalid JSON is 400, and not logged", async () => {
  const app = new App();
  app.post("/", async (request) => await request.json());
  await using client = new TestClient(app);
  using log = new CapturedLog();
  assertEquals((await client.post("/", { body: "{" })).status, 400);
  assertEquals(log.text, "");
});

Deno.test("state has the values of the lifespans, frozen and the same for all requests", async () => {
  const app = new App<{ a: object; b: number }>();
  const shared = {};
  app.lifespan(async function* () {
    yield { a: shared };
  });
  app.lifespan(async function* () {
    yield { b: 2 };
  });
  const states: unknown[] = [];
  app.get("/", async ({ state }) => {
    states.push(state);
    assertStrictEquals(state.a, shared);
    const open = state as { a?: object; b: number; c?: number };
    const attempts = [() => open.b = 3, () => open.c = 1, () => delete open.a];
    for (const attempt of attempts) {
      let threw = false;
      try {
        attempt();
      } catch {
        threw = true;
      }
      assert(threw);
    }
    return state.b;
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), 2);
  assertEquals(await client.get("/").json(), 2);
  assertStrictEquals(states[0], states[1]);
});

Deno.test("Without lifespans the state is an empty object", async () => {
  const app = new App();
  app.get("/", async ({ state }) => [state, Object.isFrozen(state)]);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json<unknown>(), [{}, true]);
});

Deno.test("lastEventId is the Last-Event-ID header, else lastEventId of the query, else null", async () => {
  const app = new App();
  app.get("/", async ({ lastEventId }) => lastEventId);
  await using client = new TestClient(app);
  const headers = { "Last-Event-ID": "7" };
  assertEquals(await client.get("/").json(), null);
  assertEquals(await client.get("/?lastEventId=8").json(), "8");
  assertEquals(await client.get("/", { headers }).json(), "7");
  assertEquals(await client.get("/?lastEventId=8", { headers }).json(), "7");
});

Deno.test("remoteAddress is the client's address, and null where the request came by no network", async () => {
  const app = new App();
  app.get("/", async ({ remoteAddress }) => remoteAddress);
  assertEquals(await (await app.fetch(new Request("http://localhost/"))).json(), null);
  await using serving = await Serving.start(app);
  assertEquals(await (await fetch(serving.origin)).json(), "127.0.0.1");
});

Deno.test("replyHeaders are added to the reply of the handler, whatever it returns, and to an error's", async () => {
  const results: Record<string, () => unknown> = {
    json: () => 1,
    nothing: () => undefined,
    response: () => new Response("x", { headers: { "x-a": "own" } }),
    immutable: () => Response.redirect("http://localhost/x"),
    stream: async function* () {
      yield 1;
    },
  };
  const app = new App();
  app.get("/{kind}", async (request, { kind }) => {
    request.replyHeaders.set("x-a", "1");
    request.replyHeaders.append("set-cookie", "a=1");
    request.replyHeaders.append("set-cookie", "b=2");
    const make = results[kind];
    if (!make) throw new HTTPError(404);
    return make();
  });
  await using client = new TestClient(app);
  for (const kind of Object.keys(results)) {
    const { headers } = await client.get(`/${kind}`);
    assertEquals([headers.get("x-a"), headers.getSetCookie()], ["1", ["a=1", "b=2"]], kind);
  }
  const failed = await client.get("/error");
  assertEquals([failed.headers.get("x-a"), failed.headers.getSetCookie()], ["1", ["a=1", "b=2"]]);
});

Deno.test("locals are a request's own", async () => {
  const app = new App();
  let count = 0;
  app.middleware(async (request, next) => {
    request.locals.set("id", ++count);
    return await next(request);
  });
  app.get("/", async ({ locals }) => [...locals.entries()]);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json<unknown>(), [["id", 1]]);
  assertEquals(await client.get("/").json<unknown>(), [["id", 2]]);
});

Deno.test("JSON of a request has its method and path: neither the state nor a header", async () => {
  const app = new App<{ password: string }>();
  app.lifespan(async function* () {
    yield { password: "mellon" };
  });
  app.get("/books", async (request): Promise<unknown> => ({ request }));
  await using client = new TestClient(app, { headers: { authorization: "Bearer f2a9" } });
  assertEquals(await client.get("/books?page=2").json(), { request: { method: "GET", path: "/books" } });
});
