// Section 2 of the contract of the client: what calls send, and what they give.

import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { App, Form, HTTPError, Router, Stream, UploadFile } from "@webfw/core";
import { client, ProblemError } from "@webfw/core/client";
import * as v from "valibot";
import { Serving } from "../support/serving.ts";
import { countListeners } from "./support/listeners.ts";

const Id = v.pipe(v.number(), v.integer());

/** Two routes of a router, as a module exports them. */
function shops(prefix = "") {
  const books = new Router({ prefix: "/shops/{slug}" });
  const Book = v.object({ id: Id, title: v.string(), added: v.date() });
  const getBook = books.get("/books/{id}", { params: { id: Id }, response: Book }, async (_request, { slug, id }) => {
    if (id > 9) throw new HTTPError(404, "No such book");
    return { id, title: `Book of ${slug}`, added: new Date(0) };
  });
  const addBook = books.post(
    "/books",
    { body: v.object({ title: v.string(), added: v.unknown(), pages: v.bigint() }), status: 201 },
    async (_request, { slug, body }) => ({ slug, ...body }),
  );
  const dropBook = books.delete("/books/{id}", { params: { id: Id } }, async () => {});
  const app = new App();
  app.include(books, { prefix });
  return { app, api: { getBook, addBook, dropBook } };
}

Deno.test("calls: a module's routes are called by their paths, and give the result's JSON form", async () => {
  const { app, api } = shops();
  await using serving = await Serving.start(app);
  const shop = client<typeof api>(serving.origin);
  const book = await shop.get("/shops/{slug}/books/{id}", { slug: "corner", id: 1 });
  assertEquals(book, { id: 1, title: "Book of corner", added: "1970-01-01T00:00:00.000Z" });
  const added = await shop.post("/shops/{slug}/books", {
    slug: "corner",
    body: { title: "Emma", added: new Date(0), pages: 12n },
  });
  assertEquals(added, { slug: "corner", title: "Emma", added: "1970-01-01T00:00:00.000Z", pages: "12" });
});

Deno.test("calls: `undefined` for 204, `unknown` without a model", async () => {
  const { app, api } = shops();
  const pong = app.get("/ping", async () => ({ pong: true }));
  const empty = app.put("/empty", { status: 202 }, async () => {});
  const nothing = app.patch("/nothing", async () => null);
  const shop = client<typeof api & { pong: typeof pong; empty: typeof empty; nothing: typeof nothing }>(
    "http://localhost",
    { fetch: app.fetch },
  );
  assertEquals(await shop.delete("/shops/{slug}/books/{id}", { slug: "corner", id: 1 }), undefined);
  assertEquals(await shop.get("/ping"), { pong: true });
  assertEquals(await shop.put("/empty"), undefined);
  assertEquals(await shop.patch("/nothing"), null);
});

Deno.test("calls: where a router is included with a prefix, the prefix is part of the base address", async () => {
  const { app, api } = shops("/v1");
  await using serving = await Serving.start(app);
  for (const base of [`${serving.origin}/v1`, `${serving.origin}/v1/`, new URL("/v1", serving.origin)]) {
    const shop = client<typeof api>(base);
    assertEquals((await shop.get("/shops/{slug}/books/{id}", { slug: "a", id: 2 })).id, 2);
  }
});

Deno.test("calls: a base that is no address of a server is refused, with what it must be", () => {
  for (const base of ["shop.example", "ftp://shop.example", "https://shop.example?a=1", "//shop.example", "/v1", ""]) {
    assertThrows(() => client(base), TypeError, "Cannot make a client");
  }
});

