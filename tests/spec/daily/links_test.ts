// "What a verb returns has `.path(args)`: `getBook.path({ slug: "corner", id: 1 })` is (a handler that returns a link
// to itself writes its return type, as the guide says) `"/shops/corner/books/1"`, typed, percent-encoded;
// `request.link(getBook, args)` puts the prefixes of include and `basePath` in front, and is absolute with
// `{ absolute: true }`."

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, hidden, type HttpRequest, Router, SSE } from "@webfw/core";
import { client } from "@webfw/core/client";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { Serving } from "../support/serving.ts";

const Id = v.pipe(v.number(), v.integer());

function booksRouter() {
  const books = new Router({ prefix: "/shops/{slug}" });
  const getBook = books.get("/books/{id}", { params: { id: Id } }, async (_request, args) => args);
  return { books, getBook };
}

/** A handler that returns a link, or the error. */
function replyWith(make: (request: HttpRequest) => string): (request: HttpRequest) => Promise<string> {
  return async (request) => {
    try {
      return make(request);
    } catch (error) {
      return `${error}`;
    }
  };
}

async function inHandler(app: App, path: string, make: (request: HttpRequest) => string): Promise<string> {
  app.get(path, replyWith(make));
  await using client = new TestClient(app);
  return await client.get(path).json();
}

Deno.test("path() is the path of a route with its values, as the server reads them", async () => {
  const { getBook } = booksRouter();
  assertEquals(getBook.path({ slug: "corner", id: 1 }), "/shops/corner/books/1");

  const app = new App();
  const day = v.pipe(v.string(), v.toDate());
  const query = {
    tags: v.optional(v.array(v.string())),
    since: v.optional(v.unknown()),
    day: v.optional(day),
    isNew: v.optional(v.boolean()),
    big: v.optional(v.bigint()),
    none: v.optional(v.nullable(v.number())),
  };
  const list = app.get("/b ü%25:x/{name}/{path...}", { query }, async (_request, args) => args);
  const path = list.path({
    name: "a/b?c#d%2F é",
    path: "x/ä/../y".replace("../", ""),
    tags: ["a&b", "c=d", ""],
    since: new Date(0),
    day: "2026-03-07",
    isNew: false,
    big: 2n ** 63n,
    none: null,
  });
  assertEquals(
    path,
    "/b%20%C3%BC%25:x/a%2Fb%3Fc%23d%252F%20%C3%A9/x/%C3%A4/y?tags=a%26b&tags=c%3Dd&tags=&since=1970-01-01T00%3A00%3A00.000Z" +
      "&day=2026-03-07&isNew=false&big=9223372036854775808&none=null",
  );
  await using server = await Serving.start(app);
  assertEquals(await (await fetch(server.origin + path)).json(), {
    name: "a/b?c#d%2F é",
    path: "x/ä/y",
    tags: ["a&b", "c=d", ""],
    since: "1970-01-01T00:00:00.000Z",
    day: "2026-03-07T00:00:00.000Z",
    isNew: false,
    big: "9223372036854775808",
    none: null,
  });
});

Deno.test("a value that is missing, or would change the path, is an error that names it", () => {
  const app = new App();
  const getFile = app.get("/files/{path...}", { query: { at: v.optional(v.unknown()) } }, async () => {});
  for (const path of ["", ".", "..", "a/../b", "a/.", "./a"]) {
    const error = assertThrows(() => getFile.path({ path }), TypeError);
    assertEquals(
      error.message,
      `Cannot link to GET /files/{path...}: "path" is "${path}", which would change the path`,
    );
  }
  assertEquals(getFile.path({ path: "a..b/.c/..." }), "/files/a..b/.c/...");
  // @ts-expect-error The path has a parameter.
  assertThrows(() => getFile.path(), TypeError, 'Cannot link to GET /files/{path...}: "path" is missing');
  // @ts-expect-error The parameter is not the path's.
  assertThrows(() => getFile.path({ pth: "a" }), TypeError, '"path" is missing');
  assertThrows(() => getFile.path({ path: "\ud800" }), TypeError, '"path" is not well-formed Unicode');
  const invalid = { path: "a", at: new Date(NaN) };
  assertThrows(() => getFile.path(invalid), TypeError, 'Cannot link to GET /files/{path...}: "at" is an invalid date');
  const named = app.get("/{constructor}", async () => {});
  assertThrows(() => named.path({} as { constructor: string }), TypeError, '"constructor" is missing');
  assertEquals(named.path({ constructor: "a" }), "/a");
  // @ts-expect-error An object has no text.
  assertThrows(() => getFile.path({ path: {} }), TypeError, '"path" is an object');
});

