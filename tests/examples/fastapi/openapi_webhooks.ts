// Requests that the application sends to URLs that were registered elsewhere: documented, and sent.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Publication = v.pipe(
  v.object({ title: v.string(), at: v.pipe(v.string(), v.isoTimestamp()) }),
  v.title("Publication"),
);

const app = new App({ topics: ":memory:" });
const published = app.webhook("published", { body: Publication, summary: "A book was published" });
app.get("/books", async () => ["Emma"]);

Deno.test("OpenAPI webhooks: the document has the requests that others get, and `send` makes them", async () => {
  const { webhooks, components } = app.openapi();
  assertEquals(Object.keys(webhooks!), ["published"]);
  assert(components.schemas!.Publication);
  const received = Promise.withResolvers<unknown>();
  await using _client = new TestClient(app, {
    webhooks: async (request) => {
      received.resolve(await request.json());
      return new Response();
    },
  });
  await app.start();
  const publication = { title: "Emma", at: "1815-12-23T00:00:00Z" };
  await published.send("https://reader.example/hooks", publication, {
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  });
  assertEquals(await received.promise, publication);
  await app.consumers.idle();
  await app.stop();
});
