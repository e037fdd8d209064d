// The connections of a node to PostgreSQL: "up to five connections and one that listens".

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import { type PostgresLocation, toLocation } from "../../src/store/location.ts";
import { postgresOpener } from "../../src/store/sql/open_postgres.ts";
import type { PostgresEngine } from "../../src/store/sql/postgres_engine.ts";
import { takeData } from "../contract/reading.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { MovedClock } from "../spec/support/moved_clock.ts";
import { Relay } from "../support/relay.ts";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

const HOUR = 3_600_000;
const PID = "SELECT pg_backend_pid() AS pid";

if (!hasPostgres) Deno.test.ignore(`Connections to PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  const server = await PostgresServer.start();
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  const test = (title: string, body: (engine: PostgresEngine) => Promise<void>) =>
    Deno.test(`Connections to PostgreSQL: ${title}`, async () => {
      const engine = await postgresOpener(toLocation(server.url) as PostgresLocation)(new AbortController().signal);
      try {
        await body(engine);
      } finally {
        await engine.closed();
      }
    });
  const pidOf = async (query: PostgresEngine["query"]) => Number((await query(PID))[0]!.pid);

  test("there are at most five, and the others wait for them", async (engine) => {
    const pids = await Promise.all(Array.from({ length: 30 }, async () => {
      return await engine.transaction(async (query) => {
        await query("SELECT pg_sleep(0.02)");
        return await pidOf(query);
      });
    }));
    assertEquals(new Set(pids).size, 5);
  });

  Deno.test("Connections to PostgreSQL: where the server allows fewer, those that there are serve all", async () => {
    using log = new CapturedLog();
    await server.query("CREATE ROLE few LOGIN CONNECTION LIMIT 2; GRANT CREATE ON DATABASE postgres TO few");
    const app = new App({ topics: server.urlFor("few") });
    const other = new App({ topics: server.url });
    const [topics, others] = [app, other].map((app) =>
      Array.from({ length: 10 }, (_, index) => app.topic<number>(`few ${index}`, { durable: true }))
    );
    const readers = topics!.map((topic) => topic.subscribe());
    await Promise.all(readers.map((reader) => reader.cursor()));
    for (let round = 0; round < 20; round++) await Promise.all(topics!.map((topic) => topic.publish(round)));
    await Promise.all(others!.map((topic) => topic.publish(20)));
    for (const reader of readers) assertEquals((await takeData(reader, 21)).at(-1), 20);
    await Promise.all([app.stop(), other.stop()]);
    assert(!log.text.includes("does not answer"), log.text);
  });

  test("a statement that is refused leaves its connection usable", async (engine) => {
    const pid = await pidOf(engine.query);
    await assertRejects(() => engine.query("SELECT nonsense"), Error, "nonsense");
    await assertRejects(() => engine.query("SELECT $1::int", ["nonsense"]), Error, "invalid input syntax");
    assertEquals(await pidOf(engine.query), pid);
  });

  test("a connection that is ended is replaced, and those that wait go on", async (engine) => {
    for (let round = 0; round < 3; round++) {
      const slow = Array.from({ length: 12 }, () => engine.query("SELECT pg_sleep(0.1)").then(() => true, () => false));
      await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'");
      await Promise.all(slow);
      assertEquals(await engine.query("SELECT 1 AS n"), [{ n: 1 }]);
    }
    // Also those that are idle.
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'webfw %'");
    for (let attempt = 0;; attempt++) {
      const rows = await engine.query("SELECT 1 AS n").catch((error) => {
        if (attempt > 5) throw error;
      });
      if (rows) break;
    }
  });

  test("a transaction that fails is undone, also if the failure of a statement was caught", async (engine) => {
    await server.query("CREATE TABLE IF NOT EXISTS numbers (n int); TRUNCATE numbers");
    await engine.transaction(async (query) => void await query("INSERT INTO public.numbers VALUES (1)"));
    await assertRejects(
      () =>
        engine.transaction(async (query) => {
          await query("INSERT INTO public.numbers VALUES (2)");
          throw new Error("no");
        }),
      Error,
      "no",
    );
    await assertRejects(
      () =>
        engine.transaction(async (query) => {
          await query("INSERT INTO public.numbers VALUES (3)");
          await query("SELECT nonsense").catch(() => {});
        }),
      Error,
      "The transaction was rolled back",
    );
    assertEquals(await engine.query("SELECT n FROM public.numbers"), [{ n: 1 }]);
  });

  Deno.test("Connections to PostgreSQL: the defaults of the role do not matter", async () => {
    await server.query(`CREATE ROLE odd LOGIN;
      ALTER ROLE odd SET default_transaction_isolation = 'serializable';
      ALTER ROLE odd SET default_transaction_read_only = on;
      ALTER ROLE odd SET synchronous_commit = off; ALTER ROLE odd SET statement_timeout = 1;
      ALTER ROLE odd SET search_path = odd, public, pg_catalog;
      ALTER ROLE odd SET DateStyle = 'German'; ALTER ROLE odd SET standard_conforming_strings = off`);
    const location = toLocation(server.urlFor("odd")) as PostgresLocation;
    const engine = await postgresOpener(location)(new AbortController().signal);
    const names = [
      "transaction_isolation",
      "transaction_read_only",
      "synchronous_commit",
      "statement_timeout",
      "search_path",
    ];
    const settings = await engine.query(
      `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join(", ")}`,
    );
    assertEquals(settings, [{
      transaction_isolation: "read committed",
      transaction_read_only: "off",
      synchronous_commit: "on",
      statement_timeout: "2500ms",
      search_path: "pg_catalog",
    }]);
    await engine.closed();
  });

  test("the time is that of the database, also after the clock of the machine was set", async (engine) => {
    using clock = new MovedClock();
    const before = engine.now();
    clock.advance(HOUR);
    await engine.refreshClock();
    assert(Math.abs(engine.now() - before) < HOUR / 2, `${engine.now() - before} ms`);
  });

  /** Where a connection that is being made waits for an answer in vain, by a part of that answer. */
  const parts = { "its handshake": "\0\0\0\x05I", "its check": "isStandby", "its clock": "\x01time\0" };
  for (const [stage, part] of Object.entries(parts)) {
    Deno.test(`Connections to PostgreSQL: one that is given up at ${stage} is closed`, async () => {
      using relay = new Relay(server.port);
      const lost = Promise.withResolvers<void>();
      const loseReplies = () => {
        relay.rewrite = (bytes) => {
          const isMet = new TextDecoder("latin1").decode(bytes).includes(part);
          if (isMet) lost.resolve();
          return isMet ? bytes.subarray(0, 0) : bytes;
        };
      };
      const url = `postgres://postgres@127.0.0.1:${relay.port}/postgres`;
      const open = postgresOpener(toLocation(url) as PostgresLocation);
      if (stage !== "its clock") {
        const engine = await open(new AbortController().signal);
        loseReplies();
        const listening = assertRejects(() => engine.listen!(() => {}, () => {}));
        await lost.promise;
        await engine.closed();
        await listening;
        relay.rewrite = undefined;
      }
      loseReplies();
      const giveUp = new AbortController();
      const opening = assertRejects(() => open(giveUp.signal));
      await lost.promise;
      giveUp.abort();
      await opening;
      await until("the server has no connection", async () => {
        const [count] = await server.query(
          "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'webfw %'",
        );
        return count === "0";
      });
    });
  }

  test("a connection that listens is one more, and says when it is lost or closed", async (engine) => {
    const [heard, lost] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    let losses = 0;
    await engine.listen!(heard.resolve, () => {
      losses++;
      lost.resolve();
    });
    await server.query("NOTIFY webfw, 'hello'");
    assertEquals(await heard.promise, "hello");
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
    await lost.promise;
    const end = await engine.listen!(() => {}, () => losses++);
    end();
    await engine.listen!(() => {}, () => losses++);
    // It may be closed to be opened again, and whoever listens must do so again.
    await engine.closed();
    assertEquals(losses, 2);
  });
}
