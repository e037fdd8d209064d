// "`store: "records"` counts in the application's record store, for all nodes, and so does
// `new App({ rateLimitStore: "records" })` for all limits"; "A store that fails lets requests through
// and is logged."

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { App, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { askFrom, statusesFrom } from "../support/from_address.ts";
import { LongDeadline } from "../support/long_deadline.ts";
import { MovedClock } from "../support/moved_clock.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const HOST = "203.0.113.7";

/** The store of a limit has to answer within this time. */
const ANSWER_MS = 500;

/** An application with two limits of one in records, in memory or in a file. */
function limited(topics?: string, limit = 2): App {
  const app = new App(topics === undefined ? {} : { topics });
  app.get("/", { rateLimit: { limit, per: "90s", store: "records" } }, async () => "fine");
  app.get("/other", { rateLimit: { limit, per: "90s", store: "records" } }, async () => "fine");
  return app;
}

Deno.test("In memory, requests are counted as without a store, each declaration by itself", async () => {
  using _deadline = new LongDeadline(ANSWER_MS);
  const app = limited();
  const first = await askFrom(app, HOST);
  assertEquals(first.status, 200);
  assertMatch(first.headers.get("ratelimit")!, /^"1";r=1;t=\d\d$/);
  assertMatch((await askFrom(app, HOST)).headers.get("ratelimit")!, /^"1";r=0;t=\d\d$/);
  const refused = await askFrom(app, HOST);
  assertEquals(refused.status, 429);
  assertMatch(refused.headers.get("retry-after")!, /^\d\d$/);
  assertEquals(await statusesFrom(app, HOST, ["/other"]), [200]);
  assertEquals(await statusesFrom(app, "203.0.113.8", ["/"]), [200]);
  await app.stop();
});

Deno.test("Two nodes with one file count together, and exactly, also in parallel", async () => {
  using _deadline = new LongDeadline(ANSWER_MS);
  await using folder = await TemporaryFolder.make();
  const file = folder.within("records.sqlite");
  const nodes = [limited(file, 10), limited(file, 10)];
  const replies = await Promise.all(
    Array.from({ length: 60 }, (_, index) => askFrom(nodes[index % 2]!, HOST)),
  );
  const passed = replies.filter(({ status }) => status === 200);
  assertEquals([passed.length, replies.filter(({ status }) => status === 429).length], [10, 50]);
  const rest = passed.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get("ratelimit")!)![1]));
  assertEquals(rest.toSorted((a, b) => a - b), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const node of nodes) await node.stop();
});

Deno.test("A count survives a restart, and begins again after its time", async () => {
  using _deadline = new LongDeadline(ANSWER_MS);
  await using folder = await TemporaryFolder.make();
  const file = folder.within("records.sqlite");
  const before = limited(file, 1);
  assertEquals(await statusesFrom(before, HOST, ["/", "/"]), [200, 429]);
  await before.stop();
  const after = limited(file, 1);
  assertEquals(await statusesFrom(after, HOST, ["/"]), [429]);
  using clock = new MovedClock();
  clock.advance(91_000);
  assertEquals(await statusesFrom(after, HOST, ["/", "/"]), [200, 429]);
  await after.stop();
});

Deno.test("rateLimitStore counts all limits of the application in records, but those with a store of their own", async () => {
  using _deadline = new LongDeadline(ANSWER_MS);
  await using folder = await TemporaryFolder.make();
  const file = folder.within("records.sqlite");
  const user = bearer(async (token) => ({ id: token }));
  let consumed = 0;
  const make = () => {
    const router = new Router({ prefix: "/r", rateLimit: { limit: 1, per: "1h" } });
    router.get("", async () => 1);
    const app = new App({ topics: file, rateLimitStore: "records", docs: { rateLimit: { limit: 1, per: "1h" } } });
    app.include(router);
    app.get(
      "/user",
      { deps: { user }, rateLimit: { limit: 1, per: "1h", by: user, key: ({ id }) => id } },
      async () => 1,
    );
    const store = () => ({ consume: async () => ({ remainingPoints: ++consumed, msBeforeNext: 1000 }) });
    app.get("/own", { rateLimit: { limit: 1, per: "1h", store } }, async () => 1);
    return app;
  };
  const [one, two] = [make(), make()];
  const headers = { authorization: "Bearer ada" };
  for (const path of ["/r", "/user", "/docs"]) {
    assertEquals([(await askFrom(one, HOST, path, { headers })).status], [200], path);
    assertEquals([(await askFrom(two, HOST, path, { headers })).status], [429], path);
  }
  assertEquals([...await statusesFrom(one, HOST, ["/own"]), ...await statusesFrom(two, HOST, ["/own"])], [200, 200]);
  assertEquals(consumed, 2);
  for (const app of [one, two]) await app.stop();
});

Deno.test("A test client with other dependencies counts in records, too", async () => {
  using _deadline = new LongDeadline(ANSWER_MS);
  const user = bearer(async (token) => ({ id: token }));
  const app = new App({ rateLimitStore: "records" });
  app.get("/", { deps: { user }, rateLimit: { limit: 1, per: "1h", by: () => "all" } }, async () => 1);
  await using client = new TestClient(app, { override: [[user, async () => ({ id: "ada" })]] });
  await client.get("/");
  await client.get("/").problem(429);
  assertEquals(
    (await app.fetch(new Request("http://localhost/", { headers: { authorization: "Bearer b" } }))).status,
    429,
  );
});

Deno.test("A caller that is empty, malformed or very long is a key like any other", async () => {
  using _deadline = new LongDeadline(ANSWER_MS);
  const app = new App({ rateLimitStore: "records" });
  app.get("/{key}", { rateLimit: { limit: 1, per: "1h", by: ({ query }) => query.get("key") } }, async () => 1);
  const long = "x".repeat(5_000);
  for (const key of ["", "a/b", "\ud800", long, `${long}y`, "__proto__"]) {
    const path = `/a?key=${encodeURIComponent(key.toWellFormed())}`;
    assertEquals(await statusesFrom(app, HOST, [path, path]), [200, 429], key.slice(0, 9));
  }
  await app.stop();
});

Deno.test('A store is "records" or a function', () => {
  // deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
  const untyped = (value: any) => value;
  assertThrows(
    () => new App({ rateLimit: { limit: 1, per: "1m", store: untyped("memory") } }),
    TypeError,
    '"rateLimit.store" must be a function or "records"',
  );
  assertThrows(() => new App({ rateLimitStore: untyped("memory") }), TypeError, '"rateLimitStore" must be "records"');
  assert(new App({ rateLimitStore: "records" }));
});
