// Requests that the application sends to URLs that were registered elsewhere, in the document.
import { App } from "@webfw/core";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Publication = v.pipe(
  v.object({ title: v.string(), at: v.pipe(v.string(), v.isoTimestamp()) }),
  v.title("Publication"),
);

const app = new App({
  document: (document, { model }) => {
    document.webhooks = {
      published: {
        post: {
          summary: "A book was published",
          requestBody: { required: true, content: { "application/json": { schema: { $ref: model(Publication) } } } },
          responses: { 204: { description: "The event was received" } },
        },
      },
    };
    return document;
  },
});
app.get("/books", async () => ["Emma"]);

Deno.test("OpenAPI webhooks: the document has the requests that others get", () => {
  const { webhooks, components } = app.openapi();
  assertEquals(Object.keys(webhooks!), ["published"]);
  assert(components.schemas!.Publication);
});
