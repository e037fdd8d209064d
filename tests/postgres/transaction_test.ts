// Stores, section 2, on a real server and by real clients: "Taken: the `tx` of postgres.js
// (savepoints too), a `client` of node-postgres after `BEGIN`, […] and for others an adapter
// `{ query(text, parameters) }`; the guide has Kysely and Drizzle." "The message is there exactly if
// the transaction commits; nobody else waits for it; it takes its place in the order after the
// commit, with its `id` compared then." "Works in every isolation level." And section 1: "the user's
// own role `USAGE` and `INSERT` on the outbox".

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { App, type Topic } from "@webfw/core";
import type { SqlTransaction } from "@webfw/core/types";
import { DatabaseSync } from "node:sqlite";
import { sql as query } from "npm:drizzle-orm@0.45";
import { drizzle as drizzlePg } from "npm:drizzle-orm@0.45/node-postgres";
import { drizzle as drizzleJs } from "npm:drizzle-orm@0.45/postgres-js";
import { CompiledQuery, Kysely, PostgresDialect } from "npm:kysely@0.28";
// @ts-types="npm:@types/pg@8"
import pg from "npm:pg@8.23.1";
import postgres from "npm:postgres@3.4.9";
import * as v from "valibot";
import { takeData } from "../contract/reading.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

class Undo extends Error {}

/** A server, an application with a topic on it, and the clients of the application. */
class Shop implements AsyncDisposable {
  readonly app: App;
  readonly topic: Topic<string>;
  readonly sql: postgres.Sql;
  readonly pool: pg.Pool;

  private constructor(readonly server: PostgresServer) {
    this.app = new App({ topics: server.url });
    this.topic = this.app.topic<string>("orders", { durable: true });
    this.sql = postgres(server.url, { onnotice: () => {} });
    this.pool = new pg.Pool({ connectionString: server.url });
  }

  static async start(): Promise<Shop> {
    const server = await PostgresServer.start();
    await server.query("CREATE TABLE orders (id text)");
    const shop = new Shop(server);
    await shop.app.start();
    return shop;
  }

  /** Runs an action in a transaction of node-postgres. */
  async transact(action: (client: pg.PoolClient) => Promise<void>, mode = ""): Promise<void> {
    const client = await this.pool.connect();
    try {
      await client.query(`BEGIN ${mode}`);
      await action(client);
      await client.query("COMMIT");
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    } finally {
      client.release();
    }
  }

  /** All messages, and the rows of the transactions. */
  async compare(): Promise<string[]> {
    await this.topic.publish("end");
    const seen: string[] = [];
    for await (const entry of this.topic.subscribe({ from: "earliest" })) {
      assert("data" in entry);
      if (entry.data === "end") break;
      seen.push(entry.data);
    }
    assertEquals(seen.toSorted(), (await this.server.query("SELECT id FROM orders")).toSorted());
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.sql.end(), this.pool.end(), this.app.stop()]);
    await this.server[Symbol.asyncDispose]();
  }
}

/** What Drizzle's transactions of both clients have. */
interface DrizzleTransaction {
  execute(statement: ReturnType<typeof query.join>): PromiseLike<unknown>;
}

function ofDrizzle(tx: DrizzleTransaction): SqlTransaction {
  return {
    query: (text, parameters) =>
      tx.execute(query.join(
        text.split(/\$(\d+)/).map((part, index) =>
          index % 2 ? query`${parameters[Number(part) - 1]}` : query.raw(part)
        ),
      )),
  };
}

/** Carries out an action that throws in its transaction. */
async function undone(work: Promise<unknown>): Promise<void> {
  await assertRejects(() => work, Undo);
}

