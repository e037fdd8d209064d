// Names of operations, hidden routes, extensions, bodies in other formats.
import { App, HTTPError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.pipe(v.object({ title: v.string(), tags: v.array(v.string()) }), v.title("Book"));

const app = new App();
app.get("/books", {
  operationId: "listAllBooks",
  document: (operation) => ({ ...operation, "x-shelf": "blue" }),
}, async () => []);
app.get("/internal", { hidden: true }, async () => "ok");
app.post("/books", {
  response: Book,
  document: (operation) => ({
    ...operation,
    requestBody: { required: true, content: { "text/csv": { schema: { type: "string" } } } },
  }),
}, async function addBook(request) {
  `Add a book.

  The body is a line: a title, and tags.`;
  const [title, ...tags] = (await request.text()).split(",");
  const result = v.safeParse(Book, { title, tags });
  if (!result.success) throw new HTTPError(422, v.summarize(result.issues));
  return result.output;
});

Deno.test("advanced configuration: names, hidden routes, extensions, bodies in other formats", async () => {
  await using client = new TestClient(app);
  const { paths } = app.openapi();
  assertEquals(Object.keys(paths), ["/books"]);
  const { get, post } = paths["/books"]!;
  assertEquals([get!.operationId, post!.operationId], ["listAllBooks", "addBook"]);
  assertEquals([get!["x-shelf"], post!.summary], ["blue", "Add a book."]);
  const headers = { "content-type": "text/csv" };
  assertEquals(await client.post("/books", { body: "Emma,new,rare", headers }).json(), {
    title: "Emma",
    tags: ["new", "rare"],
  });
});
