// A plan is made while a log is small, and kept when it has grown: no statement may read all of it.

import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { Clock } from "../contract/clock.ts";
import { append, logOf, messageOf } from "../contract/store_fixture.ts";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";
import { Stores } from "./postgres_store.ts";

const ROWS = 20_000;
const MINUTE = 60_000;

const TITLE = "Batches with new, repeated and forgotten ids read few rows of a log that has grown";
if (!hasPostgres) Deno.test.ignore(`${TITLE}: ${POSTGRES_MISSING}`, () => {});
else {
  Deno.test(TITLE, async () => {
    const folder = await Deno.makeTempDir({ prefix: "webfw_plans_" });
    // The server may run as another user.
    await Deno.chmod(folder, 0o777);
    await using server = await PostgresServer.start({
      settings: [
        "logging_collector=on",
        `log_directory=${folder}`,
        "log_filename=server.log",
        "log_file_mode=0644",
        "shared_preload_libraries=auto_explain",
        "auto_explain.log_min_duration=0",
        "auto_explain.log_analyze=on",
        "auto_explain.log_timing=off",
        "autovacuum=off",
      ],
    });
    await using stores = new Stores(server, { now: new Clock().now });
    const store = stores.open();
    const [log, forgetting] = [logOf("orders"), logOf("orders", { dedupe: MINUTE })];
    const batch = (from: number) => Array.from({ length: 100 }, (_, n) => messageOf(n, `id ${from + n}`));
    const appendAll = async (from: number): Promise<void> => {
      for (const isAgain of [false, true]) {
        const { outcomes } = await append(store, log, batch(from));
        assert(outcomes.every(({ duplicate }) => duplicate === isAgain));
      }
    };
    await append(store, log, [messageOf("first")]);
    await appendAll(0);
    const { schema } = stores;
    await server.query(`INSERT INTO ${schema}.messages (log, seq, id, data, bytes, token, time)
SELECT l.id, l.head + n, 'stored ' || n, '1', 1, 0, 0 FROM ${schema}.logs l, generate_series(1, ${ROWS}) n`);
    await server.query(`UPDATE ${schema}.logs SET head = head + ${ROWS}, count = count + ${ROWS}`);
    await server.query("SELECT 'grown'");
    await appendAll(1_000);
    // Their time is over, so that they are forgotten first.
    const { outcomes } = await append(
      store,
      forgetting,
      Array.from({ length: 100 }, (_, n) => messageOf(n, `stored ${n + 1}`)),
    );
    assertEquals(outcomes.filter(({ duplicate }) => duplicate).length, 0);
    await server.query("SELECT 'the end'");
    let text = "";
    await until("the log of the server has all plans", async () => {
      text = await Deno.readTextFile(join(folder, "server.log"));
      return text.includes("SELECT 'the end'");
    });
    const after = text.slice(text.indexOf("SELECT 'grown'"));
    const reads = [...after.matchAll(/^.*\b(?:Rows Removed by (?:Join )?Filter: |rows=)(\d+)\b(?! width).*$/gm)];
    const many = reads.filter(([, rows]) => Number(rows) >= ROWS / 2).map(([line]) => line.trim());
    assert(reads.length > 20);
    assertEquals(many, []);
    await Deno.remove(folder, { recursive: true });
  });
}
