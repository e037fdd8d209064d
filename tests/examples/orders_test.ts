/** The orders of the bookshop. */
import { assertEquals } from "@std/assert";
import type { Book, Order } from "../../examples/bookshop/models.ts";
import { ADA, DRACULA, FRANKENSTEIN, GRACE, MIDDLEMARCH, MOBY_DICK, TemporaryBookshop } from "./temporary_bookshop.ts";

const ORDERS = "/shops/corner/orders";
const ADDRESS = { street: "12 High Street", postcode: "CV1 1AA", city: "Coventry" };

function order(...lines: [isbn: string, quantity: number][]) {
  return { lines: lines.map(([isbn, quantity]) => ({ isbn, quantity })), address: ADDRESS };
}

async function stockOf(shop: TemporaryBookshop, isbn: string): Promise<number> {
  return (await shop.get(`/shops/corner/books/${isbn}`).json<Book>()).stock;
}

Deno.test("an order takes the books off the shelf and keeps their prices", async () => {
  await using shop = await TemporaryBookshop.open();
  const json = order([MIDDLEMARCH, 3], [FRANKENSTEIN, 1]);
  const placed = await shop.post(ORDERS, { json, headers: ADA });
  assertEquals(placed.status, 201);
  const { placedAt, ...rest }: Order = await placed.json();
  assertEquals(rest, {
    id: 1,
    lines: [
      { isbn: MIDDLEMARCH, title: "Middlemarch", price: 1099, quantity: 3 },
      { isbn: FRANKENSTEIN, title: "Frankenstein", price: 699, quantity: 1 },
    ],
    total: 3996,
    address: ADDRESS,
  });
  assertEquals(await stockOf(shop, MIDDLEMARCH), 1);
  await shop.patch(`/shops/corner/books/${MIDDLEMARCH}`, { json: { price: 1 }, headers: GRACE }).json();
  assertEquals(await shop.get(placed.headers.get("location")!, { headers: ADA }).json(), { ...rest, placedAt });
});

Deno.test("an order may cost more than any book", async () => {
  await using shop = await TemporaryBookshop.open();
  const json = { price: 100_000, stock: 100_000 };
  await shop.patch(`/shops/corner/books/${MIDDLEMARCH}`, { json, headers: GRACE }).json();
  const placed = shop.post(ORDERS, { json: order([MIDDLEMARCH, 100_000]), headers: ADA });
  assertEquals((await placed.json<Order>()).total, 10_000_000_000);
});

Deno.test("an order of books that the shop does not have names each of them, and changes nothing", async () => {
  await using shop = await TemporaryBookshop.open();
  const json = order([MOBY_DICK, 1], [MIDDLEMARCH, 1], ["9780199232765", 1]);
  const { errors } = await shop.post(ORDERS, { json, headers: ADA }).problem(422);
  assertEquals(
    errors,
    [0, 2].map((index) => ({
      in: "body",
      path: ["lines", index, "isbn"],
      code: "invalid",
      message: "The shop has no such book",
    })),
  );
  assertEquals(await stockOf(shop, MIDDLEMARCH), 4);
  await shop.get(`${ORDERS}/1`, { headers: ADA }).problem(404);
});

Deno.test("an order of more books than in stock changes nothing", async () => {
  await using shop = await TemporaryBookshop.open();
  const json = order([MIDDLEMARCH, 1], [DRACULA, 1]);
  const refused = await shop.post(ORDERS, { json, headers: ADA }).problem(409);
  assertEquals(refused.detail, 'The shop has too few copies of "Dracula"');
  assertEquals(await stockOf(shop, MIDDLEMARCH), 4);
});

Deno.test("of many orders at once, as many succeed as there are copies", async () => {
  await using shop = await TemporaryBookshop.open();
  const json = order([MIDDLEMARCH, 1]);
  const replies = await Promise.all(Array.from({ length: 10 }, () => shop.post(ORDERS, { json, headers: ADA })));
  const statuses = replies.map(({ status }) => status).toSorted();
  assertEquals(statuses, [201, 201, 201, 201, 409, 409, 409, 409, 409, 409]);
  assertEquals(await stockOf(shop, MIDDLEMARCH), 0);
});

Deno.test("the parts of an order are checked down to the last", async () => {
  await using shop = await TemporaryBookshop.open();
  const json = { lines: [{ isbn: "1", quantity: 0 }, { isbn: MIDDLEMARCH }], address: { ...ADDRESS, city: "" } };
  const { errors } = await shop.post(ORDERS, { json, headers: ADA }).problem(422);
  assertEquals([...new Set(errors.map(({ path }) => path.join(".")))], [
    "lines.0.isbn",
    "lines.0.quantity",
    "lines.1.quantity",
    "address.city",
  ]);
  const twice = order([MIDDLEMARCH, 1], [MIDDLEMARCH, 2]);
  const { errors: [fault] } = await shop.post(ORDERS, { json: twice, headers: ADA }).problem(422);
  assertEquals(fault, { in: "body", path: ["lines"], code: "invalid", message: "A book stands in it twice" });
});

Deno.test("the customer and clerks of the shop can read an order, nobody else", async () => {
  await using shop = await TemporaryBookshop.open();
  const json = order([MIDDLEMARCH, 1]);
  const ofGrace = (await shop.post(ORDERS, { json, headers: GRACE })).headers.get("location")!;
  const ofAda = (await shop.post(ORDERS, { json, headers: ADA })).headers.get("location")!;
  await shop.get(ofAda, { headers: ADA }).json();
  await shop.get(ofAda, { headers: GRACE }).json();
  await shop.get(ofAda).problem(401);
  await shop.get(ofGrace, { headers: ADA }).problem(404);
  await shop.get(ofAda.replace("corner", "harbour"), { headers: ADA }).problem(404);
});

Deno.test("replies about orders are kept out of shared caches, refusals too", async () => {
  await using shop = await TemporaryBookshop.open();
  for (const headers of [{}, ADA]) {
    const reply = await shop.get(`${ORDERS}/7`, { headers });
    assertEquals(reply.headers.get("cache-control"), "private, no-store");
  }
  assertEquals((await shop.get("/shops")).headers.get("cache-control"), null);
});
