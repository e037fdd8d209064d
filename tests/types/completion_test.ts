// What an editor offers where a typed client is used.

import { assertEquals } from "@std/assert";
import { LanguageServer } from "./language_server.ts";

const API = `
import { App, Router } from "@webfw/core";
import * as v from "valibot";

const Book = v.object({ id: v.number(), title: v.string() });
const app = new App();
const shops = new Router({ prefix: "/shops/{slug}" });
export const find = app.get("/books", { query: { q: v.string(), limit: v.optional(v.number()) }, response: v.array(Book) },
  async () => []);
export const one = shops.get("/books/{id}", { params: { id: v.number() }, response: Book }, async (_request, { id }) =>
  ({ id, title: "" }));
export const add = shops.post("/books", { body: Book }, async () => {});
export const talk = shops.websocket("/rooms/{room}", { query: { name: v.optional(v.string()) } }, async () => {});
`;

const MODULE = `
import type { Client } from "@webfw/core/client";
import type * as api from "./completed_api.ts";

declare const shop: Client<typeof api>;
shop.get("/*?*/");
shop.get("/*?*/", { q: "Emma" });
shop.post("/*?*/");
shop.websocket("/*?*/");
shop.get("/books", { /*?*/ });
shop.get("/books", { q: "Emma", /*?*/ });
shop.get("/shops/{slug}/books/{id}", { slug: "corner", /*?*/ });
shop.post("/shops/{slug}/books", { slug: "corner", body: { /*?*/ } });
shop.get("/books", { q: "Emma" }, { /*?*/ });
(await shop.get("/shops/{slug}/books/{id}", { slug: "corner", id: 1 }))./*?*/;
`;

Deno.test("An editor offers the paths of a client, their arguments and the fields of results", async () => {
  await using server = await LanguageServer.start();
  await server.open("completed_api.ts", API);
  const offered = await server.complete(MODULE, "/*?*/");
  assertEquals(offered.map((labels) => labels.toSorted()), [
    ["/books", "/shops/{slug}/books/{id}"],
    ["/books", "/shops/{slug}/books/{id}"],
    ["/shops/{slug}/books"],
    ["/shops/{slug}/rooms/{room}"],
    ["limit?", "q"],
    ["limit?"],
    ["id"],
    ["id", "title"],
    ["headers?", "signal?", "timeout?"],
    ["id", "title"],
  ]);
});