Deno.test("calls: in a page the base may be a path of its own origin, and no argument names another host", async () => {
  const app = new App();
  const read = app.get("/{path...}", async (_request, { path }) => path);
  const addresses: string[] = [];
  const answer = ({ url }: Request) => {
    addresses.push(url);
    return new Response();
  };
  // As in a page.
  const location = { href: "http://shop.test/cart", origin: "http://shop.test" };
  Object.defineProperty(globalThis, "location", { value: location, configurable: true });
  try {
    for (const base of ["", "/", "/v1", "/v1/"]) {
      await client<{ read: typeof read }>(base, { fetch: answer }).get("/{path...}", { path: "/other.test" });
    }
    for (const base of ["/v1?a=1", "v1", "other.test"]) assertThrows(() => client(base), TypeError);
  } finally {
    Reflect.deleteProperty(globalThis, "location");
  }
  const below = (prefix: string) => `http://shop.test${prefix}//other.test`;
  assertEquals(addresses, ["", "", "/v1", "/v1"].map(below));
});

Deno.test("calls: path and query flat", async () => {
  const app = new App();
  const query = {
    text: v.string(),
    on: v.boolean(),
    big: v.bigint(),
    none: v.nullable(v.string()),
    tags: v.optional(v.array(v.string()), []),
    at: v.pipe(v.string(), v.isoTimestamp()),
    left: v.optional(v.number()),
  };
  const search = app.get("/search/{kind}", { query }, async (_request, args) => args);
  const shop = client<{ search: typeof search }>("http://localhost", { fetch: app.fetch });
  const at = new Date(0).toISOString();
  const args = { kind: "a/b c?d#é%", text: "a b&c=d+é", on: false, big: 2n ** 70n, none: null, tags: ["x,y", ""], at };
  assertEquals(await shop.get("/search/{kind}", { ...args, left: undefined }), {
    ...args,
    big: (2n ** 70n).toString(),
  });
});

Deno.test("calls: the rest of a path keeps its slashes", async () => {
  const app = new App();
  const read = app.get("/files/{path...}", async (_request, { path }) => path);
  const shop = client<{ read: typeof read }>("http://localhost", { fetch: app.fetch });
  for (const path of ["a", "a/b c/%2F", "a//b/", "/a", "...", "é?"]) {
    assertEquals(await shop.get("/files/{path...}", { path }), path);
  }
});

Deno.test("calls: an argument that would change the path is refused", async () => {
  const app = new App();
  const read = app.get("/files/{path...}", async (_request, { path }) => path);
  const one = app.get("/files/{name}/info", async (_request, { name }) => name);
  const shop = client<{ read: typeof read; one: typeof one }>("http://localhost", { fetch: app.fetch });
  for (const path of ["", ".", "..", "../secret", "a/../../secret", "a/."]) {
    const error = await assertRejects(() => shop.get("/files/{path...}", { path }), TypeError);
    assertEquals(error.message, `Cannot call /files/{path...}: "path" is "${path}", which would change the path`);
    await assertRejects(() => shop.get("/files/{name}/info", { name: path }), TypeError, "would change the path");
  }
  const untyped = shop.get as (path: string) => Promise<unknown>;
  await assertRejects(
    () => untyped("/files/{name}/info"),
    TypeError,
    'Cannot call /files/{name}/info: "name" is missing',
  );
});

Deno.test("calls: arguments are what the schemas take, a `Date` is one where they take anything", async () => {
  const app = new App();
  const any = v.any();
  const options = { params: { day: any }, query: { days: any }, headers: { "x-day": any }, cookies: { day: any } };
  const put = app.put("/{day}", { ...options, body: any }, async (_request, { day, days, headers, cookies, body }) => {
    return [day, days, headers["x-day"], cookies.day, body];
  });
  const shop = client<{ put: typeof put }>("http://localhost", { fetch: app.fetch });
  const day = new Date(0);
  const args = { day, days: day, headers: { "x-day": day }, cookies: { day }, body: { day } };
  const text = day.toISOString();
  assertEquals(await shop.put("/{day}", args), [text, text, text, text, { day: text }]);
});

Deno.test("calls: an object in the query is refused", async () => {
  const app = new App();
  const search = app.get("/", { query: { q: v.any() } }, async (_request, { q }) => q);
  const shop = client<{ search: typeof search }>("http://localhost", { fetch: app.fetch });
  await assertRejects(() => shop.get("/", { q: { a: 1 } }), TypeError, 'Cannot call /: "q" is an object');
});

