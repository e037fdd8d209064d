// Dependencies: the types of their inputs and outputs, through several levels.

import { App, type Dependency, dependency, type HttpRequest, stateType } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

const int = v.pipe(v.number(), v.integer());

interface State {
  titles: string[];
}
const state = stateType<State>();

function bookshop(): App<State> {
  const app = new App<State>();
  app.lifespan(async function* () {
    yield { titles: ["Emma", "Persuasion"] };
  });
  return app;
}

Deno.test("a dependency supplies the result of its function, or the yielded value", async () => {
  const count = dependency(async () => 2);
  const open = dependency(async function* () {
    yield { title: (id: number) => `Book ${id}` };
  });
  assertType<IsExact<typeof count, Dependency<number>>>(true);
  assertType<IsExact<typeof open, Dependency<{ title: (id: number) => string }>>>(true);
  const app = new App();
  app.get("/{id}", { params: { id: int }, deps: { count, open } }, async (_request, args) => {
    assertType<
      IsExact<
        typeof args,
        { readonly id: number; readonly count: number; readonly open: { title: (id: number) => string } }
      >
    >(true);
    return args.open.title(args.id * args.count);
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/7").json(), "Book 14");
});

Deno.test("a dependency gets its inputs and other dependencies by name", async () => {
  const titles = dependency({ state }, async (request) => {
    assertType<IsExact<typeof request, HttpRequest<State>>>(true);
    return request.state.titles;
  });
  assertType<IsExact<typeof titles, Dependency<string[], State>>>(true);
  const page = dependency({
    state,
    query: { limit: v.optional(int, 1) },
    headers: { "x-first": v.optional(int, 0) },
    deps: { titles },
  }, async (_request, { limit, headers, titles }) => {
    assertType<IsExact<typeof limit, number>>(true);
    assertType<IsExact<(typeof headers)["x-first"], number>>(true);
    assertType<IsExact<typeof titles, string[]>>(true);
    return titles.slice(headers["x-first"]).slice(0, limit);
  });
  const loud = dependency({ state, deps: { page } }, async (_request, { page }) => page.map((title) => title + "!"));
  const app = bookshop();
  app.get("/", { deps: { page, loud } }, async (_request, args) => {
    assertType<IsExact<typeof args, { readonly page: string[]; readonly loud: string[] }>>(true);
    return args;
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/", { headers: { "x-first": "1" } }).json(), {
    page: ["Persuasion"],
    loud: ["Persuasion!"],
  });
});

Deno.test("a plain async function is a dependency, and gets the request with the state", async () => {
  async function now(): Promise<number> {
    return 0;
  }
  const app = bookshop();
  app.get("/", {
    deps: {
      now,
      first: async (request) => request.state.titles[0],
      last: async function* (request) {
        yield request.state.titles.at(-1);
      },
    },
  }, async (_request, args) => {
    assertType<
      IsExact<
        typeof args,
        { readonly now: number; readonly first: string | undefined; readonly last: string | undefined }
      >
    >(true);
    return args;
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), { now: 0, first: "Emma", last: "Persuasion" });
});

Deno.test("a dependency that needs nothing of the state, or a part of it, can be used everywhere", async () => {
  const count = dependency(async () => 2);
  const titles = dependency({ state }, async (request) => request.state.titles);
  const app = new App<State & { other: number }>();
  app.lifespan(async function* () {
    yield { titles: ["Emma"], other: 1 };
  });
  app.get("/", { deps: { count, titles } }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), { count: 2, titles: ["Emma"] });
});
