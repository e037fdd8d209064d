// Arrays, sets, models in models, URLs, and objects with any keys.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const Picture = v.pipe(v.object({ url: v.pipe(v.string(), v.url()), name: v.string() }), v.title("Picture"));
const Tags = v.pipe(v.array(v.string()), v.metadata({ uniqueItems: true }), v.transform((tags) => new Set(tags)));
const Book = v.object({ title: v.string(), tags: Tags, pictures: v.optional(v.array(Picture), []) });

const app = new App();
app.post("/books", { body: Book }, async (_request, { body }) => {
  return { tags: body.tags.size, pictures: body.pictures.map(({ name }) => name) };
});
app.post("/pictures", { body: v.array(Picture) }, async (_request, { body }) => body.length);

const Prices = v.record(v.pipe(v.string(), v.digits(), v.transform(Number)), v.number());
app.post("/prices", { body: Prices }, async (_request, { body }) => body[2026]);

Deno.test("body, nested models: arrays, sets, models, URLs, and objects with any keys", async () => {
  await using client = new TestClient(app);
  const picture = { url: "https://books.example/emma.png", name: "Cover" };
  const json = { title: "Emma", tags: ["new", "new", "rare"], pictures: [picture] };
  assertEquals(await client.post("/books", { json }).json(), { tags: 2, pictures: ["Cover"] });
  const wrong = { ...json, pictures: [{ ...picture, url: "cover" }] };
  const { errors } = await client.post("/books", { json: wrong }).problem(422);
  assertEquals(errors.map(({ path }) => path), [["pictures", 0, "url"]]);
  assertEquals(await client.post("/pictures", { json: [picture, picture] }).json(), 2);
  assertEquals(await client.post("/prices", { json: { 2026: 12.5 } }).json(), 12.5);
  await client.post("/prices", { json: { next: 12.5 } }).problem(422);
});
