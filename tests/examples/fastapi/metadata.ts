// Title, description, contact, license and tags of the document, and where it is.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const app = new App({
  title: "Books",
  summary: "A shop of books",
  description: "All about **books**",
  version: "0.0.1",
  termsOfService: "https://books.example/terms",
  contact: { name: "Ada", url: "https://books.example/contact", email: "ada@books.example" },
  license: { name: "Apache 2.0", identifier: "Apache-2.0" },
  tags: [
    { name: "users", description: "Users, and their sign-in" },
    { name: "books", externalDocs: { url: "https://books.example/docs", description: "More" } },
  ],
  openapiUrl: "/api/v1/openapi.json",
  docsUrl: "/documentation",
});
app.get("/books", { tags: ["books"] }, async () => []);

Deno.test("metadata: the document has it, at the declared path", async () => {
  await using client = new TestClient(app);
  const document = await client.get("/api/v1/openapi.json").json<ReturnType<typeof app.openapi>>();
  const { title, summary, contact, license } = document.info;
  assertEquals([title, summary], ["Books", "A shop of books"]);
  assertEquals([contact?.name, license?.identifier], ["Ada", "Apache-2.0"]);
  assertEquals(document.tags?.map(({ name }) => name), ["users", "books"]);
  assertEquals((await client.get("/documentation")).status, 200);
  await client.get("/docs").problem(404);
});
