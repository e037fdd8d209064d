import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqlite } from "../../../../src/store/sql/sqlite_engine.ts";
import { TemporaryFolder } from "../../../spec/support/temporary_folder.ts";

async function prepare() {
  const folder = await TemporaryFolder.make();
  const path = join(folder.path, "shop.sqlite");
  const engine = await openSqlite(path, () => {});
  await engine.query("CREATE TABLE orders (id integer PRIMARY KEY, item text NOT NULL)");
  return {
    path,
    engine,
    items: async () => (await engine.query("SELECT item FROM orders ORDER BY id")).map(({ item }) => item),
    [Symbol.asyncDispose]: async () => {
      engine.close();
      await engine.closed!();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const INSERT = "INSERT INTO orders (item) VALUES ($1)";

Deno.test("SQLite: a refused write undoes itself, and not those that are committed with it", async () => {
  await using shop = await prepare();
  const { engine } = shop;
  const batch = (...items: (string | null)[]) =>
    engine.batch!(items.map((item) => ({ text: INSERT, parameters: [item] })));
  const results = await Promise.allSettled([
    engine.query(INSERT, ["tea"]),
    batch("coffee", null),
    batch("cocoa", "milk"),
    engine.query(INSERT, [null]),
    engine.query(INSERT, ["water"]),
  ]);
  assertEquals(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"]);
  assertEquals(await shop.items(), ["tea", "cocoa", "milk", "water"]);
});

Deno.test("SQLite: a transaction is a whole, and no other write is a part of it", async () => {
  await using shop = await prepare();
  const { engine } = shop;
  const first = engine.query(INSERT, ["before"]);
  const failed = engine.transaction(async (query) => {
    await query(INSERT, ["undone"]);
    throw new Error("Undo it");
  });
  const second = engine.query(INSERT, ["after"]);
  await assertRejects(() => failed, Error, "Undo it");
  await Promise.all([first, second]);
  const result = await engine.transaction(async (query) => {
    await query(INSERT, ["kept"]);
    return (await query("SELECT count(*) AS n FROM orders"))[0]!.n;
  });
  assertEquals([result, await shop.items()], [3, ["before", "after", "kept"]]);
});

Deno.test("SQLite: a write waits for an open transaction of the program; its reads and timers do not", async () => {
  await using shop = await prepare();
  using database = new DatabaseSync(shop.path);
  database.exec("BEGIN IMMEDIATE; INSERT INTO orders (item) VALUES ('first')");
  let isWritten = false;
  const written = shop.engine.query(INSERT, ["second"]).then(() => isWritten = true);
  for (let turn = 0; turn < 5; turn++) {
    assertEquals(await shop.items(), []);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert(!isWritten);
  database.exec("COMMIT");
  await written;
  assertEquals(await shop.items(), ["first", "second"]);
});

Deno.test("SQLite: writes that were sent are carried out before it closes, and later ones are refused", async () => {
  await using shop = await prepare();
  const { engine } = shop;
  const written = engine.query(INSERT, ["last"]);
  engine.close();
  await assertRejects(() => engine.query(INSERT, ["late"]), Error, "closed");
  await written;
  await engine.closed!();
  using database = new DatabaseSync(shop.path);
  assertEquals(database.prepare("SELECT item FROM orders").all().length, 1);
});

Deno.test("SQLite: a file that is none, or cannot be opened, is an error with a cure", async () => {
  await using folder = await TemporaryFolder.make();
  const path = join(folder.path, "shop.sqlite");
  await Deno.writeTextFile(path, "This is no database. ".repeat(1_000));
  await assertRejects(() => openSqlite(path, () => {}), Error, "it is no database of SQLite, name another file");
  // A folder is no file.
  await assertRejects(() => openSqlite(folder.path, () => {}), Error, "name a file in a folder that can");
});