Deno.test("calls: arguments `headers` and `cookies`, as the handler gets them", async () => {
  const app = new App();
  const options = {
    headers: { "x-number": Id, "x-list": v.array(v.string()), "x-left": v.optional(v.string()) },
    cookies: { sid: v.string(), count: v.optional(Id) },
  };
  const echo = app.get("/", options, async (_request, { headers, cookies }) => ({ headers, cookies }));
  const shop = client<{ echo: typeof echo }>("http://localhost", { fetch: app.fetch });
  const headers = { "x-number": 7, "x-list": ["a", "b"] };
  const cookies = { sid: "a=b", count: 2 };
  assertEquals(await shop.get("/", { headers: { ...headers, "x-left": undefined }, cookies }), { headers, cookies });
  const sid = "a; admin=1";
  await assertRejects(() => shop.get("/", { headers, cookies: { sid } }), TypeError, 'Cannot send the cookie "sid"');
});

Deno.test("calls: the option `headers`, an object or a function, is for each request", async () => {
  const app = new App();
  const echo = app.get("/", async ({ headers }) => Object.fromEntries(headers));
  let calls = 0;
  const general = () => Promise.resolve({ "x-call": String(++calls), "x-other": "client", "x-none": undefined });
  const shop = client<{ echo: typeof echo }>("http://localhost", { fetch: app.fetch, headers: general });
  assertEquals(await shop.get("/"), { "x-call": "1", "x-other": "client" });
  assertEquals(await shop.get("/", {}, { headers: { "x-other": "call" } }), { "x-call": "2", "x-other": "call" });
  const fixed = client<{ echo: typeof echo }>("http://localhost", {
    fetch: app.fetch,
    headers: { authorization: "a" },
  });
  assertEquals(await fixed.get("/"), { authorization: "a" });
});

Deno.test("calls: `body` of Stream() is sent as it is", async () => {
  const app = new App();
  const put = app.put("/", { body: Stream() }, async (request, { body }) => {
    return [request.headers.get("content-type"), await new Response(body).text()];
  });
  await using serving = await Serving.start(app);
  const shop = client<{ put: typeof put }>(serving.origin);
  assertEquals(await shop.put("/", { body: new Blob(["{}"], { type: "text/csv" }) }), ["text/csv", "{}"]);
  assertEquals(await shop.put("/", { body: new Blob(["a", "b"]).stream() }), [null, "ab"]);
});

Deno.test("calls: `form`, an object with `File`s becomes multipart, else urlencoded", async () => {
  const app = new App();
  const Item = v.object({ name: v.string(), tags: v.array(v.string()), count: v.optional(v.number()) });
  const fields = {
    title: v.string(),
    one: v.array(v.string()),
    items: v.array(Item),
    address: v.object({ city: v.nullable(v.string()) }),
    grid: v.array(v.array(v.number())),
  };
  const plain = app.post("/plain", { form: Form(v.object(fields)) }, async (request, { form }) => {
    return [request.headers.get("content-type"), form];
  });
  const files = v.object({ ...fields, covers: v.array(UploadFile), scan: v.optional(UploadFile) });
  const upload = app.post("/upload", { form: Form(files) }, async (request, { form: { covers, scan, ...form } }) => {
    const texts = await Promise.all(
      [...covers, ...scan ? [scan] : []].map(async (each) => [each.name, await each.text()]),
    );
    return [request.headers.get("content-type")?.split(";")[0], form, texts];
  });
  await using serving = await Serving.start(app);
  // A content type of the client is not that of a form.
  const headers = { "content-type": "application/json" };
  const shop = client<{ plain: typeof plain; upload: typeof upload }>(serving.origin, { headers });
  const form = {
    title: "a&b=é +",
    one: ["x"],
    items: [{ name: "a", tags: ["1"], count: 2 }, { name: "b", tags: ["", "2"] }],
    address: { city: null },
    grid: [[1], [2, 3]],
  };
  assertEquals(await shop.post("/plain", { form }), ["application/x-www-form-urlencoded;charset=UTF-8", form]);
  const covers = [new File(["one"], "1.txt")];
  const sent = { ...form, covers, scan: new File(["two"], "2.txt") };
  const texts = [["1.txt", "one"], ["2.txt", "two"]];
  assertEquals(await shop.post("/upload", { form: sent }), ["multipart/form-data", form, texts]);
});