Deno.test("a link never leads to another host", async () => {
  const app = new App();
  const page = app.get("/{path...}", async (_request, { path }) => path);
  const path = page.path({ path: "/evil.example/x" });
  assertEquals(path, "/.//evil.example/x");
  assertEquals(new URL(path, "https://shop.example").host, "shop.example");
  await using client = new TestClient(app);
  assertEquals(await client.get(path).json(), "/evil.example/x");
});

Deno.test("a row can be given: what is no parameter of the route is not in the link", () => {
  const { getBook } = booksRouter();
  const row = { id: 1, slug: "corner", secret: "x" };
  assertEquals(getBook.path(row), "/shops/corner/books/1");
  const app = new App();
  const home = app.get("/", { query: { trace: hidden(v.optional(v.boolean())) } }, async () => {});
  assertEquals([home.path(), home.path({})], ["/", "/"]);
  // @ts-expect-error The parameter is hidden, and this route has no other.
  home.path({ trace: true });
  // @ts-expect-error Options are no values.
  home.path({ absolute: true });
});

Deno.test("inputs of dependencies are values of the link, with their types", () => {
  const board = dependency(
    { params: { boardId: Id }, query: { after: v.optional(v.pipe(v.string(), v.isoDate(), v.toDate())) } },
    async (_request, { boardId }) => boardId,
  );
  const router = new Router({ prefix: "/boards/{boardId}", deps: { board } });
  const cards = router.get("/cards", { query: v.strictObject({ q: v.string() }) }, async () => []);
  assertEquals(
    cards.path({ boardId: 7, q: "a b", after: "2026-03-07" }),
    "/boards/7/cards?q=a+b&after=2026-03-07",
  );
  assertEquals(cards.path({ boardId: 7 }), "/boards/7/cards");
  // @ts-expect-error It is a number.
  cards.path({ boardId: "7" });
});

Deno.test("a link has the base path and the prefixes of the includes", async () => {
  const { books, getBook } = booksRouter();
  const outer = new Router({ prefix: "/outer" });
  outer.include(books, { prefix: "/inner" });
  const app = new App({ basePath: "/base" });
  app.include(outer, { prefix: "/v1" });
  const at = await inHandler(app, "/", (request) => request.link(getBook, { slug: "a b", id: 1 }));
  assertEquals(at, "/base/v1/outer/inner/shops/a%20b/books/1");
});

Deno.test("of several includes, the one counts that the request came by, also for the other routers there", async () => {
  const { books, getBook } = booksRouter();
  const app = new App();
  for (const prefix of ["/v1", "/v2", "/v1/old"]) app.include(books, { prefix });
  const link = (request: HttpRequest) => request.link(getBook, { slug: "a", id: 1 });
  const at: Record<string, string> = {};
  for (const path of ["/v1/authors", "/v2/authors", "/v1/old/x", "/v10"]) {
    app.get(path, replyWith(link));
  }
  await using client = new TestClient(app);
  for (const path of ["/v1/authors", "/v2/authors", "/v1/old/x", "/v10"]) at[path] = await client.get(path).json();
  assertEquals(at, {
    "/v1/authors": "/v1/shops/a/books/1",
    "/v2/authors": "/v2/shops/a/books/1",
    "/v1/old/x": "/v1/old/shops/a/books/1",
    "/v10":
      'TypeError: Cannot link to GET /shops/{slug}/books/{id}: it is served at "/v1/shops/{slug}/books/{id}" and ' +
      '"/v2/shops/{slug}/books/{id}" and "/v1/old/shops/{slug}/books/{id}", and the request came by none of these ' +
      'prefixes, write request.basePath + "/v1" + its path(…)',
  });
});

