// What the store does with its tables: ids whose time is over, replies that were lost, writes that
// are carried out late, restored backups, and the rows that it removes.

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SqlEngine } from "../../../../src/store/sql/engine.ts";
import { schemaText } from "../../../../src/store/sql/schema.ts";
import { openSqlStore, SqlStore } from "../../../../src/store/sql/sql_store.ts";
import { openSqlite } from "../../../../src/store/sql/sqlite_engine.ts";
import { inVirtualTime } from "../../../../dev/faults/simulation/virtual_time.ts";
import { CannotOpenError, LOG_START } from "../../../../src/store/topic_store.ts";
import { Clock } from "../../../contract/clock.ts";
import { ALL, append, dataOf, logOf, messageOf, readAll } from "../../../contract/store_fixture.ts";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
import { SkippedTimeout } from "../../../spec/support/skipped_timeout.ts";
import { TemporaryFolder } from "../../../spec/support/temporary_folder.ts";
import { Random } from "../../support/random.ts";
import { FakeTime } from "../../support/fake_time.ts";
import { until } from "../../../support/wait.ts";

const MINUTE = 60_000;
const LOG = logOf("orders");

type Around = (engine: SqlEngine) => Partial<SqlEngine>;

/** A file with stores over it, and a connection of the application. */
class Shop implements AsyncDisposable {
  readonly clock = new Clock();
  readonly path: string;
  /** As after a request without an answer. */
  reopenLast: () => void = () => {};
  readonly #folder: TemporaryFolder;
  readonly #stores: SqlStore[] = [];
  #database: DatabaseSync | undefined;

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder;
    this.path = join(folder.path, "shop.sqlite");
  }

  static async make(): Promise<Shop> {
    return new Shop(await TemporaryFolder.make());
  }

  /** The application's own connection, after a store has made the tables. */
  get database(): DatabaseSync {
    return this.#database ??= new DatabaseSync(this.path, { timeout: 5_000 });
  }

  /** `around` replaces methods of the engine. */
  open(around: Around = () => ({}), requestTimeout = 60_000): SqlStore {
    const store = new SqlStore({
      name: this.path,
      dialect: "sqlite",
      now: this.clock.now,
      requestTimeout,
      isLogged: false,
      open: async (_signal, onLost) => {
        const engine = await openSqlite(this.path, onLost);
        this.reopenLast = onLost;
        return {
          dialect: "sqlite",
          query: (text, parameters) => engine.query(text, parameters),
          batch: (statements) => engine.batch!(statements),
          transaction: (action) => engine.transaction(action),
          close: () => engine.close(),
          closed: () => engine.closed!(),
          ...around(engine),
        };
      },
    });
    this.#stores.push(store);
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    this.#database?.close();
    await this.#folder[Symbol.asyncDispose]();
  }
}

Deno.test("an id whose time is over is stored again, in the order of its batch", async () => {
  await using shop = await Shop.make();
  const store = shop.open();
  const log = logOf("orders", { dedupe: MINUTE });
  await append(store, log, [messageOf(1, "a")]);
  shop.clock.advance(MINUTE + 1);
  const { outcomes } = await append(store, log, [messageOf(2, "b"), messageOf(3, "a"), messageOf(4, "c")]);
  assertEquals(outcomes.map(({ duplicate }) => duplicate), [false, false, false]);
  assertEquals(dataOf(await readAll(store, log)), [1, 2, 3, 4]);
});

Deno.test("a batch whose reply was lost is stored once, and none of its messages is a duplicate", async () => {
  await using shop = await Shop.make();
  let isLost = true;
  const store = shop.open((engine) => ({
    batch: async (statements) => {
      const rows = await engine.batch!(statements);
      if (isLost) return rows;
      isLost = true;
      throw new Error("The reply is lost");
    },
  }));
  await append(store, LOG, [messageOf(0)]);
  // With an id, and with generated ids alone: they take different statements.
  for (const batch of [[messageOf(1, "a"), messageOf(2), messageOf(3, "a")], [messageOf(4), messageOf(5)]]) {
    isLost = false;
    const { outcomes } = await append(store, LOG, batch);
    assert(isLost);
    assertEquals(outcomes.map(({ duplicate }) => duplicate), batch.map((_, index) => index === 2));
  }
  assertEquals(dataOf(await readAll(store, LOG)), [0, 1, 2, 4, 5]);
  // It is one for others.
  assertEquals((await append(store, LOG, [messageOf(6, "a")])).outcomes[0]!.duplicate, true);
});

