// What a client knows of exported routes: the arguments of calls and their results.

import {
  App,
  Bytes,
  dependency,
  Events,
  file,
  Form,
  Html,
  JsonLines,
  Router,
  SSE,
  Stream,
  Text,
  UploadFile,
} from "@webfw/core";
import type { Client, ClientEvent, ClientSocket } from "@webfw/core/client";
import type { RouteRef } from "@webfw/core/types";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

const Id = v.pipe(v.number(), v.integer());
const Day = v.pipe(v.string(), v.isoTimestamp(), v.toDate());
const Book = v.object({ id: Id, title: v.string() });
interface Book {
  id: number;
  title: string;
}
const books = new Router({ prefix: "/shops/{slug}" });
const app = new App();
const other = new Router({ deps: { user: dependency(async () => "Ada") } });
const version: string = "v1";
const computed = new Router({ prefix: `/${version}` });

const routes = {
  getBook: books.get("/books/{id}", {
    params: { id: Id },
    query: { lang: v.optional(v.picklist(["en", "de"])), tag: v.optional(v.array(v.string()), []) },
    response: Book,
  }, async (_request, { id }) => ({ id, title: "Emma" })),
  addBook: books.post("/books", { body: Book, response: Book, status: 201 }, async (_request, { body }) => body),
  dropBook: books.delete("/books/{id}", { params: { id: Id } }, async () => {}),
  both: app.route("/both", { methods: ["put", "PATCH"], response: Book }, async () => ({ id: 1, title: "" })),
  ping: app.get("/ping", async () => "pong"),
  nothing: app.put("/nothing", async () => {}),
  empty: app.put("/empty", { status: 204 }, async () => undefined),
  perhaps: app.put("/perhaps", async () => Math.random() < 2 ? 1 : undefined),
  none: app.put("/none", { response: v.void() }, async () => {}),
  files: app.get("/files/{path...}", async (_request, { path }) => ({ path })),
  store: app.put("/store", { body: Stream() }, async () => "stored"),
  optional: app.put("/optional", { body: v.optional(Book) }, async () => {}),
  partial: app.put("/partial", { body: v.partial(Book) }, async () => {}),
  picture: app.post("/picture", {
    form: Form(v.object({ files: v.array(UploadFile), note: v.optional(v.string(), "") })),
  }, async () => "kept"),
  dated: app.get("/dated", {
    query: { since: Day },
    headers: { "x-page": v.optional(Id, 1), "x-token": v.string() },
    cookies: { sid: v.string() },
    response: v.object({ at: v.date(), all: v.array(v.object({ on: v.nullable(v.date()), big: v.bigint() })) }),
  }, async () => ({ at: new Date(0), all: [] })),
  paged: app.get("/paged", { headers: { "x-page": v.optional(Id) } }, async () => 1),
  defaults: app.get("/defaults", {
    response: v.object({ by: v.optional(v.string(), "nobody"), note: v.optional(v.string()) }),
  }, async () => ({})),
  lines: app.get("/lines", { response: JsonLines(v.object({ at: v.date() })) }, async function* () {
    yield { at: new Date(0) };
  }),
  generated: app.get("/generated", { response: Book }, async function* () {
    yield { id: 1, title: "Emma" };
  }),
  untyped: app.get("/untyped", async function* () {
    yield 1;
  }),
  bytes: app.get("/bytes", { response: Bytes("image/png") }, async () => file("cat.png")),
  blob: app.get("/blob", { response: v.blob() }, async () => new Blob()),
  sized: app.get("/sized", { response: Bytes() }, async () => new Uint8Array()),
  noted: app.get("/noted", { response: Bytes("text/plain;charset=utf-8") }, async () => new Uint8Array()),
  packed: app.get("/packed", { response: Bytes("application/geo+json") }, async () => new Uint8Array()),
  cached: app.get("/cached", { response: Text("application/json") }, async () => "[]"),
  blank: app.get("/blank", { response: Text() }, async () => ""),
  text: app.get("/text", { response: Text("text/csv") }, async () => "a,b"),
  html: app.get("/html", { response: Html() }, async () => "<p>"),
  events: books.get("/events", { response: Events(v.object({ at: v.date() })) }, async () => {
    return SSE((async function* () {
      yield { at: new Date(0) };
    })());
  }),
  chat: app.post("/chat", { body: v.string(), response: Events(v.string()) }, async function* (_request, { body }) {
    yield body;
  }),
  talk: books.websocket("/chat/{room}", {
    receive: v.object({ since: Day }),
    send: v.object({ at: v.date() }),
    query: { name: v.optional(v.string()) },
  }, async () => {}),
  plain: app.websocket("/plain", async () => {}),
  guarded: other.get("/me", { deps: { count: async () => 1 } }, async (_request, { user }) => user),
  computed: computed.get("/books/{id}", { params: { id: Id }, response: Book }, async () => ({ id: 1, title: "" })),
  // What else a module exports.
  app,
  books,
  Book,
  limit: 12,
  close() {},
  Shelf: class {},
  nobody: null,
};

declare const shop: Client<typeof routes>;
const slug = "corner";

