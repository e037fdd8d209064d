// Section 3 of the contract of guards: rate limits in a store that several processes share.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, type RateLimit } from "@webfw/core";
import { Redis } from "npm:ioredis@^6.0.0";
import { RateLimiterRedis } from "npm:rate-limiter-flexible@^11.4.0";
import { hasRedis, RedisServer } from "../../support/redis_server.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { askFrom, statusesFrom } from "../support/from_address.ts";

const HOST = "203.0.113.7";

function limited(store: NonNullable<RateLimit["store"]>, limit = 2): App {
  const app = new App();
  app.get("/", { rateLimit: { limit, per: "90s", store } }, async () => "fine");
  app.get("/other", { rateLimit: { limit, per: "90s", store } }, async () => "fine");
  return app;
}

Deno.test("store: (limit, perMs) makes a limiter with the route's numbers, once for each declaration", async () => {
  const numbers: number[][] = [];
  const app = limited((limit, perMs) => {
    numbers.push([limit, perMs]);
    let left = limit;
    return {
      consume: async () => {
        const count = { remainingPoints: Math.max(0, --left), msBeforeNext: perMs };
        return left < 0 ? await Promise.reject(count) : count;
      },
    };
  });
  assertEquals(numbers, []);
  assertEquals(await statusesFrom(app, HOST, ["/", "/", "/"]), [200, 200, 429]);
  assertEquals(numbers, [[2, 90_000], [2, 90_000]]);
});

Deno.test({
  name: "Two applications share the counts of a Redis, each declaration with its own",
  ignore: !hasRedis,
  fn: async () => {
    await using server = await RedisServer.start();
    const redis = new Redis({ path: server.path });
    const store = (points: number, perMs: number) =>
      new RateLimiterRedis({ storeClient: redis, points, duration: perMs / 1000 });
    const [one, two] = [limited(store), limited(store)];
    const first = await askFrom(one, HOST);
    assertEquals([first.status, first.headers.get("ratelimit")], [200, '"1";r=1;t=90']);
    assertEquals((await askFrom(two, HOST)).status, 200);
    const refused = await askFrom(one, HOST);
    assertEquals([refused.status, refused.headers.get("retry-after")], [429, "90"]);
    assertEquals((await askFrom(one, HOST, "/other")).status, 200);
    const parallel = await Promise.all(
      Array.from({ length: 20 }, (_, index) => askFrom(index % 2 ? one : two, "203.0.113.9")),
    );
    assertEquals(parallel.filter(({ status }) => status === 200).length, 2);
    redis.disconnect();
  },
});

Deno.test({
  name: "A store that hangs lets requests through, and is asked again later",
  ignore: !hasRedis,
  fn: async () => {
    using log = new CapturedLog();
    await using server = await RedisServer.start();
    const redis = new Redis({ path: server.path });
    const app = limited((points, perMs) =>
      new RateLimiterRedis({ storeClient: redis, points, duration: perMs / 1000 })
    );
    assertEquals((await askFrom(app, HOST)).status, 200);
    server.hang();
    const through = await askFrom(app, HOST);
    assertEquals([through.status, through.headers.get("ratelimit")], [200, null]);
    assertEquals(log.lines.length, 1);
    assertStringIncludes(log.text, "did not answer within 500 ms");
    redis.disconnect();
  },
});

Deno.test("A store that fails lets requests through and is logged", async () => {
  using log = new CapturedLog();
  const app = limited(() => ({ consume: () => Promise.reject(new Error("Connection is closed")) }));
  assertEquals(await statusesFrom(app, HOST, ["/", "/", "/"]), [200, 200, 200]);
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "Connection is closed");
});

Deno.test("A store function that gives no limiter is an error when the application begins to serve", () => {
  const app = limited((() => undefined) as never);
  assertThrows(
    () => app.fetch(new Request("http://localhost/")),
    TypeError,
    'Cannot count the requests of GET /#1: "store" must return a limiter of rate-limiter-flexible, got undefined',
  );
});
