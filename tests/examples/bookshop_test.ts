/** The bookshop as a whole: its database file, its connections, and its middleware. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { TestClient } from "@webfw/core/testing";
import { join } from "node:path";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import { GRACE, MIDDLEMARCH, TemporaryBookshop } from "./temporary_bookshop.ts";

async function filesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
}

Deno.test("a new database has books, and an existing one keeps its content", async () => {
  await using shop = await TemporaryBookshop.open();
  const path = `/shops/corner/books/${MIDDLEMARCH}`;
  assertEquals((await shop.delete(path, { headers: GRACE })).status, 204);
  await shop.close();

  const again = new TestClient(bookshop(join(shop.folder, "shop.sqlite")));
  await using _ = again;
  assertEquals((await again.get("/shops").json<unknown[]>()).length, 2);
  await again.get(path).problem(404);
});

Deno.test("the end of the application closes every connection", async () => {
  await using shop = await TemporaryBookshop.open();
  await Promise.all(Array.from({ length: 5 }, () => shop.get("/shops/corner/books")));
  assert((await filesIn(shop.folder)).includes("shop.sqlite-wal"));
  await shop.close();
  // SQLite removes the other two files with the last connection.
  assertEquals(await filesIn(shop.folder), ["shop.sqlite"]);
});

Deno.test("clerks get the whole stock as lines of JSON", async () => {
  await using shop = await TemporaryBookshop.open();
  const reply = await shop.get("/shops/corner/stock", { headers: GRACE });
  assertEquals(reply.headers.get("content-type"), "application/jsonl");
  const lines = (await reply.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.length, 4);
  assertEquals(lines[0], {
    isbn: "9780141439471",
    title: "Frankenstein",
    author: "Mary Shelley",
    price: 699,
    cost: 350,
    stock: 2,
  });
  await shop.get("/shops/corner/stock").problem(401);
});

Deno.test("a client that leaves in the middle of the stock gives its connection back", async () => {
  const folder = await Deno.makeTempDir({ prefix: "bookshop_" });
  const app = bookshop(join(folder, "shop.sqlite"));
  for (let turn = 0; turn < 3; turn++) {
    const response = await app.fetch(new Request("http://localhost/shops/corner/stock", { headers: GRACE }));
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
  }
  await app.stop();
  assertEquals(await filesIn(folder), ["shop.sqlite"]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("every reply has a request id of its own, not one that a client chose", async () => {
  await using shop = await TemporaryBookshop.open();
  const idOf = async (headers: HeadersInit) => (await shop.get("/nothing", { headers })).headers.get("x-request-id");
  const made = await idOf({});
  assertMatch(made ?? "", /^[0-9a-f-]{36}$/);
  assertNotEquals(await idOf({}), made);
  assertNotEquals(await idOf({ "x-request-id": "chosen" }), "chosen");
});

Deno.test("the root lists all routes", async () => {
  await using shop = await TemporaryBookshop.open();
  const { title, routes } = await shop.get("/").json<{ title: string; routes: string[] }>();
  assertEquals(title, "Bookshop");
  assert(routes.includes("PATCH /shops/{slug}/books/{isbn}"));
  assertEquals(routes.length, 11);
});

Deno.test("openapi.json of the bookshop is up to date: run deno task spec", async () => {
  const held = await Deno.readTextFile(new URL("../../examples/bookshop/openapi.json", import.meta.url));
  assertEquals(JSON.parse(held), bookshop("unused.sqlite").openapi());
});