Deno.test("what a call gives follows from the declaration of the reply", () => {
  const calls = () => ({
    getBook: shop.get("/shops/{slug}/books/{id}", { slug, id: 1, lang: "en", tag: ["a"] }),
    addBook: shop.post("/shops/{slug}/books", { slug, body: { id: 1, title: "Emma" } }),
    dropBook: shop.delete("/shops/{slug}/books/{id}", { slug, id: 1 }),
    put: shop.put("/both"),
    patch: shop.patch("/both"),
    ping: shop.get("/ping"),
    nothing: shop.put("/nothing", undefined, { timeout: 1_000 }),
    empty: shop.put("/empty", {}),
    perhaps: shop.put("/perhaps"),
    none: shop.put("/none"),
    files: shop.get("/files/{path...}", { path: "a/b" }),
    dated: shop.get("/dated", { since: "2026-01-01T00:00:00Z", headers: { "x-token": "t" } }),
    cookies: shop.get("/dated", { since: "", headers: { "x-token": "t", "x-page": 2 }, cookies: { sid: "s" } }),
    paged: shop.get("/paged"),
    defaults: shop.get("/defaults"),
    lines: shop.get("/lines"),
    generated: shop.get("/generated"),
    untyped: shop.get("/untyped"),
    bytes: shop.get("/bytes"),
    blob: shop.get("/blob"),
    sized: shop.get("/sized"),
    noted: shop.get("/noted"),
    packed: shop.get("/packed"),
    cached: shop.get("/cached"),
    blank: shop.get("/blank"),
    text: shop.get("/text"),
    html: shop.get("/html"),
    chat: shop.post("/chat", { body: "Hello" }),
    guarded: shop.get("/me"),
    computed: shop.get("/v1/books/{id}", { id: 1 }),
  });
  type Result<Name extends keyof ReturnType<typeof calls>> = Awaited<ReturnType<typeof calls>[Name]>;
  interface Dated {
    at: string;
    all: { on: string | null; big: string }[];
  }
  assertType<IsExact<Result<"getBook">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"addBook">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"put">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"patch">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"computed">, { id: number; title: string }>>(true);
  assertType<IsExact<Result<"dropBook" | "nothing" | "empty" | "none">, undefined>>(true);
  assertType<IsExact<Result<"ping">, unknown>>(true);
  assertType<IsExact<Result<"files">, unknown>>(true);
  assertType<IsExact<Result<"perhaps">, unknown>>(true);
  assertType<IsExact<Result<"untyped">, unknown>>(true);
  assertType<IsExact<Result<"guarded">, unknown>>(true);
  assertType<Result<"dated" | "cookies"> extends Dated ? true : false>(true);
  assertType<Dated extends Result<"dated"> ? true : false>(true);
  assertType<IsExact<Result<"defaults">["by"], string>>(true);
  assertType<IsExact<Result<"defaults">["note"], string | undefined>>(true);
  assertType<IsExact<Result<"lines">, AsyncIterable<{ at: string }>>>(true);
  assertType<IsExact<Result<"generated">, AsyncIterable<{ id: number; title: string }>>>(true);
  assertType<IsExact<Result<"bytes" | "blob" | "sized">, Blob>>(true);
  assertType<IsExact<Result<"text" | "html" | "blank" | "noted">, string>>(true);
  // The type of a reply alone says that it is JSON.
  assertType<IsExact<Result<"packed">, unknown>>(true);
  assertType<IsExact<Result<"cached">, unknown>>(true);
  assertType<IsExact<Result<"chat">, AsyncIterable<ClientEvent<string>>>>(true);
});

Deno.test("a client has the paths of exported routes by their kinds, and nothing else of a module", () => {
  type Paths<Verb extends keyof typeof shop> = Parameters<typeof shop[Verb]>[0];
  assertType<IsExact<keyof typeof shop, "get" | "post" | "put" | "patch" | "delete" | "events" | "websocket">>(true);
  assertType<IsExact<Paths<"events">, "/shops/{slug}/events">>(true);
  assertType<IsExact<Paths<"websocket">, "/shops/{slug}/chat/{room}" | "/plain">>(true);
  assertType<IsExact<Paths<"post">, "/shops/{slug}/books" | "/picture" | "/chat">>(true);
});

Deno.test("bodies and forms are what their schemas take, and optional where these take undefined", () => {
  (() => [
    shop.put("/store", { body: new Blob(["bytes"]) }),
    shop.put("/store", { body: new Uint8Array(3) }),
    shop.put("/store", { body: new Blob(["bytes"]).stream() }),
    shop.put("/optional"),
    shop.put("/optional", { body: { id: 1, title: "Emma" } }),
    shop.put("/partial", { body: {} }),
    shop.post("/picture", { form: { files: [new Blob(), new File([], "cat.png")] } }),
    // @ts-expect-error the server needs a body
    shop.put("/partial"),
    // @ts-expect-error an object is no body that the handler reads itself
    shop.put("/store", { body: { id: 1 } }),
    // @ts-expect-error one file is no list of them
    shop.post("/picture", { form: { files: new Blob() } }),
  ]);
});

Deno.test("events and sockets have the JSON form of what comes, and the input of what goes", () => {
  const open = async () => ({
    events: shop.events("/shops/{slug}/events", { slug }),
    talk: await shop.websocket("/shops/{slug}/chat/{room}", { slug, room: "a" }),
  });
  type Opened = Awaited<ReturnType<typeof open>>;
  assertType<IsExact<Opened["events"], AsyncIterableIterator<ClientEvent<{ at: string }>>>>(true);
  assertType<IsExact<Opened["talk"], ClientSocket<{ since: string }, { at: string }>>>(true);
});

Deno.test("idempotent: true is a compile error on routes that are not", () => {
  type Pay = RouteRef<"POST", "/pay", object, object, never, never, never, never, unknown, void, never, "24h">;
  const pay = (client: Client<{ pay: Pay; ping: typeof routes.ping }>) => [
    client.post("/pay", {}, { idempotent: true }),
    // @ts-expect-error the route is not idempotent
    client.get("/ping", {}, { idempotent: true }),
  ];
  assertType<IsExact<Awaited<ReturnType<typeof pay>[0]>, unknown>>(true);
});
