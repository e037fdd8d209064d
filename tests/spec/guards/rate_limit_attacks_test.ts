// Section 3 of the contract of guards: clients that try to get around rate limits.

import { assert, assertEquals } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import { askFrom, statusesFrom } from "../support/from_address.ts";
import { Serving } from "../support/serving.ts";
import { CapturedLog } from "../support/captured_log.ts";

const HOST = "203.0.113.7";

function limited(limit: number, options: AppOptions = {}): App {
  const app = new App(options);
  app.get("/", { rateLimit: { limit, per: "1h" } }, async () => "fine");
  return app;
}

const forwarded = (address: string) => ({ headers: { "x-forwarded-for": address, forwarded: `for=${address}` } });

Deno.test("A spoofed X-Forwarded-For without trustProxy changes nothing", async () => {
  using _log = new CapturedLog();
  const app = limited(2);
  const statuses: number[] = [];
  for (let part = 1; part <= 4; part++) {
    statuses.push((await askFrom(app, HOST, "/", forwarded(`198.51.100.${part}`))).status);
  }
  assertEquals(statuses, [200, 200, 429, 429]);
});

Deno.test("With trustProxy, what a client adds on the left of X-Forwarded-For changes nothing", async () => {
  const app = limited(2, { trustProxy: 1 });
  const statuses: number[] = [];
  for (let part = 1; part <= 4; part++) {
    const list = `198.51.100.${part}, 192.0.2.1`;
    statuses.push((await askFrom(app, HOST, "/", { headers: { "x-forwarded-for": list } })).status);
  }
  assertEquals(statuses, [200, 200, 429, 429]);
  assertEquals((await askFrom(app, HOST, "/", { headers: { "x-forwarded-for": "192.0.2.2" } })).status, 200);
});

Deno.test("Addresses of IPv6 that rotate in one /64 are one client", async () => {
  const app = limited(2);
  const statuses: number[] = [];
  for (const end of ["1", "ffff", "1:2:3:4", "a:b:c:d"]) {
    statuses.push((await askFrom(app, `2001:db8:0:7:${end.includes(":") ? end : `:${end}`}`)).status);
  }
  assertEquals(statuses, [200, 200, 429, 429]);
  assertEquals((await askFrom(app, "2001:db8:0:8::1")).status, 200);
});

Deno.test("An address of IPv4 is the same client through a socket of IPv6", async () => {
  const app = limited(1);
  assertEquals((await askFrom(app, "::ffff:203.0.113.7")).status, 200);
  assertEquals((await askFrom(app, HOST)).status, 429);
});

Deno.test("A key that is the prototype's name, or very long, is a key like any other", async () => {
  const app = new App();
  app.get("/", { rateLimit: { limit: 1, per: "1h", by: (request) => request.query.get("key") } }, async () => "fine");
  const long = "x".repeat(5_000);
  for (const key of ["__proto__", "constructor", "toString", "", "ü\0", long, `${long}y`]) {
    const path = `/?key=${encodeURIComponent(key)}`;
    assertEquals(await statusesFrom(app, HOST, [path, path]), [200, 429], key.slice(0, 20));
  }
});

Deno.test("Parallel requests at the edge count exactly", async () => {
  const app = limited(100);
  await using server = await Serving.start(app);
  const replies = await Promise.all(Array.from({ length: 150 }, () => fetch(server.origin)));
  await Promise.all(replies.map((reply) => reply.body?.cancel()));
  const passed = replies.filter(({ status }) => status === 200);
  assertEquals(passed.length, 100);
  const remaining = passed.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get("ratelimit")!)![1]));
  assertEquals(remaining.sort((a, b) => a - b), Array.from({ length: 100 }, (_, index) => index));
  assert(replies.filter(({ status }) => status === 429).every(({ headers }) => headers.has("retry-after")));
});

Deno.test("Calls of tools in a batch are counted each for itself", async () => {
  let calls = 0;
  const app = new App();
  app.get("/", { tool: true, rateLimit: { limit: 3, per: "1h" } }, async function look() {
    return ++calls;
  });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "look", arguments: {} } };
  const { status, body } = await askFrom(app, HOST, "/mcp", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(Array(10).fill(call)),
  });
  assertEquals(status, 200);
  const results = JSON.parse(body) as { result: { isError?: boolean } }[];
  assertEquals([calls, results.filter(({ result }) => result.isError).length], [3, 7]);
  assertEquals((await askFrom(app, HOST)).status, 429);
});

Deno.test("Methods, spellings of the path and queries of one route are counted together", async () => {
  const app = new App();
  app.get("/books/{id}", { rateLimit: { limit: 1, per: "1h" } }, async () => "fine");
  const paths = ["/books/1", "/books/2", "/books/1?x=1", "/%62ooks/1"];
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await askFrom(app, HOST, path)).status);
  assertEquals(statuses.filter((status) => status === 200).length, 1);
});
