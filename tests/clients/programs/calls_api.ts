// The routes that the programs of these tests call.

import { App, Form, html, HTTPError, Router, Stream, text, UploadFile } from "@webfw/core";
import * as v from "valibot";

const Id = v.pipe(v.number(), v.integer());
const Book = v.object({ id: Id, title: v.string(), added: v.date() });
const Item = v.object({ id: Id, tags: v.array(v.string()) });
const Order = v.object({ title: v.string(), items: v.array(Item), note: v.nullable(v.string()) });

const shops = new Router({ prefix: "/shops/{slug}" });

export const getBook = shops.get(
  "/books/{id}",
  { params: { id: Id }, query: { tag: v.optional(v.array(v.string()), []) }, response: Book },
  async (_request, { slug, id, tag }) => {
    if (id > 9) throw new HTTPError(404, "No such book", { headers: { "retry-after": "60" } });
    return { id, title: [slug, ...tag].join(), added: new Date(0) };
  },
);

export const addOrder = shops.post("/orders", { body: Order, status: 201 }, async (request, { slug, body }) => {
  return { slug, ...body, key: typeof request.headers.get("idempotency-key") };
});

export const dropBook = shops.delete("/books/{id}", { params: { id: Id } }, async () => {});

export const sendForm = shops.put("/form", { form: Form(Order) }, async (request, { form }) => {
  return { type: request.headers.get("content-type"), form };
});

const Pictures = v.object({ title: v.string(), pictures: v.array(UploadFile) });

export const sendFiles = shops.post("/pictures", { form: Form(Pictures) }, async (_request, { form }) => {
  const pictures = await Promise.all(form.pictures.map(async (each) => [each.name, each.type, await each.text()]));
  return { title: form.title, pictures };
});

export const sendBytes = shops.put("/bytes", { body: Stream() }, async (_request, { body }) => {
  return await new Response(body).text();
});

export const lines = shops.get("/lines", async function* () {
  for (let n = 1; n <= 3; n++) yield { n };
});

export const picture = shops.get("/picture", async () => new Blob(["…"], { type: "image/png" }));

export const notes = shops.get("/notes", async () => text("plain"));

const cookies = { sid: v.optional(v.string()) };

export const who = shops.get("/who", { cookies }, async (_request, { cookies }) => cookies.sid ?? "nobody");

export const wait = shops.get("/wait", async (request) => {
  await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
});

/** An application with these routes below `/v1`, and a page. */
export function service(): App {
  const app = new App();
  app.get("/", async (request) => {
    request.setCookie({ name: "sid", value: "page", secure: false });
    return html("<!doctype html><link rel=icon href='data:,'><title>Page</title>");
  });
  app.include(shops, { prefix: "/v1" });
  return app;
}
