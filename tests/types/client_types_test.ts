// What a client knows of exported routes: the arguments of calls and their results.

import { App, Form, Router, Stream, UploadFile } from "@webfw/core";
import type { Client } from "@webfw/core/client";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

const Id = v.pipe(v.number(), v.integer());
const Book = v.object({ id: Id, title: v.string() });
const books = new Router({ prefix: "/shops/{slug}" });
const app = new App();

const routes = {
  getBook: books.get(
    "/books/{id}",
    { params: { id: Id }, query: { lang: v.optional(v.picklist(["en", "de"])) }, response: Book },
    async (_request, { id }) => ({ id, title: "Emma" }),
  ),
  addBook: books.post("/books", { body: Book, response: Book, status: 201 }, async (_request, { body }) => body),
  dropBook: books.delete("/books/{id}", { params: { id: Id } }, async () => {}),
  ping: app.get("/ping", async () => "pong"),
  nothing: app.put("/nothing", async () => {}),
  files: app.get("/files/{path...}", async (_request, { path }) => ({ path })),
  store: app.put("/store", { body: Stream() }, async () => "stored"),
  picture: app.post(
    "/picture",
    { form: Form(v.object({ file: UploadFile, note: v.optional(v.string()) })) },
    async () => "kept",
  ),
  dated: app.get(
    "/dated",
    { query: { since: v.pipe(v.string(), v.isoTimestamp(), v.toDate()) }, response: v.date() },
    async (_request, { since }) => since,
  ),
  talk: books.websocket(
    "/chat/{room}",
    { receive: v.object({ text: v.string() }), send: v.object({ at: v.date() }) },
    async () => {},
  ),
  both: app.route(
    "/both/{id}",
    { methods: ["put", "PATCH"], body: Book, response: Book },
    async (_request, { body }) => {
      return body;
    },
  ),
  value: 12,
  Book,
};

declare const shop: Client<typeof routes>;

Deno.test("the arguments of a call and its result are those of the route", () => {
  const calls = () => ({
    getBook: shop.get("/shops/{slug}/books/{id}", { slug: "corner", id: 1, lang: "en" }),
    addBook: shop.post("/shops/{slug}/books", { slug: "corner", body: { id: 1, title: "Emma" } }),
    dropBook: shop.delete("/shops/{slug}/books/{id}", { slug: "corner", id: 1 }),
    ping: shop.get("/ping"),
    nothing: shop.put("/nothing"),
    files: shop.get("/files/{path...}", { path: "a/b" }),
    store: shop.put("/store", { body: new Blob(["bytes"]) }),
    picture: shop.post("/picture", { form: { file: new Blob() } }),
    dated: shop.get("/dated", { since: "2026-01-01T00:00:00Z" }),
    put: shop.put("/both/{id}", { id: "1", body: { id: 1, title: "Emma" } }),
    patch: shop.patch("/both/{id}", { id: "1", body: { id: 1, title: "Emma" } }),
    talk: shop.websocket("/shops/{slug}/chat/{room}", { slug: "corner", room: "a" }),
  });
  type Result<Name extends keyof ReturnType<typeof calls>> = Awaited<ReturnType<typeof calls>[Name]>;
  assertType<IsExact<Result<"getBook">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"addBook">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"dropBook">, undefined>>(true);
  assertType<IsExact<Result<"ping">, unknown>>(true);
  assertType<IsExact<Result<"nothing">, undefined>>(true);
  assertType<IsExact<Result<"put">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"patch">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"dated">, string>>(true);
});
