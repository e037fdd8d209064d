// The results that handlers may return: all that TypeScript accepts for the model.

import { App, Events, HTTPError, SSE, text } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const int = v.pipe(v.number(), v.integer());
const Author = v.object({ name: v.string(), born: v.optional(int) });
const Book = v.object({ title: v.string(), genre: v.picklist(["novel", "poems"]), tags: v.array(v.string()) });
const Shape = v.variant("kind", [
  v.object({ kind: v.literal("circle"), radius: v.number() }),
  v.object({ kind: v.literal("square"), side: v.number() }),
]);

/** The JSON of the replies at the paths "/0", "/1" and so on. */
async function replies(app: App): Promise<unknown[]> {
  await using client = new TestClient(app);
  const paths = app.routes.map(({ path }) => path);
  return await Promise.all(paths.map((path) => client.get(path).json()));
}

Deno.test("a literal in a result is not widened to text, neither in a list nor in a variant", async () => {
  const app = new App();
  app.get("/0", { response: Book }, async () => ({ title: "Emma", genre: "novel", tags: ["England"] }));
  app.get("/1", { response: v.array(Book) }, async () => [{ title: "Emma", genre: "novel", tags: [] }]);
  app.get("/2", { response: Shape }, async () => ({ kind: "circle", radius: 1 }));
  app.get("/3", { response: v.array(Shape) }, async () => [{ kind: "circle", radius: 1 }, { kind: "square", side: 2 }]);
  app.get("/4", { response: v.tuple([v.literal("a"), v.number()]) }, async () => ["a", 1]);
  app.get("/5", { response: v.record(v.string(), v.picklist(["on", "off"])) }, async () => ({ light: "on" }));
  assertEquals(await replies(app), [
    { title: "Emma", genre: "novel", tags: ["England"] },
    [{ title: "Emma", genre: "novel", tags: [] }],
    { kind: "circle", radius: 1 },
    [{ kind: "circle", radius: 1 }, { kind: "square", side: 2 }],
    ["a", 1],
    { light: "on" },
  ]);
});

Deno.test("a result may come through variables, functions, classes and read-only values", async () => {
  interface Row {
    readonly name: string;
    readonly born?: number;
  }
  class Entity {
    constructor(readonly name: string) {}
  }
  const row: Row = { name: "Ada" };
  const rows: readonly Row[] = Object.freeze([row]);
  const table = new Map([["Ada", row]]);
  const book = { title: "Emma", genre: "novel", tags: ["England"] } as const;
  const found = (): v.InferOutput<typeof Book> => ({ title: "Emma", genre: "novel", tags: [] });
  const app = new App();
  app.get("/0", { response: Author }, async () => row);
  app.get("/1", { response: v.array(Author) }, async () => rows);
  app.get("/2", { response: Author }, async () => {
    const found = table.get("Ada");
    if (!found) throw new HTTPError(404);
    return found;
  });
  app.get("/3", { response: Book }, async () => book);
  app.get("/4", { response: Book }, async () => found());
  app.get("/5", { response: Author }, async () => new Entity("Ada"));
  app.get("/6", { response: Author }, async () => ({ ...row, born: 1815 }));
  app.get("/7", { response: v.array(Author) }, async () => [...table.values()].filter(({ name }) => name !== "Bob"));
  assertEquals(await replies(app), [
    { name: "Ada" },
    [{ name: "Ada" }],
    { name: "Ada" },
    { title: "Emma", genre: "novel", tags: ["England"] },
    { title: "Emma", genre: "novel", tags: [] },
    { name: "Ada" },
    { name: "Ada", born: 1815 },
    [{ name: "Ada" }],
  ]);
});