Deno.test("a restored backup begins another incarnation, also where others have published beyond its end", async () => {
  for (const isAhead of [false, true]) {
    await using shop = await Shop.make();
    const [one, other, late] = [shop.open(), shop.open(), shop.open()];
    await append(one, LOG, [messageOf(1), messageOf(2)]);
    const before = await append(one, LOG, [messageOf("lost"), messageOf("lost, too")]);
    await other.bounds(LOG);
    shop.clock.advance(1);
    shop.database.exec(`DELETE FROM webfw_messages WHERE seq > 2;
      UPDATE webfw_logs SET head = 2, count = 2, bytes = 2`);
    if (isAhead) await append(late, LOG, [3, 4, 5].map((data) => messageOf(data)));
    const after = await one.read(LOG, LOG_START, ALL);
    assertNotEquals(after.incarnation, before.incarnation);
    assertEquals(dataOf(after.messages), isAhead ? [1, 2, 3, 4, 5] : [1, 2]);
    // All nodes have the same, also those that knew of lost messages.
    for (const store of [other, late]) assertEquals((await store.bounds(LOG)).incarnation, after.incarnation);
    assertEquals((await append(other, LOG, [messageOf(6)])).incarnation, after.incarnation);
  }
});

/** A store whose next write is not answered, and carried out when the test says so. */
function openDelayed(shop: Shop, isWrite: (text: string) => boolean) {
  const held = Promise.withResolvers<() => Promise<unknown>>();
  let isNext = false;
  const store = shop.open((engine) => ({
    query: (text, parameters) => {
      if (!isNext || !isWrite(text)) return engine.query(text, parameters);
      isNext = false;
      held.resolve(async () => {
        // The store has opened another connection.
        const late = await openSqlite(shop.path, () => {});
        await late.query(text, parameters);
        late.close();
        await late.closed!();
      });
      return Promise.reject(new Error("The reply is lost"));
    },
  }));
  return { store, held: held.promise, delayNext: () => isNext = true };
}

Deno.test("an unconditional write that is carried out late does not undo a later one", async () => {
  await using shop = await Shop.make();
  const { store, held, delayNext } = openDelayed(shop, (text) => !text.startsWith("SELECT"));
  const [records, others] = await Promise.all([store.openRecords(), shop.open().openRecords()]);
  await records.set(["stock"], "0", {});
  delayNext();
  await records.set(["stock"], "1", {});
  const carryOut = await held;
  const version = await others.set(["stock"], "2", {});
  await carryOut();
  assertEquals(await records.get(["stock"]), { value: "2", version: version! });
});

Deno.test("a late write does not bring back a record that was deleted meanwhile", async () => {
  for (const expect of [undefined, null]) {
    await using shop = await Shop.make();
    const { store, held, delayNext } = openDelayed(shop, (text) => text.startsWith("INSERT"));
    const [records, others] = await Promise.all([store.openRecords(), shop.open().openRecords()]);
    assertEquals(await records.get(["lock"]), null);
    delayNext();
    const version = await records.set(["lock"], "1", expect === null ? { expect } : {});
    const carryOut = await held;
    assertEquals(await others.delete(["lock"], { expect: version! }), true);
    await carryOut();
    assertEquals(await records.get(["lock"]), null);
  }
});

Deno.test("a compare-and-set whose reply was lost recognizes its own write", async () => {
  await using shop = await Shop.make();
  let isLost = false;
  const store = shop.open((engine) => ({
    query: async (text, parameters) => {
      const rows = await engine.query(text, parameters);
      if (!isLost || text.startsWith("SELECT")) return rows;
      isLost = false;
      throw new Error("The reply is lost");
    },
  }));
  const records = await store.openRecords();
  isLost = true;
  const first = await records.set(["a"], "1", { expect: null });
  assert(first !== null && !isLost);
  isLost = true;
  const second = await records.set(["a"], "2", { expect: first });
  assertEquals(await records.get(["a"]), { value: "2", version: second! });
  isLost = true;
  assertEquals(await records.delete(["a"], { expect: second! }), true);
  assertEquals(await records.get(["a"]), null);
});

