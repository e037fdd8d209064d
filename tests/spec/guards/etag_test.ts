// Section 3 of the contract of guards: etag().

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { App, file, html, SSE, text } from "@webfw/core";
import { etag, secureHeaders } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";
import { Serving } from "../support/serving.ts";

function tagged(): App {
  const app = new App();
  app.middleware(etag());
  return app;
}

const asking = (tags: string) => ({ headers: { "if-none-match": tags } });

Deno.test("etag: JSON, text() and html() have a strong tag of their content, and their body", async () => {
  const app = tagged();
  app.get("/json", async () => ({ title: "Emma" }));
  app.get("/text", async () => text("Emma"));
  app.get("/html", async () => html("<p>Emma", { headers: { "x-mark": "1" } }));
  await using client = new TestClient(app);
  for (const [path, body] of [["/json", '{"title":"Emma"}'], ["/text", "Emma"], ["/html", "<p>Emma"]] as const) {
    const reply = await client.get(path);
    const tag = reply.headers.get("etag")!;
    assertMatch(tag, /^"[^"]+"$/);
    assertEquals(await reply.text(), body);
    const again = await client.get(path, asking(tag));
    assertEquals([again.status, await again.text(), again.headers.get("etag")], [304, "", tag]);
    assertEquals(again.headers.get("content-type"), null);
    assertEquals(again.headers.get("x-mark"), reply.headers.get("x-mark"));
  }
});

Deno.test("etag: another content has another tag", async () => {
  const app = tagged();
  let count = 0;
  app.get("/", async () => count++);
  await using client = new TestClient(app);
  const first = (await client.get("/")).headers.get("etag")!;
  const second = await client.get("/", asking(first));
  assertEquals(second.status, 200);
  assertNotEquals(second.headers.get("etag"), first);
});

Deno.test("etag: If-None-Match takes lists, * and weak tags", async () => {
  const app = tagged();
  app.get("/", async () => "Emma");
  await using client = new TestClient(app);
  const tag = (await client.get("/")).headers.get("etag")!;
  for (const tags of [`"other", ${tag}`, "*", `W/${tag}`, `W/"other",W/${tag}`]) {
    assertEquals((await client.get("/", asking(tags))).status, 304, tags);
  }
  for (const tags of ['"other"', "", `${tag.slice(0, -1)}`]) {
    assertEquals((await client.get("/", asking(tags))).status, 200, tags);
  }
});

Deno.test("etag: a long header of spaces costs no time that grows faster than it", async () => {
  const app = tagged();
  app.get("/", async () => "Emma");
  await using client = new TestClient(app);
  assertEquals((await client.get("/", asking(`"a"${" ".repeat(200_000)}x`))).status, 200);
});

Deno.test("etag: If-Match of another version is 412", async () => {
  const app = tagged();
  app.get("/", async () => "Emma");
  await using client = new TestClient(app);
  assertEquals((await client.get("/", { headers: { "if-match": '"other"' } }).problem()).status, 412);
});

Deno.test("etag: GET and HEAD with status 200 only", async () => {
  const app = tagged();
  app.get("/", async () => "Emma");
  app.post("/", async () => "Emma");
  app.get("/accepted", { status: 202 }, async () => "Emma");
  app.get("/void", async () => {});
  app.route("/own", { methods: ["HEAD"] }, async () => text(""));
  await using client = new TestClient(app);
  const tag = (await client.get("/")).headers.get("etag")!;
  const head = await client.head("/");
  assertEquals([head.status, head.headers.get("etag")], [200, tag]);
  assertEquals((await client.head("/", asking(tag))).status, 304);
  for (
    const reply of [
      client.post("/", asking("*")),
      client.get("/accepted"),
      client.get("/void"),
      client.get("/missing"),
      client.head("/own"),
    ]
  ) {
    assertEquals((await reply).headers.get("etag"), null);
  }
});