Deno.test("a model that transforms accepts its input as a result", async () => {
  const Event = v.object({
    at: v.pipe(v.date(), v.transform((date) => date.toISOString())),
    kind: v.optional(v.string(), "talk"),
    host: v.nullish(v.string()),
  });
  const app = new App();
  app.get("/0", { response: Event }, async () => ({ at: new Date(0) }));
  app.get("/1", { response: Event }, async () => ({ at: new Date(0), kind: "play", host: null }));
  app.get(
    "/2",
    { response: v.objectAsync({ name: v.pipeAsync(v.string(), v.checkAsync(async () => true)) }) },
    async () => ({ name: "Ada" }),
  );
  assertEquals(await replies(app), [
    { at: "1970-01-01T00:00:00.000Z", kind: "talk" },
    { at: "1970-01-01T00:00:00.000Z", kind: "play", host: null },
    { name: "Ada" },
  ]);
});

Deno.test("a custom Response, a null of the model, and scalars are results", async () => {
  const app = new App();
  app.get("/0", { response: Author }, async () => Response.json("mine"));
  app.get("/1", { response: Author }, async (request) => {
    if (request.query.has("text")) return text("Ada");
    return { name: "Ada" };
  });
  app.get("/2", { response: v.nullable(Author) }, async () => null);
  app.get("/3", { response: v.string() }, async () => "Ada");
  app.get("/4", { response: v.boolean() }, async (request) => request.query.has("text"));
  app.get("/5", { response: v.looseObject({ name: v.string() }) }, async () => ({ name: "Ada", born: 1815 }));
  app.get("/6", { response: v.unknown() }, async () => [null]);
  app.get("/7", { response: Author }, async () => {
    throw new HTTPError(404);
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/7").problem(404).then(({ status }) => status), 404);
  assertEquals(await Promise.all([0, 1, 2, 3, 4, 5, 6].map((path) => client.get(`/${path}`).json())), [
    "mine",
    { name: "Ada" },
    null,
    "Ada",
    false,
    { name: "Ada", born: 1815 },
    [null],
  ]);
});

Deno.test("without a model anything is a result, also nothing", async () => {
  const app = new App();
  const anything: unknown = { name: "Ada" };
  app.get("/0", { status: 200 }, async () => null);
  app.get("/1", { query: { q: v.optional(v.string()) } }, async () => anything);
  app.get("/2", { query: { q: v.optional(v.string()) } }, async (_request, { q }) => q ?? 1);
  app.get("/3", async () => null);
  app.get("/4", async () => anything);
  app.delete("/5", { query: { q: v.optional(v.string()) } }, async () => {});
  app.delete("/6", { query: { q: v.optional(v.string()) } }, async (_request, { q }) => {
    if (q !== undefined) return;
  });
  app.delete("/7", async () => {});
  await using client = new TestClient(app);
  assertEquals(await Promise.all([0, 1, 2, 3, 4].map((path) => client.get(`/${path}`).json())), [
    null,
    { name: "Ada" },
    1,
    null,
    { name: "Ada" },
  ]);
  for (const path of ["/5", "/6", "/7"]) assertEquals((await client.delete(path)).status, 204);
});

Deno.test("an async generator is a handler, with options or without", async () => {
  const app = new App();
  app.get("/0", async function* () {
    yield 1;
  });
  app.get("/1", { query: { count: v.optional(int, 2) } }, async function* (_request, { count }) {
    for (let number = 1; number <= count; number++) yield { number };
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/0").text(), "1\n");
  assertEquals(await client.get("/1").text(), '{"number":1}\n{"number":2}\n');
});

Deno.test("an event with a literal retry, and one with variable fields, can be yielded", async () => {
  const app = new App();
  app.get("/0", async () =>
    SSE((async function* () {
      yield { data: 1, retry: "5s" };
      yield { data: 2, id: "2" };
    })()));
  app.get("/1", { response: Events(v.number()) }, async () =>
    SSE((async function* () {
      yield { data: 1, event: "tick", retry: "5s" };
    })()));
  const replies = await Promise.all(["/0", "/1"].map((path) => app.fetch(new Request(`http://localhost${path}`))));
  const texts = await Promise.all(replies.map((reply) => reply.text()));
  assertEquals(texts, ["retry: 5000\ndata: 1\n\nid: 2\ndata: 2\n\n", "retry: 5000\nevent: tick\ndata: 1\n\n"]);
});
