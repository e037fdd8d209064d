// Handlers that are declared apart from their routes, and the types that they must declare.

import { App, type HttpRequest, type Schema } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const int = v.pipe(v.number(), v.integer());
const Book = v.object({ id: int, title: v.string() });

interface State {
  titles: string[];
}

Deno.test("a handler declares the arguments that it uses, and its result must fit the model", async () => {
  async function getBook(
    request: HttpRequest<State>,
    { id }: { id: number },
  ): Promise<v.InferInput<typeof Book>> {
    return { id, title: request.state.titles[id] ?? "Unknown" };
  }
  async function listBooks(request: HttpRequest<State>): Promise<readonly string[]> {
    return request.state.titles;
  }
  async function ping(): Promise<string> {
    return "pong";
  }
  const app = new App<State>();
  app.lifespan(async function* () {
    yield { titles: ["Emma"] };
  });
  app.get("/books/{id}", { params: { id: int }, query: { q: v.optional(v.string()) }, response: Book }, getBook);
  app.get("/books", { response: v.array(v.string()) }, listBooks);
  app.get("/ping", ping);
  await using client = new TestClient(app);
  assertEquals(await client.get("/books/0").json(), { id: 0, title: "Emma" });
  assertEquals(await client.get("/books").json(), ["Emma"]);
  assertEquals(await client.get("/ping").json(), "pong");
});

Deno.test("a handler that needs nothing of the state can serve any application", async () => {
  async function echo(request: HttpRequest<unknown>, { word }: { word: string }): Promise<string> {
    return `${request.method} ${word}`;
  }
  const plain = new App();
  plain.get("/{word}", echo);
  const typed = new App<State>();
  typed.get("/{word}", echo);
  for (const app of [plain, typed]) {
    await using client = new TestClient(app);
    assertEquals(await client.get("/hello").json(), "GET hello");
  }
});

Deno.test("options can be declared apart, and shared by routes", async () => {
  const paging = { limit: v.optional(int, 10), tags: v.array(v.string()) };
  const options = { query: paging, response: v.array(v.string()), tags: ["books"] };
  const app = new App();
  app.get("/books", options, async (_request, { limit, tags }) => tags.slice(0, limit));
  app.get(
    "/authors",
    { ...options, query: { ...paging, name: v.string() } },
    async (_request, { name, tags }) => [name, ...tags],
  );
  await using client = new TestClient(app);
  const query = { limit: 1, tags: ["a", "b"] };
  assertEquals(await client.get("/books", { query }).json(), ["a"]);
  assertEquals(await client.get("/authors", { query: { ...query, name: "Ada" } }).json(), ["Ada", "a", "b"]);
});

Deno.test("a function can register a route for any schema", async () => {
  const app = new App();
  function serve<Model extends Schema<{ id: number }>>(model: Model) {
    app.get("/", { response: model }, async () => ({ id: 1 }));
  }
  serve(v.object({ id: int }));
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json(), { id: 1 });
});