Deno.test("calls: a form with a name in brackets is refused", async () => {
  const app = new App();
  const post = app.post("/", { form: Form(v.record(v.string(), v.string())) }, async (_request, { form }) => form);
  const shop = client<{ post: typeof post }>("http://localhost", { fetch: app.fetch });
  for (const name of ["a[b]", ""]) {
    await assertRejects(() => shop.post("/", { form: { [name]: "1" } }), TypeError, "Cannot send the form");
  }
});

Deno.test("calls: a reply that is no success throws `ProblemError` with `status`, `problem` and `issues`", async () => {
  const { app, api } = shops();
  await using serving = await Serving.start(app);
  const shop = client<typeof api>(serving.origin);
  const missing = await assertRejects(() => shop.get("/shops/{slug}/books/{id}", { slug: "a", id: 10 }), ProblemError);
  assertEquals(missing.message, 'Cannot call GET /shops/{slug}/books/{id}: 404 "No such book"');
  assertEquals(missing.status, 404);
  assertEquals(missing.problem, { type: "about:blank", title: "Not Found", status: 404, detail: "No such book" });
  assertEquals(missing.issues, []);
  const invalid = await assertRejects(() => shop.get("/shops/{slug}/books/{id}", { slug: "a", id: 1.5 }), ProblemError);
  assertEquals([invalid.status, invalid.issues.map(({ in: part, path }) => [part, ...path])], [422, [["path", "id"]]]);
  assert(invalid.message.includes(", path.id: "), invalid.message);
});

Deno.test("calls: a `ProblemError` of a reply that is no problem is made from the status", async () => {
  const app = new App();
  const get = app.get("/", async () => {});
  const replies = [
    new Response("<p>Bad gateway", {
      status: 502,
      statusText: "Bad Gateway",
      headers: { "content-type": "text/html" },
    }),
    Response.json("gone", { status: 410 }),
    new Response("{", { status: 500, headers: { "content-type": "application/json" } }),
    Response.json({ detail: "x".repeat(70_000) }, { status: 500 }),
    new Response(null, { status: 304 }),
  ];
  const problems: unknown[] = [];
  for (const reply of replies) {
    const shop = client<{ get: typeof get }>("http://localhost", { fetch: () => reply });
    const error = await assertRejects(() => shop.get("/"), ProblemError);
    problems.push([error.status, error.problem.status, error.problem.title, error.problem.detail, error.issues.length]);
  }
  assertEquals(problems, [
    [502, 502, "Bad Gateway", "Bad Gateway", 0],
    [410, 410, "Status 410", "Status 410", 0],
    [500, 500, "Status 500", "Status 500", 0],
    [500, 500, "Status 500", "Status 500", 0],
    [304, 304, "Status 304", "Status 304", 0],
  ]);
});

Deno.test("calls: a `ProblemError` has the headers of the reply, and the members that it does not know", async () => {
  const app = new App();
  const get = app.get("/", async () => {
    throw new HTTPError(429, "Slow down", { headers: { "retry-after": "7" }, extensions: { limit: 3 } });
  });
  const shop = client<{ get: typeof get }>("http://localhost", { fetch: app.fetch });
  const error = await assertRejects(() => shop.get("/"), ProblemError);
  assertEquals([error.headers.get("retry-after"), error.problem.limit], ["7", 3]);
});

