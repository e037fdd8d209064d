// What the store does with its tables in PostgreSQL: ids whose time is over, replies that were lost,
// and writes that are carried out late.

import { assert, assertEquals } from "@std/assert";
import { type PostgresLocation, toLocation } from "../../src/store/location.ts";
import type { SqlEngine } from "../../src/store/sql/engine.ts";
import { postgresOpener } from "../../src/store/sql/open_postgres.ts";
import { SqlStore } from "../../src/store/sql/sql_store.ts";
import { Clock } from "../contract/clock.ts";
import { append, dataOf, logOf, messageOf, readAll } from "../contract/store_fixture.ts";
import { SkippedTimeout } from "../spec/support/skipped_timeout.ts";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

const MINUTE = 60_000;
const LOG = logOf("orders");

type Query = SqlEngine["query"];

/** How a store sends statements. */
type Around = (query: Query) => Query;

/** A schema with stores over it. */
class Shop implements AsyncDisposable {
  readonly clock = new Clock();
  readonly schema = `test_${crypto.randomUUID().slice(0, 8)}`;
  readonly #stores: SqlStore[] = [];

  constructor(readonly server: PostgresServer) {}

  open(around: Around = (query) => query): SqlStore {
    const location = toLocation({ url: this.server.url, schema: this.schema }) as PostgresLocation;
    const open = postgresOpener(location);
    const store = new SqlStore({
      name: "PostgreSQL",
      dialect: "postgres",
      schema: this.schema,
      now: this.clock.now,
      isLogged: false,
      open: async (signal) => {
        const engine = await open(signal);
        return {
          dialect: "postgres",
          query: around((text, parameters) => engine.query(text, parameters)),
          transaction: (action) => engine.transaction(action),
          close: () => engine.close(),
          closed: () => engine.closed(),
        };
      },
    });
    this.#stores.push(store);
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await this.server.query(`DROP SCHEMA IF EXISTS ${this.schema} CASCADE`);
  }
}

/** Loses the reply of the next statement that writes. */
function losing(): { around: Around; loseNext(): void; readonly isLost: boolean } {
  let isNext = false;
  return {
    around: (query) => async (text, parameters) => {
      const rows = await query(text, parameters);
      if (!isNext || /^SELECT/.test(text)) return rows;
      isNext = false;
      throw new Error("The reply is lost");
    },
    loseNext: () => void (isNext = true),
    get isLost() {
      return !isNext;
    },
  };
}

