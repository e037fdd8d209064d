// Stores, section 3: "`topic.cancel(id)` before that; […] Together with `transaction` in SQL stores."

import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import pg from "npm:pg@8.23.1";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

const COUNT = 60;
/** When a message is due, in milliseconds. Nodes cancel it about then. */
const DUE = 1_000;

if (!hasPostgres) Deno.test.ignore(`Cancelled messages on PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  Deno.test("Cancelled messages on PostgreSQL: each is cancelled once or published once, whenever three nodes cancel it", async () => {
    await using server = await PostgresServer.start();
    const apps = Array.from({ length: 3 }, () => new App({ topics: server.url }));
    const topics = apps.map((app) => app.topic<number>("reminders", { durable: true }));
    await Promise.all(apps.map((app) => app.start()));
    const subscription = topics[0]!.subscribe();
    await subscription.cursor();
    const pool = new pg.Pool({ connectionString: server.url, max: 4 });
    const cancelled: number[] = [];
    await Promise.all(Array.from({ length: COUNT }, async (_, index) => {
      const id = `${index}`;
      const client = await pool.connect();
      await client.query("BEGIN");
      await topics[index % 3]!.publish(index, { id, after: DUE, transaction: client });
      await client.query("COMMIT");
      client.release();
      await new Promise((resolve) => setTimeout(resolve, index * 2 * DUE / COUNT));
      const answers = await Promise.all(topics.map((topic) => topic.cancel(id)));
      cancelled.push(...answers.filter((isCancelled) => isCancelled).map(() => index));
    }));
    const published: number[] = [];
    const reading = (async () => {
      for await (const entry of subscription) {
        assert("data" in entry);
        if (entry.data === COUNT) return;
        published.push(entry.data);
      }
    })();
    await until("all are published or cancelled", () => published.length + cancelled.length >= COUNT);
    {
      await using client = new TestClient(apps[1]!);
      assertEquals(await client.publishScheduled(), 0);
      await topics[1]!.publish(COUNT);
      await reading;
    }
    const expected = Array.from({ length: COUNT }, (_, index) => index);
    assertEquals([...cancelled, ...published].toSorted((one, other) => one - other), expected);
    await pool.end();
    await Promise.all(apps.map((app) => app.stop()));
  });
}
