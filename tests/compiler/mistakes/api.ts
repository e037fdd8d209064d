// The routes of the client that the mistakes of the tables use.

import { App, dependency, Events, Form, Router, UploadFile } from "@webfw/core";
import * as v from "valibot";

const Id = v.pipe(v.number(), v.integer());
const Book = v.object({
  id: Id,
  title: v.string(),
  authors: v.array(v.object({ name: v.string(), born: v.optional(v.number()) })),
});
const shops = new Router({ prefix: "/shops/{slug}" });
const app = new App();
const board = dependency({ params: { board: Id } }, async (_request, { board }) => board);
const after = dependency({ query: { after: Id }, headers: { "x-order": v.string() } }, async (_request, args) => args);

export const getBook = shops.get("/books/{id}", {
  params: { id: Id },
  query: { lang: v.optional(v.picklist(["en", "de"])) },
  response: Book,
}, async (_request, { id }) => ({ id, title: "Emma", authors: [] }));

export const findBooks = app.get("/books", {
  query: { q: v.string(), limit: v.optional(Id, 20), tag: v.optional(v.array(v.string()), []) },
  response: v.array(Book),
}, async () => []);

export const addBook = shops.post("/books", { body: Book, response: Book }, async (_request, { body }) => body);

export const dropBook = shops.delete("/books/{id}", { params: { id: Id } }, async () => {});

export const dated = app.get("/dated", {
  headers: { "x-token": v.string(), "x-page": v.optional(Id) },
  cookies: { theme: v.optional(v.picklist(["light", "dark"])) },
  response: v.object({ at: v.date() }),
}, async () => ({ at: new Date(0) }));

export const addPicture = app.post("/pictures", {
  form: Form(v.object({ title: v.string(), picture: UploadFile })),
}, async () => "kept");

export const cards = app.get("/boards/{board}/cards", { deps: { id: board, after } }, async () => {});

export const ping = app.get("/ping", async () => "pong");

export const counts = app.get("/counts", {
  query: { to: Id },
  response: Events(v.object({ count: v.number() })),
}, async function* () {
  yield { count: 1 };
});

export const talk = shops.websocket("/rooms/{room}", {
  receive: v.object({ text: v.string() }),
  send: v.object({ from: v.string(), at: v.date() }),
}, async () => {});