Deno.test("etag: streams, events and a program's own Response are untouched", async () => {
  const app = tagged();
  app.get("/lines", async function* () {
    yield 1;
  });
  app.get("/events", async () =>
    SSE((async function* () {
      yield { data: 1 };
    })()));
  app.get("/bytes", async () => new Blob(["a"]).stream());
  app.get("/response", async () => new Response("own"));
  await using client = new TestClient(app);
  for (const path of ["/lines", "/events", "/bytes", "/response"]) {
    const reply = await client.get(path, asking("*"));
    assertEquals([reply.status, reply.headers.get("etag")], [200, null], path);
  }
});

Deno.test("etag: files keep the tag that they have", async () => {
  const app = tagged();
  app.get("/file", async () => await file(new URL(import.meta.url)));
  app.get("/blob", async () => new Blob(["Emma"]));
  await using client = new TestClient(app);
  const plain = new App();
  plain.get("/file", async () => await file(new URL(import.meta.url)));
  plain.get("/blob", async () => new Blob(["Emma"]));
  await using without = new TestClient(plain);
  for (const path of ["/file", "/blob", "/openapi.json"]) {
    const tag = (await client.get(path)).headers.get("etag");
    assert(tag !== null);
    if (path !== "/openapi.json") assertEquals((await without.get(path)).headers.get("etag"), tag);
  }
});

Deno.test("etag: a tag that is set is kept, and answers conditions", async () => {
  const app = tagged();
  app.get("/", async (request) => {
    request.replyHeaders.set("etag", '"v1"');
    return "Emma";
  });
  await using client = new TestClient(app);
  assertEquals((await client.get("/")).headers.get("etag"), '"v1"');
  assertEquals((await client.get("/", asking('"v1"'))).status, 304);
});

Deno.test("etag: a reply beyond 1 MiB, and one with no-store, has none", async () => {
  const app = tagged();
  app.get("/large", async () => "x".repeat(1024 * 1024));
  app.get("/secret", async (request) => {
    request.replyHeaders.set("cache-control", "private, no-store");
    return "Emma";
  });
  await using client = new TestClient(app);
  const large = await client.get("/large");
  assertEquals([large.headers.get("etag"), (await large.text()).length], [null, 1024 * 1024 + 2]);
  assertEquals((await client.get("/secret")).headers.get("etag"), null);
});

Deno.test("etag: a 304 keeps the right headers, in either order with secureHeaders", async () => {
  for (const order of [[etag(), secureHeaders()], [secureHeaders(), etag()]]) {
    const app = new App();
    for (const middleware of order) app.middleware(middleware);
    app.get("/", async (request) => {
      request.replyHeaders.set("cache-control", "no-cache");
      request.replyHeaders.set("vary", "accept-language");
      request.replyHeaders.append("set-cookie", "a=1");
      request.replyHeaders.append("set-cookie", "b=2");
      return "Emma";
    });
    await using client = new TestClient(app);
    const tag = (await client.get("/")).headers.get("etag")!;
    const { status, headers } = await client.get("/", asking(tag));
    assertEquals(status, 304);
    assertEquals(headers.get("cache-control"), "no-cache");
    assertEquals(headers.get("vary"), "accept-language");
    assertEquals(headers.getSetCookie(), ["a=1", "b=2"]);
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    assertEquals(headers.get("content-type"), null);
  }
});

Deno.test("etag: tasks after the reply run, and a middleware's change of the body counts", async () => {
  const app = tagged();
  const ran = Promise.withResolvers<void>();
  app.get("/", async (request) => {
    request.after(ran.resolve);
    return "Emma";
  });
  await using client = new TestClient(app);
  const response = await app.fetch(new Request("http://localhost/"));
  await ran.promise;
  assertEquals(await response.text(), '"Emma"');
  assertEquals((await client.get("/")).status, 200);
});

Deno.test("etag: over a socket, a compressed reply is not sent again either", async () => {
  const app = tagged();
  app.get("/", async () => "Emma ".repeat(1000));
  await using server = await Serving.start(app);
  const first = await fetch(server.origin, { headers: { "accept-encoding": "gzip" } });
  const tag = first.headers.get("etag")!;
  await first.body?.cancel();
  const second = await fetch(server.origin, { headers: { "accept-encoding": "gzip", "if-none-match": tag } });
  assertEquals([second.status, await second.text()], [304, ""]);
});
