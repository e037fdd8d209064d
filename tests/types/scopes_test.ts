// Applications, routers, middleware and lifespans: the state and the names of prefixes in their
// handlers.

import { App, dependency, type HttpRequest, type Middleware, type Next, Router, stateType } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import type { RegisterRoute } from "@webfw/core/types";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

interface State {
  names: string[];
  limit: number;
}
const state = stateType<State>();
const int = v.pipe(v.number(), v.integer());

function withLifespans(app: App<State>): App<State> {
  app.lifespan(async function* () {
    yield { names: ["Ada"] };
  });
  app.lifespan(async function* (app) {
    assertType<IsExact<typeof app, App<State>>>(true);
    yield { limit: 3 };
  });
  app.lifespan(async function* () {
    yield;
  });
  return app;
}

Deno.test("The state has its type in handlers and middleware, and is read-only", async () => {
  const app = withLifespans(new App<State>());
  app.middleware(async (request, next) => {
    assertType<IsExact<typeof request, HttpRequest<State>>>(true);
    assertType<IsExact<typeof next, Next>>(true);
    const response = await next(request);
    response.headers.set("limit", String(request.state.limit));
    return response;
  });
  app.get("/", async (request) => {
    assertType<IsExact<typeof request.state, Readonly<State>>>(true);
    return request.state.names;
  });
  app.get("/limit", { query: { by: v.optional(int, 1) } }, async (request, { by }) => request.state.limit * by);
  await using client = new TestClient(app);
  assertEquals((await client.get("/")).headers.get("limit"), "3");
  assertEquals(await client.get("/limit?by=2").json(), 6);
});

Deno.test("An undeclared state is a record of unknown values", async () => {
  const app = new App();
  app.lifespan(async function* () {
    yield { name: "Ada" };
  });
  app.get("/", async (request) => {
    assertType<IsExact<typeof request, HttpRequest>>(true);
    assertType<IsExact<typeof request.state.name, unknown>>(true);
    return request.state.name;
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), "Ada");
});

Deno.test("A router has the names of its prefix and the type of the state", async () => {
  const shelves = new Router({ prefix: "/shelves/{shelf}", state });
  assertType<IsExact<typeof shelves, Router<State, "/shelves/{shelf}">>>(true);
  shelves.get("", async (request, args) => {
    assertType<IsExact<typeof args, { readonly shelf: string }>>(true);
    return { ...args, names: request.state.names };
  });
  shelves.get("/{id}", { params: { shelf: int }, query: { q: v.optional(v.string()) } }, async (_request, args) => {
    assertType<IsExact<typeof args, { readonly shelf: number; readonly id: string; readonly q: string | undefined }>>(
      true,
    );
    return args;
  });
  const app = withLifespans(new App({ state }));
  assertType<IsExact<typeof app, App<State>>>(true);
  app.include(shelves, { prefix: "/v1" });
  await using client = new TestClient(app);
  assertEquals(await client.get("/v1/shelves/7").json(), { shelf: "7", names: ["Ada"] });
  assertEquals(await client.get("/v1/shelves/7/x").json(), { shelf: 7, id: "x" });
});

Deno.test("A router that needs a part of the state can be included wherever the state has it", async () => {
  const anywhere = new Router({ prefix: "/anywhere" });
  anywhere.get("", async () => "here");
  const named = new Router({ prefix: "/named", state: stateType<Pick<State, "names">>() });
  named.get("", async (request) => request.state.names);
  named.include(anywhere);
  const outer = new Router<State>();
  outer.include(named);
  outer.include(anywhere);
  const app = withLifespans(new App<State>());
  app.include(outer);
  new App().include(anywhere);
  await using client = new TestClient(app);
  assertEquals(await client.get("/named").json(), ["Ada"]);
  assertEquals(await client.get("/named/anywhere").json(), "here");
  assertEquals(await client.get("/anywhere").json(), "here");
});

Deno.test("A middleware that does not use the state can be added everywhere", async () => {
  const signed: Middleware<unknown> = async (request, next) => {
    const response = await next(request);
    response.headers.set("server", "books");
    return response;
  };
  const router = new Router({ state });
  router.middleware(signed);
  router.get("/", async () => 1);
  const app = withLifespans(new App({ state }));
  app.middleware(signed);
  app.include(router);
  await using client = new TestClient(app);
  assertEquals((await client.get("/")).headers.get("server"), "books");
});

Deno.test("A route for several methods has typed arguments", async () => {
  const app = new App();
  app.route("/{id}", { methods: ["GET", "PURGE"], params: { id: int } }, async (request, args) => {
    assertType<IsExact<typeof args, { readonly id: number }>>(true);
    return { ...args, method: request.method };
  });
  await using client = new TestClient(app);
  assertEquals(await client.request("PURGE", "/7").json(), { id: 7, method: "PURGE" });
});

Deno.test("Values of a router's or an application's deps are typed arguments of its routes", () => {
  interface User {
    name: string;
  }
  const user = dependency(async (): Promise<User> => ({ name: "Ada" }));
  const stored = dependency({ state }, async (request) => request.state.limit);
  const options = {
    prefix: "/{org}",
    state,
    deps: {
      user,
      stored,
      tenant: async () => "acme",
      first: async (request: HttpRequest<State>) => request.state.names,
    },
  } as const;
  const admin = new Router(options);
  type Given = typeof options.deps;
  type Values = { user: User; stored: number; tenant: string; first: string[] };
  assertType<Router<State, "/{org}", Given> extends typeof admin ? true : false>(true);
  assertType<typeof admin extends Router<State, "/{org}", Given> ? true : false>(true);
  admin.get("/{id}", async (_request, args) => {
    assertType<IsExact<typeof args, Readonly<Values & { org: string; id: string }>>>(true);
  });
  admin.get("/{id}/more", { params: { id: int }, deps: { more: async () => true } }, async (_request, args) => {
    const { id, org, user, more } = args;
    assertType<IsExact<[typeof id, typeof org, typeof user, typeof more], [number, string, User, boolean]>>(true);
  });
  admin.route("/any", { methods: ["PUT"] }, async (_request, { user, stored }) => {
    assertType<IsExact<[typeof user, typeof stored], [User, number]>>(true);
  });
  admin.websocket("/socket", async (_socket, { user, org }) => {
    assertType<IsExact<[typeof user, typeof org], [User, string]>>(true);
  });
  admin.websocket("/messages", { receive: int }, async (_socket, { user, org }) => {
    assertType<IsExact<[typeof user, typeof org], [User, string]>>(true);
  });
  const app = new App({ state, deps: { client: async () => 1, name: async (request) => request.state.names[0] } });
  app.get("/", async (_request, { client, name }) => {
    assertType<IsExact<[typeof client, typeof name], [number, string | undefined]>>(true);
  });
  app.include(admin, { deps: { stored, plain: async (request) => request.state.limit } });
  // A function that adds routes or lifespans need not know the deps.
  withLifespans(app);
  const { get }: { get: RegisterRoute<State, ""> } = app;
  get("/more", async () => 1);
});

Deno.test("A verb out of a union of methods registers a route", async () => {
  const app = new App();
  const methods = ["get", "post", "put", "patch", "delete"] as const;
  // The verbs differ in the method that clients know, and have this type in common.
  const verbs: Record<typeof methods[number], RegisterRoute<Record<string, unknown>, "">> = app;
  for (const method of methods) verbs[method]("/", async () => method);
  await using client = new TestClient(app);
  assertEquals(await client.post("/").json(), "post");
});