Deno.test("calls: a body of 65 KiB of an error reply is not read to its end", async () => {
  const app = new App();
  const get = app.get("/", async () => {});
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(1024)),
    cancel: () => cancelled.resolve(),
  });
  const reply = new Response(body, { status: 500, headers: { "content-type": "application/problem+json" } });
  const shop = client<{ get: typeof get }>("http://localhost", { fetch: () => reply });
  await assertRejects(() => shop.get("/"), ProblemError);
  await cancelled.promise;
});

Deno.test("calls: a network failure throws as `fetch` does", async () => {
  const app = new App();
  const get = app.get("/", async () => {});
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  const shop = client<{ get: typeof get }>(`http://127.0.0.1:${port}`);
  const expected = await fetch(`http://127.0.0.1:${port}/`).catch((error) => error);
  const error = await assertRejects(() => shop.get("/"), TypeError);
  assertEquals(error.message, expected.message);
});

Deno.test("calls: `signal` of the client and of the call end it, with the signal's reason", async () => {
  const app = new App();
  const waiting = Promise.withResolvers<void>();
  const get = app.get("/", async () => await waiting.promise);
  const stop = new AbortController();
  const shop = client<{ get: typeof get }>("http://localhost", { fetch: app.fetch, signal: stop.signal });
  const own = new AbortController();
  const calls = [shop.get("/", {}, { signal: own.signal }), shop.get("/"), shop.get("/")];
  own.abort("own");
  assertEquals(await calls[0]!.catch((reason) => reason), "own");
  stop.abort("client");
  assertEquals(await Promise.all(calls.slice(1).map((call) => call.catch((reason) => reason))), ["client", "client"]);
  assertEquals(await shop.get("/").catch((reason) => reason), "client");
  waiting.resolve();
  await app.stop();
});

Deno.test("calls: twenty calls at once add one listener to a signal, and leave none", async () => {
  const app = new App();
  const waiting = Promise.withResolvers<void>();
  const get = app.get("/", async () => await waiting.promise);
  const stop = new AbortController();
  const listeners = countListeners(stop.signal);
  const shop = client<{ get: typeof get }>("http://localhost", { fetch: app.fetch, signal: stop.signal });
  const calls = Array.from({ length: 20 }, () => shop.get("/", {}, { signal: stop.signal }));
  assertEquals(listeners(), 1);
  waiting.resolve();
  await Promise.all(calls);
  assertEquals(listeners(), 0);
});

Deno.test("calls: `timeout` of the client, or of the call in its place", async () => {
  const app = new App();
  const waiting = Promise.withResolvers<void>();
  const get = app.get("/", async () => await waiting.promise);
  const shopIn = (timeout: number) => client<{ get: typeof get }>("http://localhost", { fetch: app.fetch, timeout });
  const error = await assertRejects(() => shopIn(1).get("/"), DOMException);
  assertEquals([error.name, error.message], ["TimeoutError", "No result within 1 ms"]);
  // Longer than a timer of the platform can be.
  const patient = shopIn(Number.MAX_SAFE_INTEGER);
  await assertRejects(() => patient.get("/", {}, { timeout: 2 }), DOMException, "No result within 2 ms");
  const call = patient.get("/");
  waiting.resolve();
  assertStrictEquals(await call, undefined);
});

Deno.test("calls: an unknown option is refused, and a timeout that is no time", async () => {
  const app = new App();
  const get = app.get("/", async () => {});
  const wrong = { timout: 1 } as object;
  assertThrows(
    () => client("http://localhost", wrong),
    TypeError,
    'Cannot make a client: the option "timout" is unknown, there are signal, timeout, headers, fetch',
  );
  assertThrows(
    () => client("http://localhost", { timeout: 0 }),
    RangeError,
    "timeout must be milliseconds above 0",
  );
  const shop = client<{ get: typeof get }>("http://localhost", { fetch: app.fetch });
  await assertRejects(() => shop.get("/", {}, wrong), TypeError, 'the option "timout" is unknown');
  await assertRejects(() => shop.get("/", {}, { timeout: -1 }), RangeError, "timeout must be");
});