Deno.test("messages of the outbox get their places before the next ones, once, and in their order", async () => {
  await using shop = await Shop.make();
  const [one, other] = [shop.open(), shop.open()];
  await append(one, LOG, [messageOf(1, "a")]);
  const insert = shop.database.prepare(
    "INSERT INTO webfw_outbox (name, id, type, data, bytes, trace) VALUES ('orders', ?, NULL, ?, 1, NULL)",
  );
  shop.database.exec("BEGIN");
  for (const [id, data] of [["a", "0"], ["b", "2"], ["c", "3"], ["b", "0"]]) insert.run(id!, data!);
  assertEquals(dataOf(await readAll(other, LOG)), [1]);
  shop.database.exec("COMMIT");
  const { outcomes } = await append(one, LOG, [messageOf(4), messageOf(5, "c")]);
  assertEquals(outcomes.map(({ duplicate }) => duplicate), [false, true]);
  for (const store of [one, other]) assertEquals(dataOf(await readAll(store, LOG)), [1, 2, 3, 4]);
  insert.run("d", "5");
  assertEquals(dataOf(await readAll(other, LOG)), [1, 2, 3, 4, 5]);
  insert.run("d", "6");
  assertEquals((await one.bounds(LOG)).highWatermark, (await other.bounds(LOG)).highWatermark);
  assertEquals(shop.database.prepare("SELECT count(*) AS n FROM webfw_outbox").get()!.n, 0);
});

Deno.test("a transaction may publish any number of messages: a statement moves a part of them, in their order", async () => {
  await using shop = await Shop.make();
  const moved: number[] = [];
  const store = shop.open((engine) => ({
    batch: async (statements) => {
      const rows = await engine.batch!(statements);
      if (statements.length === 5) moved.push(rows[2]!.length);
      return rows;
    },
  }));
  await append(store, LOG, [messageOf(0)]);
  moved.length = 0;
  shop.database.exec(`WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 1000)
    INSERT INTO webfw_outbox (name, id, data, bytes) SELECT 'orders', 'id ' || n, n, 4 FROM t`);
  const { outcomes } = await append(store, LOG, [messageOf(0, "id 700"), messageOf(1_001)]);
  assertEquals(outcomes.map(({ duplicate }) => duplicate), [true, false]);
  assertEquals(dataOf(await readAll(shop.open(), LOG)), Array.from({ length: 1_002 }, (_, n) => n));
  assert(moved.length > 1 && Math.max(...moved) < 500, `At once: ${moved}`);
});

Deno.test("any number of records may end at once: a statement removes a part of them", async () => {
  await using shop = await Shop.make();
  const removed: number[] = [];
  const store = shop.open((engine) => ({
    query: async (text, parameters) => {
      const rows = await engine.query(text, parameters);
      if (text.startsWith("DELETE")) removed.push(rows.length);
      return rows;
    },
  }));
  const records = await store.openRecords();
  await records.set(["stays"], "1", {});
  shop.database.exec(`WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3500)
    INSERT INTO webfw_records SELECT 'a/' || n || '/', '1', 'v' || n, CASE WHEN n % 2 THEN n ELSE -n END FROM t`);
  shop.clock.advance(5 * MINUTE);
  using _sweeps = new SkippedTimeout(10_000, 15_000);
  await records.set(["last"], "1", { expiresIn: 10 * MINUTE });
  const count = shop.database.prepare("SELECT count(*) AS n FROM webfw_records");
  // The reply of the thread comes after the commit that this connection sees.
  const isRemoved = () => removed.reduce((sum, count) => sum + count, 0) === 3_500;
  await until("those that have ended are removed", isRemoved);
  assertEquals(count.get()!.n, 2);
  assertEquals(removed.filter((count) => count > 0), [1_000, 1_000, 1_000, 500]);
});

Deno.test("a process that publishes in transactions alone removes old messages, too", async () => {
  await using shop = await Shop.make();
  const other = shop.open();
  await append(other, logOf("orders", { age: MINUTE }), [messageOf(1), messageOf(2)]);
  await other.close();
  shop.clock.advance(2 * MINUTE);
  const store = shop.open();
  await store.open();
  using _sweeps = new SkippedTimeout(10_000, 15_000);
  shop.database.exec("BEGIN");
  await store.appendIn(shop.database, logOf("mails"), { ...messageOf(1), id: "1", isGenerated: false });
  shop.database.exec("COMMIT");
  const low = shop.database.prepare("SELECT low FROM webfw_logs WHERE name = 'orders'");
  await until("the messages are removed", () => low.get()!.low === 2);
});

