// A program that has stopped its application exits by itself, whatever state its database is in.

import { assert, assertEquals } from "@std/assert";
import { Relay } from "../support/relay.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

/** The log of a program whose database does not answer. */
const AWAY = ".*does not answer and is retried.*";

const PROGRAM = `
  if (Deno.env.get("KV") === "without") delete Deno.openKv;
  import { App } from "${CORE}";
  const app = new App();
  const topic = app.topic("news", { durable: true });
  const stopping = new AbortController();
  Deno.addSignalListener("SIGUSR1", () => stopping.abort());
  const subscription = topic.subscribe({ signal: stopping.signal });
  await subscription.cursor();
  await topic.publish("first");
  console.log("ready");
  for await (const _ of subscription);
  await app.stop();
  console.log("stopped");
`;

function test(title: string, body: (program: ChildProgram, relay: Relay, server: Denokv) => Promise<void>): void {
  for (const client of ["with", "without"]) {
    Deno.test({
      name: `A program that stopped its application ends ${title}, ${client} Deno's own KV`,
      ignore: !hasDenokv,
      fn: async () => {
        await using server = await Denokv.start();
        using relay = new Relay(server.port);
        const env = { WEBFW_TOPICS: `http://127.0.0.1:${relay.port}`, DENO_KV_ACCESS_TOKEN: server.token, KV: client };
        await using program = await ChildProgram.start(PROGRAM, { env });
        await program.printed("ready");
        await body(program, relay, server);
        program.signal("SIGUSR1");
        await program.printed("stopped");
        const { signal, code, stderr } = await program.end();
        assertEquals({ signal, code }, { signal: null, code: 0 });
        // Once, however many connections to it there are.
        assert(stderr.split("does not answer and is retried").length <= 2, stderr);
      },
    });
  }
}

test("while all is well", () => Promise.resolve());

test("behind a black hole that it has noticed", async (program, relay) => {
  relay.set("lossy");
  await program.printed(AWAY);
});

test("behind a black hole that it has not noticed", (_program, relay) => {
  relay.set("lossy");
  return Promise.resolve();
});

test("when its database was killed", async (program, _relay, server) => {
  await server.kill();
  await program.printed(AWAY);
});

const SERVING = `
  if (Deno.env.get("KV") === "without") delete Deno.openKv;
  import { App } from "${CORE}";
  const app = new App();
  const topic = app.topic("news", { durable: true });
  app.post("/news", async () => {
    topic.publish("x".repeat(50_000)).catch(({ name }) => console.log(name));
    return "begun";
  });
  await topic.publish("first");
  await app.run({ port: 0, gracePeriod: 200, onListen: ({ port }) => console.log("port " + port) });
  console.log("stopped");
`;

for (const client of ["with", "without"]) {
  Deno.test({
    name: `A program that serves ends while it publishes to a frozen denokv, ${client} Deno's own KV`,
    ignore: !hasDenokv,
    fn: async () => {
      await using server = await Denokv.start();
      const env = { WEBFW_TOPICS: server.url, DENO_KV_ACCESS_TOKEN: server.token, KV: client };
      await using program = await ChildProgram.start(SERVING, { env });
      const port = await program.port();
      server.freeze();
      for (let count = 0; count < 4; count++) {
        const response = await fetch(`http://127.0.0.1:${port}/news`, { method: "POST" });
        assertEquals(await response.json(), "begun");
      }
      program.signal("SIGTERM");
      const { signal, code, stdout } = await program.end();
      assertEquals({ signal, code }, { signal: null, code: 0 });
      const [, ...lines] = stdout.trimEnd().split("\n");
      assertEquals(lines, ["Error", "Error", "Error", "PublishOutcomeUnknownError", "stopped"]);
      server.thaw();
    },
  });
}
