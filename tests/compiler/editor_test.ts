// The types that an editor shows for the arguments of handlers and dependencies, and for a client:
// plain, not how they are computed. And what it offers where a typed client is used.

import { assertEquals } from "@std/assert";
import { LanguageServer } from "./language_server.ts";

// One server for all tests: it reads the framework once.
const server = await LanguageServer.start();
Deno.test.afterAll(() => server[Symbol.asyncDispose]());

const MODULE = `
import { App, dependency, Router, stateType } from "@webfw/core";
import * as v from "valibot";

interface State {
  titles: string[];
}
const int = v.pipe(v.number(), v.integer());
const Book = v.object({ title: v.string(), genre: v.picklist(["novel", "poems"]) });
const /*?*/countBooks = dependency(async () => 12);
const /*?*/shelves = new Router({ prefix: "/shelves/{shelf}", state: stateType<State>() });

dependency(
  { query: { limit: v.optional(int, 10) }, headers: { "x-token": v.string() }, deps: { count: countBooks } },
  async (_request, /*?*/args) => args,
);
shelves.get("/{id}", async (/*?*/request, /*?*/args) => [request, args]);
shelves.put("/{id}/order", {
  params: { id: int },
  query: { limit: v.optional(int, 10), q: v.optional(v.string()) },
  headers: { "x-token": v.string() },
  body: Book,
  deps: { count: countBooks },
}, async (_request, /*?*/args) => args);
shelves.post("/{id}/order", {
  params: { id: int },
  query: { limit: v.optional(int, 10), q: v.optional(v.string()) },
  headers: { "x-token": v.string() },
  body: Book,
  deps: { count: countBooks },
}, async (_request, { /*?*/shelf, /*?*/id, /*?*/limit, /*?*/q, /*?*/headers, /*?*/body, /*?*/count }) => {
  return [shelf, id, limit, q, headers, body, count];
});
const /*?*/admin = new Router({ prefix: "/{org}", deps: { user: countBooks, level: async () => "high" } });
admin.get("/{id}", async (_request, /*?*/args) => args);
`;

Deno.test("An editor shows plain types for the arguments of handlers and dependencies", async () => {
  const shown = await server.hover(MODULE, "/*?*/");
  assertEquals(
    shown.map(inAnyOrder),
    [
      "const countBooks: Dependency<number, unknown, None>",
      'const shelves: Router<State, "/shelves/{shelf}", None, unknown>',
      `(parameter) args: {
    readonly limit: number;
    readonly count: number;
    readonly headers: {
        readonly "x-token": string;
    };
}`,
      "(parameter) request: HttpRequest<State>",
      "(parameter) args: {\n    readonly shelf: string;\n    readonly id: string;\n}",
      `(parameter) args: {
    readonly limit: number;
    readonly q: string | undefined;
    readonly id: number;
    readonly shelf: string;
    readonly count: number;
    readonly headers: {
        readonly "x-token": string;
    };
    readonly body: {
        title: string;
        genre: "novel" | "poems";
    };
}`,
      "(parameter) shelf: string",
      "(parameter) id: number",
      "(parameter) limit: number",
      "(parameter) q: string | undefined",
      '(parameter) headers: {\n    readonly "x-token": string;\n}',
      '(parameter) body: {\n    title: string;\n    genre: "novel" | "poems";\n}',
      "(parameter) count: number",
      `const admin: Router<Record<string, unknown>, "/{org}", {
    user: Dependency<number, unknown, None>;
    level: () => Promise<string>;
}, unknown>`,
      `(parameter) args: {
    readonly org: string;
    readonly id: string;
    readonly user: number;
    readonly level: string;
}`,
    ].map(inAnyOrder),
  );
});

/** The order of the members of a type depends on the rest of the program. */
function inAnyOrder(shown: string): string[] {
  return shown.split("\n").toSorted();
}

