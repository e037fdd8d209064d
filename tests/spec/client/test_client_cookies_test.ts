// "default headers, a cookie jar".

import { assertEquals, assertThrows } from "@std/assert";
import { App, HTTPError } from "@webfw/core";
import { session } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

/** Sets the cookies of the query `set`, and answers with the header `cookie`. */
function echoing(): { fetch(request: Request): Response } {
  return {
    fetch({ url, headers }) {
      const lines = new URL(url).searchParams.getAll("set");
      return Response.json(headers.get("cookie"), { headers: lines.map((line) => ["set-cookie", line]) });
    },
  };
}

/** What a client sends to a path after a reply has set these cookies. */
async function sent(set: string | readonly string[], to = "/", { at = "/", base = "http://localhost" } = {}) {
  await using client = new TestClient(echoing(), { cookies: true, base });
  await client.get(at, { query: { set } });
  return await client.get(to).json();
}

Deno.test("Default headers are sent, and those of a request win", async () => {
  const app = new App();
  app.post(
    "/",
    async ({ headers }) => [headers.get("accept-language"), headers.get("x-a"), headers.get("content-type")],
  );
  await using client = new TestClient(app, { headers: { "Accept-Language": "en", "x-a": "1" } });
  assertEquals(await client.post("/").json(), ["en", "1", null]);
  assertEquals(await client.post("/", { headers: { "X-A": "2" }, json: 1 }).json(), ["en", "2", "application/json"]);
});

Deno.test("The cookie jar keeps the cookies of replies, also of error replies, and sends them", async () => {
  assertEquals(await sent(["a=1", "b=2=3; HttpOnly; SameSite=Strict"]), "a=1; b=2=3");
  assertEquals(await sent(["a=1", "a=2"]), "a=2");
  const app = new App();
  app.get("/", async (request) => {
    request.setCookie({ name: "a", value: "1" });
    throw new HTTPError(400);
  });
  app.get("/sent", async (request) => request.cookies);
  await using client = new TestClient(app, { cookies: true });
  assertEquals((await client.get("/")).status, 400);
  assertEquals(await client.get("/sent").json(), { a: "1" });
});

Deno.test("Without the option no cookie is kept", async () => {
  await using client = new TestClient(echoing());
  await client.get("/", { query: { set: "a=1" } });
  assertEquals(await client.get("/").json(), null);
});

Deno.test("The jar heeds max-age, expires and deletion", async () => {
  assertEquals(await sent("a=1; Max-Age=60"), "a=1");
  assertEquals(await sent("a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT"), "a=1");
  assertEquals(await sent("a=1; Max-Age=0"), null);
  assertEquals(await sent("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"), null);
  assertEquals(await sent("a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"), "a=1");
  assertEquals(await sent(["a=1", "b=2", "a=; Max-Age=-1"]), "b=2");
  assertEquals(await sent(["a=1", "a=; Path=/other; Max-Age=0"]), "a=1");
});

Deno.test("A cookie ends while the client is in use", async () => {
  await using client = new TestClient(echoing(), { cookies: true });
  await client.get("/", { query: { set: "a=1; Max-Age=60" } });
  const { now } = Date;
  try {
    Date.now = () => now() + 60_001;
    assertEquals(await client.get("/").json(), null);
  } finally {
    Date.now = now;
  }
});

Deno.test("The jar heeds paths: by default that of the request without its last segment", async () => {
  assertEquals(await sent("a=1; Path=/shop", "/shop"), "a=1");
  assertEquals(await sent("a=1; Path=/shop", "/shop/cart"), "a=1");
  assertEquals(await sent("a=1; Path=/shop", "/shopping"), null);
  assertEquals(await sent("a=1", "/shop/cart", { at: "/shop/x" }), "a=1");
  assertEquals(await sent("a=1", "/other", { at: "/shop/x" }), null);
  assertEquals(await sent("a=1; Path=none", "/other", { at: "/shop" }), "a=1");
  assertEquals(await sent(["a=root; Path=/", "a=shop; Path=/shop"], "/shop"), "a=shop");
});

Deno.test("Secure cookies go to https and to localhost, as from a browser", async () => {
  assertEquals(await sent("a=1; Secure"), "a=1");
  assertEquals(await sent("a=1; Secure", "/", { base: "https://books.example" }), "a=1");
  assertEquals(await sent("a=1; Secure", "/", { base: "http://127.0.0.1:8000" }), "a=1");
  assertEquals(await sent("a=1; Secure", "/", { base: "http://books.example" }), null);
});

Deno.test("Cookies that break the promise of their prefix are not kept, as by a browser", async () => {
  const base = "https://books.example";
  for (const kept of ["__Host-a=1; Secure; Path=/", "__Secure-a=1; Secure; Path=/; Domain=books.example"]) {
    assertEquals(await sent(kept, "/", { base }), kept.split(";", 1)[0]);
  }
  const broken = ["__Host-a=1; Path=/", "__Host-a=1; Secure", "__host-a=1; Secure; Path=/; Domain=books.example"];
  for (const set of [...broken, "__Host-a=1; Secure; Path=/x", "__Secure-a=1", "__SECURE-a=1"]) {
    assertEquals(await sent(set, "/", { base }), null, set);
  }
});

Deno.test("Cookies of other hosts are not kept", async () => {
  const base = "https://shop.books.example";
  assertEquals(await sent("a=1; Domain=books.example", "/", { base }), "a=1");
  assertEquals(await sent("a=1; Domain=.shop.books.example", "/", { base }), "a=1");
  assertEquals(await sent("a=1; Domain=other.example", "/", { base }), null);
  assertEquals(await sent("a=1; Domain=0.0.1", "/", { base: "http://127.0.0.1" }), null);
});

Deno.test("The cookies of a request come before the kept ones, and a header as it is", async () => {
  await using client = new TestClient(echoing(), { cookies: true });
  await client.get("/", { query: { set: ["a=1", "b=2"] } });
  assertEquals(await client.get("/", { cookies: { b: "3", c: "4" } }).json(), "a=1; b=3; c=4");
  assertEquals(await client.get("/", { headers: { cookie: "d=5" } }).json(), "d=5");
});

Deno.test("A session is carried from sign-in to sign-out", async () => {
  const visit = session(v.object({ id: v.number() }), { secret: "0b72d3c1".repeat(4) });
  const app = new App();
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ id: 7 }));
  app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
  app.get("/me", { deps: { visit: visit.required() } }, async (_request, { visit }) => visit.data.id);
  await using client = new TestClient(app, { cookies: true });
  await using stranger = new TestClient(app, { cookies: true });
  await client.post("/login");
  assertEquals(await client.get("/me").json(), 7);
  assertEquals((await stranger.get("/me")).status, 401);
  await client.post("/logout");
  assertEquals((await client.get("/me")).status, 401);
});

Deno.test("Unknown and wrong options of a client are refused", () => {
  const make = (options: unknown) => () => new TestClient(new App(), options as { base: string });
  assertThrows(make({ cookie: true }), TypeError, 'the option "cookie" is unknown, the nearest is "cookies"');
  assertThrows(make({ base: "localhost" }), TypeError, "Cannot make a test client");
  assertThrows(make({ cookies: "a=1" }), TypeError, 'Cannot make a test client: "cookies" must be true or false');
});
