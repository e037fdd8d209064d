// "A restored backup is told (gap `epoch`), also where others have published beyond its end."

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { App } from "@webfw/core";
import { take, takeData } from "../contract/reading.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

function nodeOf(topics: string) {
  const app = new App({ topics });
  const topic = app.topic<number>("orders", { durable: true });
  return {
    app,
    topic,
    publish: async (first: number, count: number): Promise<string> => {
      let id = "";
      for (let n = 0; n < count; n++) ({ id } = await topic.publish(first + n));
      return id;
    },
  };
}

/** Who publishes first after the restore. */
type First = "a node that had read beyond its end" | "a node that comes then" | "others, beyond its end";

async function restoreUnder(first: First): Promise<void> {
  using _log = new CapturedLog();
  await using server = await PostgresServer.start();
  const [one, other, late] = [nodeOf(server.url), nodeOf(server.url), nodeOf(server.url)];
  const readers = [one, other].map(({ topic }) => topic.subscribe({ from: "earliest" }));
  const before = await one.publish(0, 10);
  await server.stop();
  const restore = await server.backUp();
  await server.startAgain();
  const lost = await one.publish(10, 10);
  for (const reader of readers) assertEquals((await takeData(reader, 20)).at(-1), 19);
  await server.stop();
  await restore();
  await server.startAgain();
  if (first === "others, beyond its end") await late.publish(100, 30);
  const publisher = first === "a node that had read beyond its end" ? one : late;
  const id = await publisher.publish(1_000, 1);
  for (const reader of readers) {
    const gaps: string[] = [];
    for (;;) {
      const [entry] = await take(reader, 1);
      if ("gap" in entry!) gaps.push(entry.gap.reason);
      else if (entry!.data === 1_000) break;
      else assert(entry!.data < 10 || entry!.data >= 100, `Message ${entry!.data} was lost, and is read`);
    }
    assertEquals(gaps, ["epoch"]);
  }
  // A client that comes back with an id from before.
  const [entry] = await take(other.topic.subscribe({ after: lost }), 1);
  assertEquals("gap" in entry! && entry.gap.reason, "epoch");
  // A node that knows it publishes in another incarnation at once.
  if (publisher === one) assertNotEquals(id.split("-")[0], before.split("-")[0]);
  await Promise.all([one, other, late].map(({ app }) => app.stop()));
}

const TITLE = "A backup of PostgreSQL that was restored";
if (!hasPostgres) Deno.test.ignore(`${TITLE}: ${POSTGRES_MISSING}`, () => {});
else {
  const firsts: First[] = [
    "a node that had read beyond its end",
    "a node that comes then",
    "others, beyond its end",
  ];
  for (const first of firsts) {
    Deno.test(`${TITLE} is a gap \`epoch\`: first published by ${first}`, () => restoreUnder(first));
  }
}
