// "Inputs of dependencies": a parameter of the path that a dependency declares, and the route does not. "Two
// dependencies that give one parameter other types are a `RouteError` unless the route declares it."

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, RouteError, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { Serving } from "./support/serving.ts";

const Id = v.pipe(v.number(), v.integer());
const Day = v.pipe(v.string(), v.isoDate(), v.toDate());

Deno.test("The handler gets what a dependency makes of a parameter, which is checked once", async () => {
  let checks = 0;
  const Counted = v.pipe(v.number(), v.check(() => ++checks > 0));
  const board = dependency({ params: { id: Counted } }, async (_request, { id }) => ({ id }));
  const app = new App();
  app.get("/boards/{id}/{name}", { deps: { board } }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/boards/7/8").json<unknown>(), { id: 7, name: "8", board: { id: 7 } });
  assertEquals(checks, 1);
  assertEquals((await client.get("/boards/x/8").problem(422)).errors.length, 1);
});

Deno.test("So it is for async schemas, where dependencies need others, and for what the query reads of the path", async () => {
  const Known = v.pipeAsync(v.number(), v.checkAsync(async (id) => await Promise.resolve(id < 10)));
  const board = dependency({ params: { board: Known } }, async (_request, { board }) => board);
  const card = dependency({ query: { card: Id }, deps: { board } }, async (_request, { card, board }) => [board, card]);
  const app = new App();
  app.get("/{board}/{card}", { deps: { both: card } }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/1/2").json<unknown>(), { board: 1, card: 2, both: [1, 2] });
  assertEquals((await client.get("/10/2").problem(422)).errors.length, 1);
});

Deno.test("An async check runs once for an input of a request, whatever guards and handlers declare it", async () => {
  let checks: unknown[] = [];
  const Known = v.pipeAsync(
    v.number(),
    v.checkAsync(async (id) => await Promise.resolve(checks.push(id) > 0 && id < 10), "Unknown"),
  );
  const shop = dependency({ params: { shop: Known } }, async (_request, { shop }) => shop);
  const user = dependency({ security: {}, headers: { "x-user": Known }, query: { as: Known } }, async () => "ada");
  const router = new Router({ prefix: "/{shop}", deps: { store: shop } });
  router.get(
    "/{item}",
    { params: { item: Known }, query: { as: Known }, deps: { user } },
    async (_request, args) => args,
  );
  const app = new App();
  app.include(router);
  await using client = new TestClient(app, { headers: { "x-user": "4" } });
  const expected = { shop: 1, item: 2, as: 3, store: 1, user: "ada" };
  for (let request = 0; request < 2; request++) {
    checks = [];
    assertEquals(await client.get("/1/2?as=3").json<unknown>(), expected);
    assertEquals(checks.sort(), [1, 2, 3, 4]);
  }
  checks = [];
  assertEquals((await client.get("/11/12?as=3").problem(422)).errors.map(({ path }) => path), [["shop"]]);
  assertEquals(checks, [11]);
  assertEquals((await client.get("/1/12?as=3").problem(422)).errors.map(({ path }) => path), [["item"]]);
});

Deno.test("The deps of a router give its handlers the parameters of its prefix, also below an include", async () => {
  const shop = dependency({ params: { shop: Id } }, async (_request, { shop }) => shop * 10);
  const router = new Router({ prefix: "/{shop}", deps: { tenfold: shop } });
  router.get("/plain", async (_request, args) => args);
  router.get("/declared/{id}", { params: { id: Id } }, async (_request, args) => args);
  router.websocket("/socket", async (socket, { shop }) => await socket.send(typeof shop));
  const app = new App();
  app.include(router, { prefix: "/{tenant}" });
  await using serving = await Serving.start(app);
  const ask = async (path: string): Promise<unknown> => await (await fetch(serving.origin + path)).json();
  assertEquals(await ask("/1/2/plain"), { tenant: "1", shop: 2, tenfold: 20 });
  assertEquals(await ask("/1/2/declared/3"), { tenant: "1", shop: 2, id: 3, tenfold: 20 });
  await using client = new TestClient(app);
  await using socket = await client.websocket("/1/2/socket");
  assertEquals(await socket.receive(), "number");
});

Deno.test("What the route declares comes before what its dependencies declare", async () => {
  const day = dependency({ params: { day: Day } }, async (_request, { day }) => day.getUTCDate());
  const app = new App();
  app.get("/{day}", { params: { day: v.string() }, deps: { date: day } }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/2026-03-07").json<unknown>(), { day: "2026-03-07", date: 7 });
});

Deno.test("A test that replaces the dependency changes nothing in the other arguments", async () => {
  const board = dependency({ params: { id: Id } }, async (_request, { id }) => ({ id }));
  const app = new App();
  app.get("/boards/{id}", { deps: { board } }, async (_request, args) => args);
  await using client = new TestClient(app, { override: [[board, async () => ({ id: 0 })]] });
  assertEquals(await client.get("/boards/7").json<unknown>(), { id: 7, board: { id: 0 } });
});

Deno.test("Two dependencies that give a parameter other types are a RouteError, unless the route declares it", () => {
  const number = dependency({ params: { day: v.number() } }, async (_request, { day }) => day);
  const date = dependency({ params: { day: Day } }, async (_request, { day }) => day.getUTCDate());
  const upper = dependency({ params: { day: v.pipe(v.string(), v.transform((day) => day.length)) } }, async () => 1);
  const nested = dependency({ deps: { number } }, async () => 1);
  for (const deps of [{ number, date }, { nested, date }, { date, upper }, { upper, number }]) {
    const app = new App();
    const error = assertThrows(() => app.get("/{day}", { deps }, async () => {}), RouteError);
    assertEquals(error.code, "conflict");
    assertStringIncludes(error.message, 'Cannot bind "day" of GET /{day}: its dependencies "');
    assertStringIncludes(error.message, 'give it other types, declare it under "params"');
    app.get("/{day}", { deps, params: { day: v.string() } }, async () => {});
  }
  const router = new Router({ prefix: "/{day}", deps: { number } });
  assertThrows(() => router.get("/", { deps: { date } }, async () => {}), RouteError, '"date" and "number"');
});

Deno.test("Dependencies that check a parameter in other ways give it one type", async () => {
  const even = dependency({ params: { id: v.pipe(v.number(), v.multipleOf(2)) } }, async (_request, { id }) => id);
  const small = dependency(
    { params: { id: v.pipe(Id, v.maxValue(9), v.title("Id")) } },
    async (_request, { id }) => id,
  );
  const app = new App();
  app.get("/{id}", { deps: { even, small } }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/4").json<unknown>(), { id: 4, even: 4, small: 4 });
  assertEquals((await client.get("/11").problem(422)).errors.length, 2);
});