if (!hasPostgres) Deno.test.ignore(`Messages in transactions of PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  Deno.test("each client publishes in its transaction: the message is there exactly if it commits", async () => {
    await using shop = await Shop.start();
    const { pool, sql, topic } = shop;
    const kysely = new Kysely<{ orders: { id: string } }>({ dialect: new PostgresDialect({ pool }) });
    // A transaction of each client: it adds a row and a message, and throws if it must.
    const clients: Record<string, (id: string, mustThrow: boolean) => Promise<unknown>> = {
      "postgres.js": (id, mustThrow) =>
        sql.begin(async (tx) => {
          await tx`INSERT INTO orders VALUES (${id})`;
          await topic.publish(id, { id, transaction: tx });
          if (mustThrow) throw new Undo();
        }),
      "a savepoint of postgres.js": (id, mustThrow) =>
        sql.begin((tx) =>
          tx.savepoint(async (inner) => {
            await inner`INSERT INTO orders VALUES (${id})`;
            await topic.publish(id, { id, transaction: inner });
            if (mustThrow) throw new Undo();
          })
        ),
      "node-postgres": (id, mustThrow) =>
        shop.transact(async (client) => {
          await client.query("INSERT INTO orders VALUES ($1)", [id]);
          await topic.publish(id, { id, transaction: client });
          if (mustThrow) throw new Undo();
        }),
      "Kysely": (id, mustThrow) =>
        kysely.transaction().execute(async (trx) => {
          await trx.insertInto("orders").values({ id }).execute();
          const transaction: SqlTransaction = {
            query: (text, parameters) => trx.executeQuery(CompiledQuery.raw(text, parameters)),
          };
          await topic.publish(id, { id, transaction });
          if (mustThrow) throw new Undo();
        }),
      "Drizzle over postgres.js": (id, mustThrow) =>
        drizzleJs(sql).transaction(async (tx) => {
          await tx.execute(query`INSERT INTO orders VALUES (${id})`);
          await topic.publish(id, { id, transaction: ofDrizzle(tx) });
          if (mustThrow) throw new Undo();
        }),
      "Drizzle over node-postgres": (id, mustThrow) =>
        drizzlePg(pool).transaction(async (tx) => {
          await tx.execute(query`INSERT INTO orders VALUES (${id})`);
          await topic.publish(id, { id, transaction: ofDrizzle(tx) });
          if (mustThrow) throw new Undo();
        }),
    };
    await using reader = topic.subscribe();
    await reader.cursor();
    for (const [name, run] of Object.entries(clients)) {
      await undone(run(`undone ${name}`, true));
      await run(name, false);
      assertEquals(await takeData(reader, 1), [name]);
    }
    assertEquals(await shop.compare(), Object.keys(clients));
  });

  Deno.test("a savepoint that is undone takes its message along, not those before and after it", async () => {
    await using shop = await Shop.start();
    const { sql, topic } = shop;
    await sql.begin(async (tx) => {
      await topic.publish("before", { transaction: tx });
      await undone(tx.savepoint(async (inner) => {
        await topic.publish("undone", { transaction: inner });
        throw new Undo();
      }));
      await topic.publish("after", { transaction: tx });
      await tx`INSERT INTO orders VALUES ('before'), ('after')`;
    });
    assertEquals(await shop.compare(), ["before", "after"]);
  });

  Deno.test("no transaction fails because of its message, in any isolation level", async () => {
    await using shop = await Shop.start();
    const { topic } = shop;
    const levels = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
    const expected: string[] = [];
    const lanes = levels.flatMap((level) =>
      Array.from({ length: 3 }, async (_, lane) => {
        for (let n = 0; n < 15; n++) {
          const id = `${level} ${lane} ${n}`;
          expected.push(id);
          await shop.transact(async (client) => {
            // The snapshot begins here, and other transactions commit after it.
            await client.query("SELECT 1 FROM pg_class LIMIT 1");
            await client.query("INSERT INTO orders VALUES ($1)", [id]);
            await topic.publish(id, { id, transaction: client });
          }, `ISOLATION LEVEL ${level}`);
        }
      })
    );
    await Promise.all(lanes);
    const seen = await shop.compare();
    assertEquals(seen.toSorted(), expected.toSorted());
    // A lane awaits each commit.
    for (const lane of Map.groupBy(seen, (id) => id.replace(/ \d+$/, "")).values()) {
      assertEquals(
        lane,
        lane.toSorted((one, other) => Number(one.split(" ").at(-1)) - Number(other.split(" ").at(-1))),
      );
    }
  });

  Deno.test("nobody waits for an open transaction, and messages have the order of the commits", async () => {
    await using shop = await Shop.start();
    const { server, topic } = shop;
    const elsewhere = new App({ topics: server.url });
    const other = elsewhere.topic<string>("orders", { durable: true });
    await using reader = other.subscribe({ from: "earliest" });
    await shop.transact(async (client) => {
      await client.query("INSERT INTO orders VALUES ('first to publish')");
      await topic.publish("first to publish", { transaction: client });
      // All of this ends while the transaction is open.
      await topic.publish("one", {});
      await other.publish("two");
      await shop.transact((client) => topic.publish("three", { transaction: client }));
      await takeData(reader, 3);
      await other.head();
    });
    assertEquals(await takeData(reader, 1), ["first to publish"]);
    await server.query("INSERT INTO orders VALUES ('one'), ('two'), ('three')");
    assertEquals(await shop.compare(), ["one", "two", "three", "first to publish"]);
    await elsewhere.stop();
  });

  Deno.test("ids are compared after the commit: of two transactions with one id, the first to commit has the message", async () => {
    await using shop = await Shop.start();
    const { sql, topic } = shop;
    await shop.transact(async (client) => {
      await topic.publish("of the second commit", { id: "1", transaction: client });
      await sql.begin((tx) => topic.publish("of the first commit", { id: "1", transaction: tx }));
      // It gets its place now, not only when the process looks at its transactions.
      await topic.head();
    });
    const { duplicate } = await topic.publish("later", { id: "1" });
    assertEquals(duplicate, true);
    await undone(sql.begin(async (tx) => {
      await topic.publish("undone", { id: "2", transaction: tx });
      throw new Undo();
    }));
    assertEquals((await topic.publish("of a free id", { id: "2" })).duplicate, false);
    await sql.begin((tx) => topic.publish("known", { id: "2", transaction: tx }));
    await sql`INSERT INTO orders VALUES ('of the first commit'), ('of a free id')`;
    assertEquals(await shop.compare(), ["of the first commit", "of a free id"]);
  });

  Deno.test("a publish that is not awaited is in the transaction, too", async () => {
    await using shop = await Shop.start();
    const { sql, topic } = shop;
    await sql.begin(async (tx) => {
      void topic.publish("tea", { transaction: tx });
      await tx`INSERT INTO orders VALUES ('tea')`;
    });
    await undone(sql.begin(async (tx) => {
      void topic.publish("undone", { transaction: tx });
      throw new Undo();
    }));
    assertEquals(await shop.compare(), ["tea"]);
  });

  Deno.test("a message whose transaction has ended before its statement is refused, and not published alone", async () => {
    await using shop = await Shop.start();
    const { app, pool, sql } = shop;
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const schema = v.pipeAsync(
      v.string(),
      v.checkAsync(async (text) => {
        await gates[text === "of postgres.js" ? 0 : 1]!.promise;
        return true;
      }),
    );
    const checked = app.topic("checked", { schema, durable: true });
    let published: Promise<void> | undefined;
    const refuse = async (part: string): Promise<void> => {
      const error = await assertRejects(() => published!, TypeError);
      assertStringIncludes(error.message, 'Cannot publish to the topic "checked" in a transaction');
      assertStringIncludes(error.message, part);
    };
    await undone(sql.begin(async (tx) => {
      published = checked.publish("of postgres.js", { transaction: tx });
      throw new Undo();
    }));
    gates[0]!.resolve();
    await refuse("its statement is in no transaction, nothing is published, await publish before the commit");
    const client = await pool.connect();
    await client.query("BEGIN");
    published = checked.publish("of node-postgres", { transaction: client });
    await client.query("ROLLBACK");
    gates[1]!.resolve();
    await refuse("run BEGIN before");
    await client.query("BEGIN");
    const orders = app.topic<string>("orders", { durable: true });
    published = orders.publish("beside a rollback", { transaction: client });
    const ended = client.query("ROLLBACK");
    await assertRejects(() => published!, TypeError, "its statement is in no transaction");
    await ended;
    // The same in a program that releases the client meanwhile.
    await client.query("BEGIN");
    published = orders.publish("forgotten", { transaction: client });
    const forgotten = assertRejects(() => published!, TypeError, "its statement is in no transaction");
    await client.query("ROLLBACK");
    client.release();
    await forgotten;
    // A transaction that is used after its end.
    for (const isUsed of [false, true]) {
      for (const error of [undefined, new Undo()]) {
        let kept: postgres.TransactionSql | undefined;
        await sql.begin(async (tx) => {
          kept = tx;
          if (isUsed) await tx`SELECT 1`;
          if (error) throw error;
        }).catch((thrown) => assertEquals(thrown, error));
        for (let times = 0; times < 3; times++) {
          const publishing = orders.publish("after the end", { transaction: kept! });
          await assertRejects(() => publishing, TypeError, "its statement is in no transaction");
        }
      }
    }
    await checked.publish("end");
    assertEquals(await takeData(checked.subscribe({ from: "earliest" }), 1), ["end"]);
    assertEquals(await shop.compare(), []);
  });

  Deno.test("a message has all of its parts by each client, also beside a BEGIN that is on its way", async () => {
    await using shop = await Shop.start();
    const { app, pool, sql } = shop;
    const parts = app.topic<string>("parts '\\ü", { durable: true });
    const text = `'"$1 \\ \\' \0 \ud800 ü 🫖 ${"x".repeat(40_000)}`;
    const options = (id: string) => ({ id: `${id}'\\ü`, type: `it's \\` });
    await sql.begin((tx) => parts.publish(text, { ...options("js"), transaction: tx }));
    const client = await pool.connect();
    const begun = client.query("BEGIN");
    await parts.publish(text, { ...options("pg"), transaction: client });
    await begun;
    await parts.publish(text, { ...options("late"), transaction: client });
    await client.query("COMMIT");
    client.release();
    const seen: unknown[] = [];
    for await (const entry of parts.subscribe({ from: "earliest" })) {
      assert("data" in entry);
      seen.push([entry.type, entry.data]);
      if (seen.length === 3) break;
    }
    assertEquals(seen, Array(3).fill([options("").type, text]));
    for (const id of ["js", "pg", "late"]) assert((await parts.publish("again", options(id))).duplicate);
  });

  Deno.test("an adapter that uses the pool in place of the transaction is refused, and publishes nothing", async () => {
    await using shop = await Shop.start();
    const { pool, sql, topic } = shop;
    const clients: SqlTransaction[] = [
      { query: (text, parameters) => pool.query(text, parameters) },
      { query: (text, parameters) => sql.unsafe(text, parameters as never[]) },
      ofDrizzle(drizzleJs(sql)),
    ];
    for (const transaction of clients) {
      await assertRejects(
        () => topic.publish("tea", { transaction }),
        TypeError,
        "let an adapter use the client of the transaction",
      );
    }
    assertEquals(await shop.compare(), []);
  });

  Deno.test("a program publishes before its application has started, and its tables are made", async () => {
    await using server = await PostgresServer.start();
    const app = new App({ topics: server.url });
    const topic = app.topic<string>("orders", { durable: true });
    const sql = postgres(server.url);
    await sql.begin((tx) => topic.publish("tea", { transaction: tx }));
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 1), ["tea"]);
    await Promise.all([sql.end(), app.stop()]);
  });

  Deno.test("a message comes though its publisher is killed right after the commit, and not what was open", async () => {
    await using shop = await Shop.start();
    const { server, topic } = shop;
    await using reader = topic.subscribe();
    await reader.cursor();
    const source = `
      import { App } from ${JSON.stringify(CORE)};
      import pg from "npm:pg@8.23.1";
      const url = Deno.env.get("URL")!;
      const topic = new App({ topics: url }).topic<string>("orders", { durable: true });
      const pool = new pg.Pool({ connectionString: url });
      const [one, other] = [await pool.connect(), await pool.connect()];
      await other.query("BEGIN");
      await other.query("INSERT INTO orders VALUES ('open')");
      await topic.publish("open", { transaction: other });
      await one.query("BEGIN");
      await one.query("INSERT INTO orders VALUES ('committed')");
      await topic.publish("committed", { transaction: one });
      await one.query("COMMIT");
      Deno.kill(Deno.pid, "SIGKILL");
    `;
    await using child = await ChildProgram.start(source, { env: { URL: server.url } });
    assertEquals(await takeData(reader, 1), ["committed"]);
    assertEquals((await child.end()).signal, "SIGKILL");
    assertEquals(await shop.compare(), ["committed"]);
  });

  Deno.test("the role of a transaction needs USAGE and INSERT alone, and an error says so", async () => {
    await using shop = await Shop.start();
    const { server, topic } = shop;
    await server.query("CREATE ROLE clerk LOGIN");
    const sql = postgres(server.urlFor("clerk"), { onnotice: () => {} });
    const publish = () => sql.begin((tx) => topic.publish("tea", { transaction: tx }));
    const error = await assertRejects(publish, Error);
    assertStringIncludes(
      error.message,
      'Cannot publish to the topic "orders" in a transaction: its role may not publish',
    );
    assertStringIncludes(error.message, "GRANT USAGE ON SCHEMA webfw and GRANT INSERT ON webfw.outbox");
    await server.query("GRANT USAGE ON SCHEMA webfw TO clerk; GRANT INSERT ON webfw.outbox TO clerk");
    await publish();
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 1), ["tea"]);
    await sql.end();
  });

  Deno.test("mistaken transactions are errors that name the topic and the cure, and publish nothing", async () => {
    await using shop = await Shop.start();
    const { pool, server, sql, topic } = shop;
    const refuse = async (transaction: unknown, ...parts: string[]): Promise<void> => {
      const options = { transaction: transaction as SqlTransaction };
      const error = await assertRejects(async () => await topic.publish("a", options), TypeError);
      for (const part of ['Cannot publish to the topic "orders" in a transaction', ...parts]) {
        assertStringIncludes(error.message, part);
      }
    };
    await refuse(sql, "a client of postgres.js", "give the tx of sql.begin(async (tx) => …)");
    const reserved = await sql.reserve();
    await refuse(reserved, "a client of postgres.js");
    reserved.release();
    await refuse(pool, "a pool of node-postgres", "give the client of pool.connect() after BEGIN");
    const client = await pool.connect();
    await refuse(client, "the client of node-postgres has no open transaction, run BEGIN before");
    // BEGIN is on its way.
    const begun = client.query("BEGIN");
    await topic.publish("on its way", { transaction: client });
    await begun;
    await client.query("ROLLBACK");
    await refuse(client, "run BEGIN before");
    client.release();
    using db = new DatabaseSync(":memory:");
    db.exec("BEGIN");
    await refuse(db, "the transaction is one of SQLite", `127.0.0.1:${server.port}`);
    await drizzleJs(sql).transaction((tx) => refuse(tx, "{ query(text, parameters) }"));
    await new Kysely({ dialect: new PostgresDialect({ pool }) }).transaction().execute((trx) =>
      refuse(trx, "{ query(text, parameters) }")
    );
    // Another database has no tables of topics.
    await server.query("CREATE DATABASE other");
    const other = postgres(server.urlFor("postgres", "other"), { onnotice: () => {} });
    const error = await assertRejects(() => other.begin((tx) => topic.publish("a", { transaction: tx })), TypeError);
    assertStringIncludes(error.message, "its database has no tables of topics, begin it in the database of");
    assert(!error.message.includes("password"));
    await other.end();
    assertEquals(await shop.compare(), []);
  });

  Deno.test("the compiler refuses pools, whole clients and the transactions of Kysely and Drizzle", () => {
    const _never = async ({ pool, sql, topic }: Shop): Promise<void> => {
      // @ts-expect-error A pool.
      await topic.publish("a", { transaction: pool });
      // @ts-expect-error A whole client.
      await topic.publish("a", { transaction: sql });
      // @ts-expect-error A reserved connection.
      await topic.publish("a", { transaction: await sql.reserve() });
      // @ts-expect-error It needs an adapter.
      await drizzleJs(sql).transaction((tx) => topic.publish("a", { transaction: tx }));
      await new Kysely({ dialect: new PostgresDialect({ pool }) }).transaction()
        // @ts-expect-error It needs an adapter.
        .execute((trx) => topic.publish("a", { transaction: trx }));
    };
  });
}
