// Shared parameters, dependencies of dependencies, guards, parameters of dependencies, cleanup.
import { App, dependency, HTTPError, Router } from "@webfw/core";
import { apiKey } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const log: string[] = [];

const page = dependency({
  query: { first: v.optional(v.number(), 0), count: v.optional(v.number(), 100) },
}, async (_request, page) => page);

const search = dependency({ query: { q: v.optional(v.string()) } }, async (_request, { q }) => q);
const lastSearch = dependency({
  deps: { search },
  cookies: { last: v.optional(v.string()) },
}, async (_request, { search, cookies }) => search ?? cookies.last ?? null);

/** A dependency with parameters of its own is what a function returns. */
const contains = (word: string) =>
  dependency({ query: { words: v.optional(v.string(), "") } }, async (_request, { words }) => words.includes(word));
const hasEmma = contains("emma");

const connection = dependency(async function* () {
  try {
    yield "a connection";
  } catch (error) {
    log.push(`rolled back: ${error instanceof Error ? error.message : error}`);
    throw error;
  } finally {
    log.push("closed");
  }
});
const early = dependency({ until: "handler" }, async function* () {
  yield "early";
  log.push("ended before the reply");
});

const token = apiKey(async (key) => key === "mellon", { in: "header", name: "x-token" });
const members = new Router({ deps: { token } });
members.get("/members", async () => "members");

const app = new App();
app.get("/books", { deps: { page } }, async (_request, { page }) => page);
app.get("/search", { deps: { lastSearch, hasEmma } }, async (_request, { lastSearch, hasEmma }) => {
  return { lastSearch, hasEmma };
});
app.get("/rows", { deps: { connection, early } }, async () => "rows");
app.get("/broken", { deps: { connection } }, async () => {
  throw new HTTPError(409, "Not now");
});
app.include(members);

Deno.test("dependencies: shared parameters, of which some come from other dependencies", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books?first=20").json(), { first: 20, count: 100 });
  const found = await client.get("/search?words=emma", { cookies: { last: "poems" } }).json();
  assertEquals(found, { lastSearch: "poems", hasEmma: true });
  const names = app.openapi().paths["/search"]!.get!.parameters!.map((parameter) =>
    "name" in parameter && parameter.name
  );
  assertEquals(names.toSorted(), ["last", "q", "words"]);
});

Deno.test("dependencies: guards of a router, and cleanup after an error or before the reply", async () => {
  await using client = new TestClient(app);
  await client.get("/members").problem(401);
  assertEquals(await client.get("/members", { headers: { "x-token": "mellon" } }).json(), "members");
  await client.get("/rows").json();
  await client.get("/broken").problem(409);
  assertEquals(log, ["ended before the reply", "closed", "rolled back: Not now", "closed"]);
});
