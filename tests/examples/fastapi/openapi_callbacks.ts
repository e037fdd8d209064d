// Requests that the application sends to a URL of its client, in the document.
import { App } from "@webfw/core";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";

const Order = v.pipe(v.object({ id: v.string(), copies: v.number() }), v.title("Order"));
const Delivery = v.pipe(v.object({ at: v.pipe(v.string(), v.isoTimestamp()) }), v.title("Delivery"));

const app = new App();
app.post("/orders", {
  query: { callback: v.optional(v.pipe(v.string(), v.url())) },
  body: Order,
  status: 202,
  callbacks: {
    delivered: {
      url: "{$request.query.callback}/orders/{$request.body#/id}",
      body: Delivery,
      summary: "An order was delivered",
    },
  },
}, async () => {});

Deno.test("OpenAPI callbacks: the document has the request that the client gets", () => {
  const { paths, components } = app.openapi();
  const { delivered } = paths["/orders"]!.post!.callbacks!;
  assertEquals(Object.keys(delivered!), ["{$request.query.callback}/orders/{$request.body#/id}"]);
  assert(components.schemas!.Delivery);
});