Deno.test("a watch goes on after the file was opened again", async () => {
  await using shop = await Shop.make();
  const listened = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let listens = 0;
  const store = shop.open((engine) => ({
    listen: async (onNotify, onLost) => {
      const end = await engine.listen!(onNotify, onLost);
      listened[listens++]?.resolve();
      return end;
    },
  }));
  const unwatch = store.watch(LOG, () => {});
  await listened[0]!.promise;
  shop.reopenLast();
  await listened[1]!.promise;
  unwatch();
});

Deno.test("a watch calls for a message of a transaction, in another process too", async () => {
  await using shop = await Shop.make();
  const store = shop.open();
  await store.bounds(LOG);
  const { promise, resolve } = Promise.withResolvers<void>();
  let isCommitted = false;
  const unwatch = store.watch(LOG, () => isCommitted && resolve());
  shop.database.exec("INSERT INTO webfw_outbox (name, id, data, bytes) VALUES ('orders', 'a', '1', 1)");
  isCommitted = true;
  await promise;
  unwatch();
  assertEquals(dataOf(await readAll(store, LOG)), [1]);
});

Deno.test("removed messages leave their ids for the window and no data, and then no row", async () => {
  await using shop = await Shop.make();
  const store = shop.open();
  const log = logOf("orders", { count: 1, dedupe: MINUTE });
  await append(store, log, [messageOf("secret", "a", "made"), messageOf(2, "b")]);
  await store.trim(log);
  const rows = () => shop.database.prepare("SELECT id, type, data FROM webfw_messages ORDER BY seq").all();
  assertEquals(rows().map((row) => ({ ...row })), [{ id: "a", type: null, data: "" }, {
    id: "b",
    type: null,
    data: "2",
  }]);
  assertEquals((await append(store, log, [messageOf(3, "a")])).outcomes[0]!.duplicate, true);
  shop.clock.advance(MINUTE + 1);
  await store.trim(log);
  assertEquals(rows().length, 1);
  assertEquals((await append(store, log, [messageOf(3, "a")])).outcomes[0]!.duplicate, false);
});

Deno.test("nodes that make the tables at once all work, and tables of a migration are used", async () => {
  await using shop = await Shop.make();
  const stores = Array.from({ length: 4 }, () => shop.open());
  await Promise.all(stores.map((store, index) => append(store, LOG, [messageOf(index)])));
  assertEquals(dataOf(await readAll(stores[0]!, LOG)).toSorted(), [0, 1, 2, 3]);

  await using other = await Shop.make();
  const text = schemaText("sqlite");
  for (let time = 0; time < 2; time++) other.database.exec(text);
  await append(other.open(), LOG, [messageOf(1)]);
  assertEquals(other.database.prepare("SELECT version FROM webfw_version").all().length, 1);
});

Deno.test("tables of a later version are an error that says so", async () => {
  await using shop = await Shop.make();
  shop.database.exec(schemaText("sqlite"));
  shop.database.exec("UPDATE webfw_version SET version = 99");
  const error = await assertRejects(() => shop.open().open(), Error, "its tables have version 99");
  assertEquals(error.name, "CannotOpenError");
});

Deno.test("a start beside a server that has no free connection says so, and does not blame the address", async () => {
  using _log = new CapturedLog();
  await inVirtualTime(new Random(1), async () => {
    const full = Object.assign(new Error('too many connections for role "shop"'), { code: "53300" });
    const open = () => Promise.reject(full);
    const store = new SqlStore({ name: "db:5432/shop", dialect: "postgres", open });
    await assertRejects(
      () => store.open(),
      CannotOpenError,
      'Cannot open the store of topics "db:5432/shop": it has refused each connection for 10 s (too many connections for role "shop"), close some there, or raise its limits',
    );
    await store.close();
  });
});

Deno.test("SQLite: a start waits for its thread, which needs long on a busy machine", async () => {
  await using folder = await TemporaryFolder.make();
  const store = openSqlStore({ sqlite: join(folder.path, "shop.sqlite") });
  using time = new FakeTime();
  const opening = store.open();
  // Settled before it is awaited, it would be an unhandled rejection.
  opening.catch(() => {});
  await time.advance(15_000);
  await opening;
  await store.close();
});
