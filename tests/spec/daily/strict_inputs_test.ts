// "query, headers and cookies take v.strictObject({ … }) as well as entries: a name that is not declared is 422 that
// names it (headers: only among those that begin with x-, since clients and proxies add others)."

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { anySecurity, App, dependency, Router } from "@webfw/core";
import { apiKey, bearer, session, signed } from "@webfw/core/auth";
import { client } from "@webfw/core/client";
import * as v from "valibot";
import { createHmac } from "node:crypto";
import { Serving } from "../support/serving.ts";

const app = new App();
const page = dependency({ query: { page: v.optional(v.number(), 1) } }, async (_request, { page }) => page);
const partner = apiKey(async (key) => key === "k" && "partner", { in: "query", name: "key" });

const search = app.get("/search", {
  query: v.strictObject({ text: v.string(), limit: v.optional(v.number(), 10) }),
  deps: { page },
  response: v.object({ text: v.string(), limit: v.number(), page: v.number() }),
}, async (_request, { text, limit, page }) => ({ text, limit, page }));
app.get(
  "/headers",
  { headers: v.strictObject({ "X-Trace": v.optional(v.string()) }) },
  async (_request, { headers }) => headers["X-Trace"] ?? "none",
);
app.get(
  "/cookies",
  { cookies: v.strictObject({ theme: v.optional(v.string()) }) },
  async (_request, { cookies }) => cookies.theme ?? "none",
);
app.get("/keyed", { query: v.strictObject({}), deps: { partner } }, async () => "ok");
const api = { search };

async function issuesOf(path: string, headers: HeadersInit = {}): Promise<unknown> {
  const response = await app.fetch(new Request(`http://localhost${path}`, { headers }));
  const body = await response.json();
  return response.status === 422 ? body.errors : body;
}

function unknown(source: string, name: string): unknown {
  return { in: source, path: [name], code: "invalid", message: "Unknown name" };
}

Deno.test("Declared names are bound, with those of dependencies and guards", async () => {
  assertEquals(await issuesOf("/search?text=tea&page=2&limit=3"), { text: "tea", limit: 3, page: 2 });
  assertEquals(await issuesOf("/keyed?key=k"), "ok");
  assertEquals(await issuesOf("/search?text=tea&lastEventId=7"), { text: "tea", limit: 10, page: 1 });
});

Deno.test("Each other name of the query is one issue, beside those of wrong values", async () => {
  assertEquals(await issuesOf("/search?text=tea&limt=3&limt=4&%6Cang"), [
    unknown("query", "limt"),
    unknown("query", "lang"),
  ]);
  assertEquals(await issuesOf("/search?limit=x&q=1"), [
    unknown("query", "q"),
    { in: "query", path: ["text"], code: "missing", message: "Missing value", expected: "string" },
    { in: "query", path: ["limit"], code: "invalid", message: "Invalid type: expected number", expected: "number" },
  ]);
  assertEquals(await issuesOf("/keyed?key=k&Key=1"), [unknown("query", "Key")]);
  assertEquals(await issuesOf("/search?text=tea&__proto__=1"), [unknown("query", "__proto__")]);
});

Deno.test("Of headers, only undeclared ones that begin with x- are refused, and those of proxies are not", async () => {
  assertEquals(await issuesOf("/headers", { "x-trace": "1", "accept-language": "en", dnt: "1" }), "1");
  assertEquals(
    await issuesOf("/headers", {
      "x-forwarded-for": "10.0.0.1",
      "x-original-forwarded-for": "10.0.0.1",
      "x-real-ip": "10.0.0.1",
      "x-request-id": "7",
      "x-scheme": "https",
    }),
    "none",
  );
  assertEquals(await issuesOf("/headers", { "x-tarce": "1" }), [unknown("header", "x-tarce")]);
});

Deno.test("Cookies are refused by name", async () => {
  assertEquals(await issuesOf("/cookies", { cookie: "theme=dark" }), "dark");
  assertEquals(await issuesOf("/cookies", { cookie: "theme=dark; other=1" }), [unknown("cookie", "other")]);
});

Deno.test("The cookie of a session counts as declared", async () => {
  const app = new App();
  const visitor = session(v.object({ name: v.string() }), { secret: () => "0123456789abcdef0123456789abcdef" });
  app.post("/in", { deps: { visitor } }, async (_request, { visitor }) => visitor.set({ name: "Ada" }));
  app.get("/", { deps: { visitor }, cookies: v.strictObject({}) }, async (_request, { visitor }) => visitor.data?.name);
  const signedIn = await app.fetch(new Request("http://localhost/in", { method: "POST" }));
  const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
  const response = await app.fetch(new Request("http://localhost/", { headers: { cookie } }));
  assertEquals([response.status, await response.json()], [200, "Ada"]);
});

