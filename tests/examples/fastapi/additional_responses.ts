// Other replies in the document, and one of two media types.
import { App, Bytes } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Book = v.pipe(v.object({ id: v.string(), title: v.string() }), v.title("Book"));
const Message = v.pipe(v.object({ message: v.string() }), v.title("Message"));
const shared = { 403: { description: "Not enough rights" }, 410: { description: "The book is sold" } };

const app = new App();
app.get("/books/{id}", {
  query: { image: v.optional(v.boolean(), false) },
  response: Book,
  responses: {
    ...shared,
    200: { schema: Bytes("image/png"), description: "The book, or its cover" },
    404: { schema: Message, description: "No such book", examples: { none: { value: { message: "No such book" } } } },
  },
}, async (_request, { id, image }) => {
  if (id !== "emma") return Response.json({ message: "No such book" }, { status: 404 });
  if (image) return new Response("png", { headers: { "content-type": "image/png" } });
  return { id, title: "Emma" };
});

Deno.test("additional responses: models and descriptions of other replies, and one of two media types", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books/emma").json(), { id: "emma", title: "Emma" });
  assertEquals((await client.get("/books/emma?image=true")).headers.get("content-type"), "image/png");
  const missing = await client.get("/books/ulysses");
  assertEquals([missing.status, await missing.json()], [404, { message: "No such book" }]);
  const { responses } = app.openapi().paths["/books/{id}"]!.get!;
  for (const status of ["200", "403", "404", "410"]) assert(responses[status], status);
  const reply = responses["200"]!;
  assert("content" in reply);
  assertEquals(Object.keys(reply.content!), ["application/json", "image/png"]);
});
