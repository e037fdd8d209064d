// The types of what dependencies read: in calls of the client, and in the handler's own arguments.

import { App, type Dependency, dependency, Router, type Schema } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import type { Client } from "@webfw/core/client";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

const Id = v.pipe(v.number(), v.integer());
const Day = v.pipe(v.string(), v.isoDate(), v.toDate());

const page = dependency({
  query: { page: v.optional(Id, 1), size: Id },
  headers: { "x-order": v.string() },
  cookies: { theme: v.string() },
}, async (_request, { page }) => page);
const board = dependency({ params: { board: Id } }, async (_request, { board }) => board);
const card = dependency({ query: { day: Day }, deps: { board } }, async (_request, { board }) => board);
const key = dependency({
  headers: { "x-key": v.string() },
  cookies: { sid: v.string() },
  query: { tenant: v.string() },
  security: { key: { type: "apiKey", in: "header", name: "x-key" } },
}, async () => "Ada");
const user = bearer(async () => ({ name: "Ada" }));

const dated = dependency({ params: { day: Day } }, async () => 1);
const text = { receive: v.string(), send: v.string() };

const app = new App();
const router = new Router({ prefix: "/boards/{board}", deps: { board_: board, page } });
const routes = {
  pages: app.get("/pages", { deps: { page } }, async () => {}),
  own: app.get("/own", {
    deps: { paged: page },
    query: { page: v.string() },
    headers: { "x-own": v.string(), "x-order": v.number() },
  }, async () => {}),
  guarded: app.get("/guarded", { deps: { key, user } }, async () => {}),
  dated: app.get("/days/{day}/{board}", { deps: { card } }, async (_request, { day, board }) => {
    assertType<IsExact<[typeof day, typeof board], [Date, number]>>(true);
  }),
  scoped: router.get("/plain", async (_request, { board }) => {
    assertType<IsExact<typeof board, number>>(true);
  }),
  declared: router.get(
    "/{day}",
    { params: { board: v.string() }, deps: { plain: async () => 1 } },
    async (_r, args) => {
      assertType<IsExact<[typeof args.board, typeof args.day, typeof args.plain], [string, string, number]>>(true);
    },
  ),
  socket: router.websocket("/socket", text, async (_socket, { board }) => {
    assertType<IsExact<typeof board, number>>(true);
  }),
  sockets: app.websocket("/days/{day}", { ...text, deps: { dated } }, async (_socket, { day }) => {
    assertType<IsExact<typeof day, Date>>(true);
  }),
};
declare const shop: Client<typeof routes>;

type Paged = { size: number; page?: number | undefined };

Deno.test("a dependency carries the types of what it reads, and of what those that it needs read", () => {
  const carried: Dependency<number, unknown, { params: { board: Schema<number> } }> = board;
  assertType<IsExact<typeof carried, typeof board>>(true);
  type Needed = { params: { board: Schema<number> }; query: { day: Schema<string, Date> } };
  assertType<IsExact<typeof card, Dependency<number, unknown, Needed>>>(true);
  assertType<IsExact<typeof user, Dependency<{ name: string }>>>(true);
});

Deno.test("a call takes what dependencies read: headers and cookies can be left out, those of guards are no arguments", () => {
  const order = { headers: { "x-order": "asc" }, cookies: { theme: "dark" } };
  const calls = () => [
    shop.get("/pages", { size: 1 } satisfies Paged),
    shop.get("/pages", { size: 1, page: 2, ...order }),
    shop.get("/own", { page: "1", size: 1, headers: { "x-own": "", "x-order": 1 }, cookies: {} }),
    shop.get("/guarded", { tenant: "acme" }),
    shop.get("/days/{day}/{board}", { day: "2026-03-07", board: 1 }),
    shop.get("/boards/{board}/plain", { board: 1, size: 1 }),
    shop.get("/boards/{board}/{day}", { board: "1", day: "today", size: 1 }),
    shop.websocket("/boards/{board}/socket", { board: 1, size: 1 }),
    shop.websocket("/days/{day}", { day: "2026-03-07" }),
    // @ts-expect-error the query of the dependency is required
    shop.get("/pages"),
    // @ts-expect-error the size is a number
    shop.get("/pages", { size: "1" }),
    // @ts-expect-error the header is a text
    shop.get("/pages", { size: 1, headers: { "x-order": 1 } }),
    // @ts-expect-error the route's own header is required
    shop.get("/own", { page: "1", size: 1 }),
    // @ts-expect-error a guard's header is no argument
    shop.get("/guarded", { tenant: "acme", headers: { "x-key": "k" } }),
    // @ts-expect-error a guard's cookie is no argument
    shop.get("/guarded", { tenant: "acme", cookies: { sid: "s" } }),
    // @ts-expect-error the path has a number there
    shop.get("/days/{day}/{board}", { day: "2026-03-07", board: "1" }),
    // @ts-expect-error headers of a scope are those of guards
    shop.get("/boards/{board}/plain", { board: 1, size: 1, headers: { "x-order": "asc" } }),
  ];
  assertType<typeof calls extends () => unknown[] ? true : false>(true);
});