Deno.test("What an alternative of anySecurity() reads counts as declared", async () => {
  const app = new App();
  const user = bearer(async (token) => token);
  const member = dependency(
    { deps: { user }, query: { team: v.string() }, headers: { "x-role": v.string() } },
    async (_request, { user, team, headers }) => [user, team, headers["x-role"]],
  );
  const key = apiKey(async (key) => [key], { in: "header", name: "x-key" });
  const options = { query: v.strictObject({}), headers: v.strictObject({}), deps: { who: anySecurity(member, key) } };
  app.get("/", options, async (_request, { who }) => who);
  const get = async (query: string, headers: HeadersInit) => {
    const response = await app.fetch(new Request(`http://localhost/${query}`, { headers }));
    return [response.status, await response.json()];
  };
  const headers = { authorization: "Bearer ada", "x-role": "author" };
  assertEquals(await get("?team=a", headers), [200, ["ada", "a", "author"]]);
  assertEquals(await get("", { "x-key": "k" }), [200, ["k"]]);
  assertEquals((await get("?team=a&taem=b", headers))[0], 422);
});

Deno.test("The headers that a signature covers count as declared", async () => {
  const app = new App();
  const scheme = {
    header: "x-signature",
    timestamp: "X-Sent-At",
    id: "x-message-id",
    content: "{id}{timestamp}{body}",
  };
  const sender = signed({ scheme, secret: "s" });
  app.post("/", { deps: { sender }, headers: v.strictObject({}) }, async (_request, { sender }) => sender.id);
  const sentAt = String(Math.floor(Date.now() / 1000));
  const headers = {
    "x-signature": createHmac("sha256", "s").update(`m1${sentAt}`).digest("hex"),
    "x-sent-at": sentAt,
    "x-message-id": "m1",
  };
  const post = (more: Record<string, string>) =>
    app.fetch(new Request("http://localhost/", { method: "POST", headers: { ...headers, ...more } }));
  const response = await post({});
  assertEquals([response.status, await response.json()], [200, "m1"]);
  assertEquals((await post({ "x-other": "1" })).status, 422);
});

Deno.test("A strict dependency makes each route that uses it strict, also by routers", async () => {
  const app = new App();
  const paging = dependency(
    { query: v.strictObject({ page: v.optional(v.number(), 1) }) },
    async (_request, { page }) => page,
  );
  const router = new Router({ prefix: "/books", deps: { paging } });
  router.get("", { query: { text: v.optional(v.string()) } }, async (_request, { paging }) => paging);
  app.include(router);
  const get = async (query: string) => (await app.fetch(new Request(`http://localhost/books${query}`))).status;
  assertEquals(await Promise.all(["?page=2&text=a", "?pages=2", ""].map(get)), [200, 422, 200]);
});

Deno.test("The document, the tool and the client have the entries", async () => {
  const { parameters } = app.openapi().paths["/search"]!.get!;
  assertEquals((parameters as { name: string }[]).map(({ name }) => name), ["text", "limit", "page"]);
  await using serving = await Serving.start(app);
  const call = client<typeof api>(serving.origin);
  assertEquals(await call.get("/search", { text: "tea", page: 4 }), { text: "tea", limit: 10, page: 4 });
  // @ts-expect-error -- the client knows the names
  await call.get("/search", { text: "tea", limt: 4 }).catch(() => {});
});

Deno.test("WebSockets take strict inputs, too", async () => {
  const app = new App();
  app.websocket("/live", { query: v.strictObject({ room: v.string() }) }, async (socket, { room }) => {
    socket.send(room);
  });
  await using serving = await Serving.start(app);
  const response = await fetch(`${serving.origin}/live?room=a&rom=b`, {
    headers: { upgrade: "websocket", connection: "upgrade" },
  }).catch(() => undefined);
  await response?.body?.cancel();
  const socket = new WebSocket(`${serving.origin.replace("http", "ws")}/live?room=a`);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  socket.onmessage = ({ data }) => resolve(data);
  assertEquals(await promise, "a");
  const closed = new Promise((done) => socket.onclose = done);
  socket.close();
  await closed;
});

Deno.test("Other schemas are refused with the cure", () => {
  for (const query of [v.object({ a: v.string() }), v.pipe(v.strictObject({ a: v.string() }), v.check(() => true))]) {
    const error = assertThrows(() => new App().get("/", { query: query as never }, async () => null), TypeError);
    assertStringIncludes(error.message, "give each schema by its name, as in query: { name: schema }");
  }
});
