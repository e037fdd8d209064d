// Requests that the application sends to URLs that were registered elsewhere, in the document.
import { App } from "@webfw/core";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Subscription = v.pipe(
  v.object({ name: v.string(), since: v.pipe(v.string(), v.isoTimestamp()) }),
  v.title("Subscription"),
);

const app = new App({
  document: (document, { model }) => {
    document.webhooks = {
      subscribed: {
        post: {
          summary: "A user has subscribed",
          requestBody: { required: true, content: { "application/json": { schema: { $ref: model(Subscription) } } } },
          responses: { 204: { description: "The event was received" } },
        },
      },
    };
    return document;
  },
});
app.get("/users", async () => ["Ada"]);

Deno.test("OpenAPI webhooks: the document has the requests that others get", () => {
  const { webhooks, components } = app.openapi();
  assertEquals(Object.keys(webhooks!), ["subscribed"]);
  assert(components.schemas!.Subscription);
});
