// Three nodes that share a database: the promises of topics, through the options of the
// application.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App, type Subscription } from "@webfw/core";
import type { GapReason } from "@webfw/core/types";
import { take, takeData } from "../contract/reading.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

const DURABLE = { durable: true } as const;

function test(title: string, body: (server: Denokv) => Promise<void>): void {
  Deno.test({
    name: `Nodes that share a denokv: ${title}`,
    ignore: !hasDenokv,
    fn: async () => {
      await using server = await Denokv.start();
      await body(server);
    },
  });
}

test("all see one order, and resume on any node", async (server) => {
  const apps = [1, 2, 3].map(() => new App({ topics: { url: server.url, token: server.token } }));
  const nodes = apps.map((app) => app.topic<string>("orders", DURABLE));
  const readers = nodes.map((node) => node.subscribe());
  await Promise.all(readers.map((reader) => reader.cursor()));
  const ids = await Promise.all(nodes.map(async (node, number) => {
    const published: string[] = [];
    for (let count = 0; count < 20; count++) published.push((await node.publish(`${number} ${count}`)).id);
    return published;
  }));
  const [first, ...others] = await Promise.all(readers.map((reader) => takeData(reader, 60)));
  for (const seen of others) assertEquals(seen, first);
  const sorted = ids.flat().sort();
  for (const [index, after] of sorted.entries()) {
    if (index % 7 !== 0 || index === 59) continue;
    await using subscription = nodes[index % 3]!.subscribe({ after });
    assertEquals(await takeData(subscription, 59 - index), first!.slice(index + 1));
  }
  await Promise.all(apps.map((app) => app.stop()));
});

test("an id that several publish at once is one message with one id", async (server) => {
  const apps = [1, 2, 3].map(() => new App({ topics: { url: new URL(server.url), token: server.token } }));
  const nodes = apps.map((app) => app.topic<number>("orders", DURABLE));
  for (let round = 0; round < 10; round++) {
    const results = await Promise.all(nodes.map((node) => node.publish(round, { id: `${round}` })));
    assertEquals(new Set(results.map(({ id }) => id)).size, 1);
    assertEquals(results.filter(({ duplicate }) => !duplicate).length, 1);
  }
  assertEquals(await takeData(nodes[0]!.subscribe({ from: "earliest" }), 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await Promise.all(apps.map((app) => app.stop()));
});

test("the token can come from the environment, and a program needs no flag but two permissions", async (server) => {
  const env = { WEBFW_TOPICS: server.url, DENO_KV_ACCESS_TOKEN: server.token };
  const variables = "WEBFW_TOPICS,DENO_KV_ACCESS_TOKEN,WEBFW_LOG";
  const permissions = ["--no-prompt", `--allow-net=${new URL(server.url).host}`, `--allow-env=${variables}`];
  await using program = await ChildProgram.start(
    `
    delete Deno.openKv;
    import { App } from "${CORE}";
    const app = new App();
    const topic = app.topic("news", { durable: true });
    const subscription = topic.subscribe();
    await subscription.cursor();
    console.log("ready");
    for await (const { data } of subscription) if (data === "end") break; else await topic.publish("end");
    console.log("done");
    await app.stop();
  `,
    { env, permissions },
  );
  await program.printed("ready");
  const app = new App({ topics: { url: server.url, token: server.token } });
  const topic = app.topic<string>("news", DURABLE);
  const subscription = topic.subscribe();
  await topic.publish("begin");
  assertEquals(await takeData(subscription, 2), ["begin", "end"]);
  const { code, stderr } = await program.end();
  assertEquals([code, stderr], [0, ""]);
  await app.stop();
});

test("a token that is refused is an error at once", async (server) => {
  const app = new App({ topics: { url: server.url, token: "not the token" } });
  const error = await assertRejects(() => app.topic("news", DURABLE).head(), Error, "it refuses the token");
  assert(!error.message.includes("not the token"));
  await app.stop();
});

/** The ids of the next messages, and why some before them are missing. */
async function readOn(reader: Subscription<string>, count: number): Promise<{ reasons: GapReason[]; ids: string[] }> {
  const [reasons, ids]: [GapReason[], string[]] = [[], []];
  while (ids.length < count) {
    for (const entry of await take(reader, 1)) {
      if ("gap" in entry) reasons.push(entry.gap.reason);
      else ids.push(entry.id);
    }
  }
  return { reasons, ids };
}

test("when the database is lost and recreated, the readers of all nodes get a gap and continue", async (server) => {
  const apps = [1, 2].map(() => new App({ topics: { url: server.url, token: server.token } }));
  const nodes = apps.map((app) => app.topic<string>("orders", DURABLE));
  const readers = nodes.map((node) => node.subscribe({ from: "earliest" }));
  for (let number = 0; number < 20; number++) await nodes[0]!.publish(`before ${number}`);
  await Promise.all(readers.map((reader) => takeData(reader, 20)));
  await server.kill();
  await server.loseData();
  await server.startAgain();
  const published = [await nodes[0]!.publish("anew"), await nodes[1]!.publish("then")];
  for (const reader of readers) {
    const { reasons, ids } = await readOn(reader, 2);
    assertEquals([reasons.at(-1), ids], ["epoch", published.map(({ id }) => id)]);
  }
  await Promise.all(apps.map((app) => app.stop()));
});

for (const publishes of ["a node that had come further", "a node that comes then"]) {
  test(`when a backup is restored, and ${publishes} publishes, readers get a gap`, async (server) => {
    const apps = [1, 2, 3].map(() => new App({ topics: { url: server.url, token: server.token } }));
    const [node, other, late] = apps.map((app) => app.topic<string>("orders", DURABLE));
    const readers = [node!, other!].map((topic) => topic.subscribe({ from: "earliest" }));
    for (let number = 0; number < 10; number++) await node!.publish(`kept ${number}`);
    await server.kill();
    const setBack = await server.backUp();
    await server.startAgain();
    for (let number = 0; number < 10; number++) await node!.publish(`lost ${number}`);
    await Promise.all(readers.map((reader) => takeData(reader, 20)));
    const after = await node!.head();
    await server.kill();
    await setBack();
    await server.startAgain();
    const isKnowing = publishes === "a node that had come further";
    const { id } = await (isKnowing ? node! : late!).publish("anew");
    for (const reader of readers) {
      const { reasons, ids } = await readOn(reader, 11);
      assert(reasons.length > 0);
      // Who did not know gave an id of the incarnation that ended then.
      if (isKnowing) assertEquals(ids.at(-1), id);
    }
    // However many messages follow, a reader that comes back gets the gap, too.
    for (let number = 0; number < 20; number++) await late!.publish(`more ${number}`);
    const [entry] = await take(other!.subscribe({ after }), 1);
    assert("gap" in entry!);
    assertEquals(entry.gap.reason, "epoch");
    await Promise.all(apps.map((app) => app.stop()));
  });
}
