// An application for tests of its documentation page: all kinds of inputs, and every method with a
// special colour.

import { App, Form, HTTPError, Stream, UploadFile } from "@webfw/core";
import * as v from "valibot";

const id = v.pipe(v.number(), v.integer(), v.minValue(1));
const Genre = v.picklist(["novel", "poems"]);
const Book = v.pipe(
  v.object({
    id,
    title: v.pipe(v.string(), v.nonEmpty(), v.description("As on the *cover*"), v.examples(["Middlemarch"])),
    genre: v.optional(Genre),
    added: v.optional(v.pipe(v.string(), v.isoTimestamp())),
  }),
  v.title("Book"),
);

/** A pixel, as PNG. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/** Makes the application. */
export function documentedApp(title = "Books"): App {
  const app = new App({ title, description: "A shop of **books**, with a [link](https://shop.example) and `code`." });
  const tags = ["books"];

  app.get("/books", {
    query: { limit: v.optional(id, 20), genre: v.optional(Genre), author: v.optional(v.array(v.string()), []) },
    headers: { authorization: v.string(), "x-trace": v.optional(v.string()) },
    response: v.array(Book),
    tags,
  }, async function listBooks() {
    `List the books.

    All of them, or those of a genre.`;
    return [];
  });
  app.post("/books", { body: Book, response: Book, status: 201, tags }, async function addBook(_request, { body }) {
    "Add a book.";
    return body;
  });
  app.get("/books/{id}", { params: { id }, response: Book, tags }, async function getBook(_request, { id }) {
    "Get a book.";
    return { id, title: "Middlemarch" };
  });
  app.put("/books/{id}", { params: { id }, body: Book, tags }, async function putBook() {});
  app.patch(
    "/books/{id}",
    { params: { id }, body: v.object({ title: v.optional(v.string()) }), tags },
    async function patchBook() {},
  );
  app.delete("/books/{id}", { params: { id }, deprecated: true, tags }, async function deleteBook() {
    throw new HTTPError(501);
  });

  app.get("/cover", async function getCover() {
    "See the cover, with a summary that is so long that it needs more than one line on a telephone";
    return new Blob([Uint8Array.fromBase64(PICTURE)], { type: "image/png" });
  });
  const Picture = v.pipe(UploadFile, v.mimeType(["image/png", "image/jpeg"]));
  const Cover = v.object({
    title: v.string(),
    front: Picture,
    back: v.optional(Picture),
    sketches: v.optional(v.array(v.pipe(UploadFile, v.mimeType(["image/png"]))), []),
    artist: v.object({ name: v.string(), born: v.optional(v.number()) }),
    colours: v.array(v.picklist(["red", "green", "blue"])),
    prizes: v.optional(v.array(v.object({ name: v.string(), year: v.number() })), []),
  });
  app.post("/cover", { form: Form(Cover) }, async function addCover(_request, { form }) {
    "Add a cover.";
    const { front, back, sketches, ...others } = form;
    const names = sketches.map(({ name, size }) => `${name}: ${size}`);
    return { ...others, front: `${front.name}: ${await front.text()}`, others: [back ?? null, names] };
  });
  app.put("/cover", { body: Stream() }, async function putCover(_request, { body }) {
    return { size: (await new Response(body).bytes()).length };
  });
  app.route("/cover", { methods: ["HEAD", "OPTIONS"] }, async () => {});
  return app;
}
