// Requests that the application sends to a URL of its client, in the document.
import { App } from "@webfw/core";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Invoice = v.pipe(v.object({ id: v.string(), total: v.number() }), v.title("Invoice"));
const Payment = v.pipe(v.object({ paid: v.boolean() }), v.title("Payment"));

const app = new App();
app.post("/invoices", {
  query: { callback: v.optional(v.pipe(v.string(), v.url())) },
  body: Invoice,
  callbacks: {
    paid: {
      url: "{$request.query.callback}/invoices/{$request.body#/id}",
      body: Payment,
      summary: "An invoice was paid",
    },
  },
}, async () => ({ message: "The invoice was received" }));

Deno.test("OpenAPI callbacks: the document has the request that the client gets", () => {
  const { paths, components } = app.openapi();
  const { paid } = paths["/invoices"]!.post!.callbacks!;
  assertEquals(Object.keys(paid!), ["{$request.query.callback}/invoices/{$request.body#/id}"]);
  assert(components.schemas!.Payment);
});