if (!hasPostgres) Deno.test.ignore(`The store in PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  const server = await PostgresServer.start();
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  const test = (title: string, body: (shop: Shop) => Promise<void>): void => {
    Deno.test(`The store in PostgreSQL: ${title}`, async () => {
      await using shop = new Shop(server);
      await body(shop);
    });
  };

  test("an id whose time is over is stored again, in the order of its batch", async (shop) => {
    const store = shop.open();
    const log = logOf("orders", { dedupe: MINUTE });
    await append(store, log, [messageOf(1, "a")]);
    shop.clock.advance(MINUTE + 1);
    const { outcomes } = await append(store, log, [messageOf(2, "b"), messageOf(3, "a"), messageOf(4, "c")]);
    assertEquals(outcomes.map(({ duplicate }) => duplicate), [false, false, false]);
    assertEquals(dataOf(await readAll(store, log)), [1, 2, 3, 4]);
  });

  test("a batch whose reply was lost is stored once, and none of its messages is a duplicate", async (shop) => {
    const lost = losing();
    const store = shop.open(lost.around);
    await append(store, LOG, [messageOf(0)]);
    // With an id, with generated ids alone, and one of these: they take different statements.
    const batches = [[messageOf(1, "a"), messageOf(2), messageOf(3, "a")], [messageOf(4), messageOf(5)], [
      messageOf(6),
    ]];
    for (const batch of batches) {
      lost.loseNext();
      const { outcomes } = await append(store, LOG, batch);
      assert(lost.isLost);
      assertEquals(outcomes.map(({ duplicate }) => duplicate), batch.map((_, index) => index === 2));
    }
    assertEquals(dataOf(await readAll(store, LOG)), [0, 1, 2, 4, 5, 6]);
    assertEquals((await append(store, LOG, [messageOf(7, "a")])).outcomes[0]!.duplicate, true);
  });

  test("a write that is carried out late undoes no later one, and brings back no deleted record", async (shop) => {
    const held: (() => Promise<unknown>)[] = [];
    let isNext = false;
    const store = shop.open((query) => (text, parameters) => {
      if (!isNext || /^SELECT/.test(text)) return query(text, parameters);
      isNext = false;
      held.push(() => query(text, parameters));
      return Promise.reject(new Error("The reply is lost"));
    });
    const [records, others] = await Promise.all([store.openRecords(), shop.open().openRecords()]);
    await records.set(["stock"], "0", {});
    isNext = true;
    await records.set(["stock"], "1", {});
    const version = await others.set(["stock"], "2", {});
    await held.pop()!();
    assertEquals(await records.get(["stock"]), { value: "2", version: version! });

    isNext = true;
    const claimed = await records.set(["lock"], "1", { expect: null });
    assertEquals(await others.delete(["lock"], { expect: claimed! }), true);
    await held.pop()!();
    assertEquals(await records.get(["lock"]), null);
  });

  test("messages of committed transactions come first, and a batch with their ids is a duplicate", async (shop) => {
    const [one, other] = [shop.open(), shop.open()];
    await append(one, LOG, [messageOf(1)]);
    await append(other, LOG, [messageOf(2)]);
    const insert = (id: string, data: number) =>
      `INSERT INTO ${shop.schema}.outbox (name, id, data, bytes) VALUES ('orders', '${id}', '${data}', 1)`;
    await server.query([insert("a", 3), insert("b", 4), insert("a", 0)].join(";"));
    assertEquals((await append(one, LOG, [messageOf(5)])).outcomes[0]!.duplicate, false);
    assertEquals((await append(other, LOG, [messageOf(0, "b")])).outcomes[0]!.duplicate, true);
    await server.query(insert("c", 6));
    for (const store of [one, other]) assertEquals(dataOf(await readAll(store, LOG)), [1, 2, 3, 4, 5, 6]);
  });

  test("a transaction may publish any number of messages: a statement moves a part of them", async (shop) => {
    const stored: number[] = [];
    const store = shop.open((query) => async (text, parameters) => {
      const rows = await query(text, parameters);
      if (rows[0] && "stored" in rows[0]) stored.push(Number(rows[0].stored));
      return rows;
    });
    await append(store, LOG, [messageOf(0)]);
    stored.length = 0;
    await server.query(`INSERT INTO ${shop.schema}.outbox (name, id, data, bytes)
      SELECT 'orders', 'id ' || n, n, 4 FROM generate_series(1, 1000) n`);
    const { outcomes } = await append(store, LOG, [messageOf(0, "id 700"), messageOf(1_001)]);
    assertEquals(outcomes.map(({ duplicate }) => duplicate), [true, false]);
    assertEquals(dataOf(await readAll(shop.open(), LOG)), Array.from({ length: 1_002 }, (_, n) => n));
    assert(stored.length > 1 && Math.max(...stored) < 500, `At once: ${stored}`);
  });

  test("any number of records may end at once: a statement removes a part of them", async (shop) => {
    const removed: number[] = [];
    const store = shop.open((query) => async (text, parameters) => {
      const rows = await query(text, parameters);
      if (text.startsWith("DELETE")) removed.push(rows.length);
      return rows;
    });
    const records = await store.openRecords();
    await records.set(["stays"], "1", {});
    await server.query(`INSERT INTO ${shop.schema}.records
      SELECT 'a/' || n || '/', '1', 'v' || n, CASE WHEN n % 2 = 0 THEN n ELSE -n END FROM generate_series(1, 3500) n`);
    shop.clock.advance(5 * MINUTE);
    using _sweeps = new SkippedTimeout(10_000, 15_000);
    await records.set(["last"], "1", { expiresIn: 10 * MINUTE });
    await until("those that have ended are removed", async () => {
      return (await server.query(`SELECT count(*) FROM ${shop.schema}.records`))[0] === "2";
    });
    assertEquals(removed.filter((count) => count > 0), [1_000, 1_000, 1_000, 500]);
  });

  test("removed messages leave their ids for the window and no data, and then no row", async (shop) => {
    const store = shop.open();
    const log = logOf("orders", { count: 1, dedupe: MINUTE });
    await append(store, log, [messageOf("secret", "a", "made"), messageOf(2, "b")]);
    await store.trim(log);
    const rows = () => server.query(`SELECT id, type, data FROM ${shop.schema}.messages ORDER BY seq`);
    assertEquals(await rows(), ["a||", "b||2"]);
    assertEquals((await append(store, log, [messageOf(3, "a")])).outcomes[0]!.duplicate, true);
    shop.clock.advance(MINUTE + 1);
    await store.trim(log);
    assertEquals(await rows(), ["b||2"]);
  });
}