Deno.test("what an include has without a prefix is the place for requests of no other include", async () => {
  const { books, getBook } = booksRouter();
  const app = new App();
  app.include(books, { prefix: "/v2" });
  app.include(books);
  assertEquals(
    await inHandler(app, "/x", (request) => request.link(getBook, { slug: "a", id: 1 })),
    "/shops/a/books/1",
  );
});

Deno.test("names of an include's prefix have the value of the request, or the one that is given", async () => {
  const app = new App();
  const router = new Router();
  const home = router.get("/home", { query: { at: v.optional(v.nullable(v.number())) } }, async () => {});
  const page = router.get("/page", { query: { tenant: v.optional(v.string()) } }, async (request) => [
    request.link(home),
    request.link(home, { at: null }, { absolute: true }),
    page2(request),
  ]);
  const page2 = (request: HttpRequest): string => request.link(page, { tenant: "c/d" });
  app.include(router, { prefix: "/{tenant}/x" });
  app.get("/other", replyWith((request) => request.link(home)));
  app.get("/{tenant}/y", async (request) => request.link(home));
  await using client = new TestClient(app);
  assertEquals(await client.get("/a%20b/x/page").json(), [
    "/a%20b/x/home",
    "http://localhost/a%20b/x/home?at=null",
    "/c%2Fd/x/page",
  ]);
  assertEquals(await client.get("/a/y").json(), "/a/x/home");
  assertStringIncludes(
    await client.get("/other").json<string>(),
    'Cannot link to GET /home: the request is not below "/{tenant}/x" and has no "tenant", write request.basePath + ' +
      "the prefix + its path(…)",
  );
});

Deno.test("absolute links have the scheme and the host of the client, those of WebSockets ws or wss", async () => {
  const { books, getBook } = booksRouter();
  const chat = books.websocket("/chat", async (socket) => {
    await socket.send(socket.request.link(chat, { slug: "a" }, { absolute: true }));
  });
  const app = new App({ trustProxy: { hops: 1 }, hosts: ["shop.example"] });
  app.include(books, { prefix: "/v1" });
  app.get("/links", async (request) => [
    request.link(getBook, { slug: "a", id: 1 }, { absolute: true }),
    request.link(chat, { slug: "a" }, { absolute: true }),
    request.link(chat, { slug: "a" }),
  ]);
  const proxied = {
    "x-forwarded-for": "203.0.113.7",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "shop.example:8443",
    "x-forwarded-prefix": "/shop",
  };
  await using server = await Serving.start(app);
  const links = await (await fetch(`${server.origin}/links`, { headers: proxied })).json();
  assertEquals(links, [
    "https://shop.example:8443/shop/v1/shops/a/books/1",
    "wss://shop.example:8443/shop/v1/shops/a/chat",
    "/shop/v1/shops/a/chat",
  ]);
  const url = `${server.origin.replace("http", "ws")}/v1/shops/a/chat`;
  const socket = new WebSocket(url, { headers: proxied });
  const closed = new Promise((resolve) => socket.onclose = resolve);
  const sent = await new Promise((resolve) => socket.onmessage = ({ data }) => resolve(data));
  assertEquals(sent, "wss://shop.example:8443/shop/v1/shops/a/chat");
  await closed;
});

Deno.test("links of a mounted application have the prefix of the mount, and links lead in and out", async () => {
  const { books, getBook } = booksRouter();
  const inner = new App();
  inner.include(books, { prefix: "/v1" });
  const outer = new App({ basePath: "/base" });
  const home = outer.get("/home", async (request) => request.link(getBook, { slug: "a", id: 1 }));
  inner.get("/", async (request) => [request.link(getBook, { slug: "a", id: 1 }), request.link(home)]);
  outer.mount("/shop", inner);
  const alone = new App({ basePath: "/own" });
  const about = alone.get("/about", async (request) => request.link(getBook, { slug: "a", id: 1 }));
  outer.mount("/alone", alone);
  outer.get("/about", async (request) => request.link(about));
  const whole = new App();
  const page = whole.get("/whole/page", async (request) => request.link(page2));
  const page2: { path(): string } = page;
  outer.mount("/whole", whole, { strip: false });
  await using client = new TestClient(outer);
  const inBook = "/base/shop/v1/shops/a/books/1";
  assertEquals(await client.get("/shop/").json(), [inBook, "/base/home"]);
  assertEquals(await client.get("/home").json(), inBook);
  assertEquals(await client.get("/about").json(), "/own/about");
  assertEquals(await client.get("/alone/about").json(), inBook);
  assertEquals(await client.get("/whole/page").json(), "/base/whole/page");
});