const GUARDS = `
import { anySecurity, type HttpRequest } from "@webfw/core";
import { apiKey, basic, bearer, jwt, optional } from "@webfw/core/auth";
import * as v from "valibot";

interface User {
  name: string;
}
declare function findUser(token: string): Promise<User | null>;

const /*?*/user = bearer(findUser);
const /*?*/staff = basic(async (name, /*?*/password, request: HttpRequest<{ salt: string }>) => {
  return name === request.state.salt && { name };
});
const /*?*/partner = apiKey(async (key) => key === "k" ? 12 : undefined, { in: "header", name: "x-key" });
const issuer = { issuer: "https://id.example", audience: "books" };
const /*?*/anyone = jwt(issuer);
const /*?*/member = jwt({ ...issuer, claims: v.object({ sub: v.string() }), scopes: (/*?*/claims) => [claims.sub] });
const /*?*/writer = member.withScopes("books:write");
const /*?*/maybe = optional(member);
const /*?*/caller = anySecurity(user, partner);
`;

Deno.test("An editor shows plain types for guards and their values", async () => {
  assertEquals(await server.hover(GUARDS, "/*?*/"), [
    "const user: Dependency<User, unknown, None>",
    "const staff: Dependency<{\n    name: string;\n}, {\n    salt: string;\n}, None>",
    "(parameter) password: string",
    "const partner: Dependency<12, unknown, None>",
    "const anyone: JwtGuard<JwtClaims>",
    "const member: JwtGuard<{\n    sub: string;\n}>",
    "(parameter) claims: NoInfer<{\n    sub: string;\n}>",
    "const writer: Dependency<{\n    sub: string;\n}, unknown, None>",
    "const maybe: Dependency<{\n    sub: string;\n} | null, unknown, None>",
    "const caller: Dependency<User | 12, unknown, None>",
  ]);
});

const API = `
import { App, Router } from "@webfw/core";
import * as v from "valibot";

const Book = v.object({ id: v.number(), title: v.string(), added: v.date() });
const books = new Router({ prefix: "/books" });
export const find = books.get("", { query: { q: v.string() }, response: v.array(Book) }, async () => []);
export const one = books.get("/{id}", { params: { id: v.number() }, response: Book }, async () => {
  return { id: 1, title: "Emma", added: new Date() };
});
export const ping = new App().get("/ping", async () => "pong");
export const talk = books.websocket("/talk", { receive: Book, send: Book }, async () => {});
`;

const CLIENT = `
import type { Client } from "@webfw/core/client";
import type * as api from "./hovered_api.ts";

declare const /*?*/shop: Client<typeof api>;
shop./*?*/get;
const /*?*/found = await shop./*?*/get("/books", { /*?*/q: "Emma" });
const [/*?*/first] = found;
const /*?*/book = await shop.get("/books/{id}", { id: 1 });
const /*?*/pong = await shop./*?*/get("/ping");
const /*?*/room = await shop./*?*/websocket("/books/talk");
`;

Deno.test("An editor shows plain types for a client, its calls and their results", async () => {
  await server.open("hovered_api.ts", API);
  const model = "{\n    id: number;\n    title: string;\n    added: string;\n}";
  const sent = model.replace("added: string", "added: Date");
  const property = '(property) Client<typeof import("./hovered_api.ts")>';
  assertEquals(await server.hover(CLIENT, "/*?*/"), [
    "const shop: Client<typeof api>",
    `${property}.get: Call<"GET", "/books" | "/books/{id}" | "/ping", Routes<typeof api, "GET">>`,
    `const found: ${model}[]`,
    `${property}.get: Call\n<"/books">(path: "/books", args: {\n    q: string;\n}, ` +
    `options?: CallOptions | undefined) => Promise<${model}[]> (+1 overload)`,
    "(property) q: string",
    `const first: ${model} | undefined`,
    `const book: ${model}`,
    "const pong: unknown",
    `${property}.get: Call\n<"/ping">(path: "/ping") => Promise<unknown> (+1 overload)`,
    `const room: ClientSocket<${sent}, ${model}>`,
    `${property}.websocket: Connect\n<"/books/talk">(path: "/books/talk") => ` +
    `Promise<ClientSocket<${sent}, ${model}>> (+1 overload)`,
  ]);
});

const OFFERING_API = `
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

const OFFERED = `
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
  await server.open("completed_api.ts", OFFERING_API);
  const offered = await server.complete(OFFERED, "/*?*/");
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
