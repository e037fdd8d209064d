/** The books of the bookshop. */
import { assert, assertEquals } from "@std/assert";
import type { Book } from "../../examples/bookshop/models.ts";
import { ADA, GRACE, MIDDLEMARCH, MOBY_DICK, TemporaryBookshop } from "./temporary_bookshop.ts";

const BOOKS = "/shops/corner/books";
const WAR_AND_PEACE = {
  isbn: "9780199232765",
  title: "War and Peace",
  author: "Leo Tolstoy",
  price: 1499,
  cost: 900,
  stock: 5,
};

interface Page {
  items: Book[];
  next: string | null;
}

Deno.test("following next from page to page gives every book once", async () => {
  await using shop = await TemporaryBookshop.open();
  const titles: string[] = [];
  let pages = 0;
  for (let path: string | null = `${BOOKS}?limit=3`; path !== null; pages++) {
    const { items, next }: Page = await shop.get(path).json();
    titles.push(...items.map(({ title }) => title));
    path = next;
  }
  assertEquals(pages, 2);
  assertEquals(titles, ["Dracula", "Frankenstein", "Middlemarch", "Pride and Prejudice"]);
});

Deno.test("the search and the order stay the same on the next page", async () => {
  await using shop = await TemporaryBookshop.open();
  const query = { search: "R", sort: "price", limit: 1 };
  const first: Page = await shop.get(BOOKS, { query }).json();
  assertEquals(first.items.map(({ title }) => title), ["Frankenstein"]);
  assert(first.next !== null);
  const second: Page = await shop.get(first.next).json();
  assertEquals(second.items.map(({ title }) => title), ["Pride and Prejudice"]);
});

Deno.test("a search is text, whatever it looks like", async () => {
  await using shop = await TemporaryBookshop.open();
  for (const search of ["' OR 1=1 --", "%", "_", "?"]) {
    assertEquals(await shop.get(BOOKS, { query: { search } }).json(), { items: [], next: null }, search);
  }
});

Deno.test("one reply names every fault of a query", async () => {
  await using shop = await TemporaryBookshop.open();
  const { errors } = await shop.get(`${BOOKS}?limit=0&offset=x&sort=stock`).problem(422);
  assertEquals(errors.map(({ in: source, path }) => [source, ...path]), [
    ["query", "limit"],
    ["query", "offset"],
    ["query", "sort"],
  ]);
});

Deno.test("a missing thing is a 404 that names it", async () => {
  await using shop = await TemporaryBookshop.open();
  assertEquals((await shop.get("/shops/nowhere/books").problem(404)).detail, "No such shop");
  assertEquals((await shop.get(`${BOOKS}/${MOBY_DICK}`).problem(404)).detail, "The shop has no such book");
});

Deno.test("an ISBN with a wrong check digit is a 422", async () => {
  await using shop = await TemporaryBookshop.open();
  const { errors } = await shop.get(`${BOOKS}/9780141439540`).problem(422);
  assertEquals(errors.map(({ path }) => path), [["isbn"]]);
});

Deno.test("a new book is at the location that the reply names, and only once", async () => {
  await using shop = await TemporaryBookshop.open();
  const { cost: _, ...visible } = WAR_AND_PEACE;
  const added = await shop.post(BOOKS, { json: WAR_AND_PEACE, headers: GRACE });
  assertEquals(added.status, 201);
  assertEquals(await added.json(), visible);
  assertEquals(await shop.get(added.headers.get("location")!).json(), visible);
  const again = await shop.post(BOOKS, { json: WAR_AND_PEACE, headers: GRACE }).problem(409);
  assertEquals(again.detail, "The shop has this book already");
});

Deno.test("a book with faults is not added, and the reply names all faults", async () => {
  await using shop = await TemporaryBookshop.open();
  const json = { ...WAR_AND_PEACE, title: "  ", price: 9.5, stock: undefined };
  const { errors } = await shop.post(BOOKS, { json, headers: GRACE }).problem(422);
  assertEquals(errors.map(({ in: source, path }) => [source, ...path]), [
    ["body", "title"],
    ["body", "price"],
    ["body", "stock"],
  ]);
  await shop.get(`${BOOKS}/${WAR_AND_PEACE.isbn}`).problem(404);
});

Deno.test("a change leaves other fields as they were", async () => {
  await using shop = await TemporaryBookshop.open();
  const path = `${BOOKS}/${MIDDLEMARCH}`;
  const before: Book = await shop.get(path).json();
  assertEquals(await shop.patch(path, { json: { price: 0 }, headers: GRACE }).json(), { ...before, price: 0 });
  assertEquals(await shop.patch(path, { json: { stock: 7 }, headers: GRACE }).json(), {
    ...before,
    price: 0,
    stock: 7,
  });
});

Deno.test("a removed book is not found", async () => {
  await using shop = await TemporaryBookshop.open();
  const path = `${BOOKS}/${MIDDLEMARCH}`;
  const removed = await shop.delete(path, { headers: GRACE });
  assertEquals(removed.status, 204);
  assertEquals(removed.body, null);
  await shop.get(path).problem(404);
  await shop.delete(path, { headers: GRACE }).problem(404);
});

Deno.test("customers never see what a book costs the shop", async () => {
  await using shop = await TemporaryBookshop.open();
  const replies = [
    shop.get(BOOKS),
    shop.get(`${BOOKS}/${MIDDLEMARCH}`),
    shop.post(BOOKS, { json: WAR_AND_PEACE, headers: GRACE }),
    shop.patch(`${BOOKS}/${MIDDLEMARCH}`, { json: {}, headers: GRACE }),
  ];
  for (const reply of replies) {
    const text = await reply.text();
    assert(text.includes("price") && !text.includes("cost"), text);
  }
});

Deno.test("only the clerks of a shop change its books", async () => {
  await using shop = await TemporaryBookshop.open();
  const change = (slug: string, headers: HeadersInit) =>
    shop.post(`/shops/${slug}/books`, { json: WAR_AND_PEACE, headers });
  const refused = await change("corner", {});
  assertEquals(refused.status, 401);
  assertEquals(refused.headers.get("www-authenticate"), 'Bearer realm="bearer"');
  for (
    const authorization of ["Bearer", "Bearer nobody", "Basic YWRhOmFkYQ==", "grace", "Bearer grace, Bearer grace"]
  ) {
    await change("corner", { authorization }).problem(401);
  }
  await change("corner", ADA).problem(403);
  await change("harbour", GRACE).problem(403);
  assertEquals((await change("corner", { authorization: "bearer  grace" })).status, 201);
});