Deno.test("the prefix of a mount has its value for the mounted application, whatever it is", async () => {
  const { books, getBook } = booksRouter();
  books.get("", async (request) => request.link(getBook, { slug: request.params.slug!, id: 1 }));
  const inner = new App();
  inner.include(books);
  const outer = new App();
  outer.mount("/{tenant}", inner);
  outer.mount("/fixed/x", inner);
  await using client = new TestClient(outer);
  assertEquals(await client.get("/a%20b/shops/s").json(), "/a%20b/shops/s/books/1");
  assertEquals(await client.get("/fixed/x/shops/s").json(), "/fixed/x/shops/s/books/1");
});

Deno.test("links work where dependencies are replaced, after the reply, in events and in tools", async () => {
  const { books, getBook } = booksRouter();
  const user = dependency(async () => "nobody");
  const app = new App({ basePath: "/base" });
  app.include(books, { prefix: "/v1" });
  const link = (request: HttpRequest) => request.link(getBook, { slug: "a", id: 1 }, { absolute: true });
  const after = Promise.withResolvers<string>();
  app.get("/after", { deps: { user } }, async (request) => {
    request.after(() => after.resolve(link(request)));
    return link(request);
  });
  app.get("/events", async (request) =>
    SSE(async function* () {
      yield link(request);
    }()));
  app.get("/tool", { tool: { name: "link" } }, async (request) => link(request));
  await using client = new TestClient(app, { override: [[user, async () => "a test"]] });
  const expected = "http://localhost/base/v1/shops/a/books/1";
  assertEquals(await client.get("/after").json(), expected);
  assertEquals(await after.promise, expected);
  await using events = client.events<string>("/events");
  assertEquals((await events.take(1)).map(({ data }) => data), [expected]);
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "link", arguments: {} } };
  const { result } = await client.post("/mcp", {
    json: call,
    headers: { accept: "application/json, text/event-stream" },
  }).json<{ result: { structuredContent: unknown } }>();
  assertEquals(result.structuredContent, { result: expected });
});

Deno.test("a link to what is not served, or is no reference, is an error with the cure", async () => {
  const { getBook } = booksRouter();
  const link = (request: HttpRequest) => request.link(getBook, { slug: "a", id: 1 });
  assertEquals(
    await inHandler(new App(), "/", link),
    "TypeError: Cannot link to GET /shops/{slug}/books/{id}: the application does not serve it, include its router",
  );
  const inner = new App();
  inner.get("/", replyWith(link));
  const outer = new App();
  outer.mount("/inner", inner);
  await using client = new TestClient(outer);
  assertStringIncludes(await client.get("/inner/").json<string>(), "the application does not serve it");
  assertEquals(
    // @ts-expect-error A path is no reference.
    await inHandler(new App(), "/", (request) => request.link("/books")),
    "TypeError: Cannot make a link: the first argument must be what a verb such as app.get() returned",
  );
  const app = new App();
  const home = app.get("/home", async () => {});
  assertStringIncludes(
    // @ts-expect-error The option is misspelt.
    await inHandler(app, "/", (request) => request.link(home, {}, { absolut: true })),
    'Cannot make a link: the option "absolut" is unknown, the nearest is "absolute"',
  );
});

Deno.test("a handler that returns a link to itself has a return type", async () => {
  const app = new App();
  const query = { page: v.optional(Id, 1) };
  const list = app.get("/books", { query }, async (request, { page }): Promise<{ next: string }> => {
    return { next: request.link(list, { page: page + 1 }) };
  });
  const made = app.post("/books", { status: 201 }, async (request) => {
    request.replyHeaders.set("location", made.path());
    return request.method;
  });
  const route = app.route("/both", { methods: ["PUT", "PATCH"] }, async () => {});
  assertEquals(route.path(), "/both");
  await using server = await Serving.start(app);
  const shop = client<{ list: typeof list }>(server.origin);
  assertEquals(await shop.get("/books", { page: 2 }), { next: "/books?page=3" });
});
