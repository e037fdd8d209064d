// Section 2 of the contract: what a signal waits for, and for how long. What ends at which moment is in
// stop_test.ts.

import { assert, assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { RawConnection } from "../spec/support/raw_connection.ts";
import { RawSocket } from "../spec/support/raw_socket.ts";
import { SocketClient } from "../spec/support/socket_client.ts";

/** A program that prints what it does, and has a request that never ends. */
const PROGRAM = `
import { App } from "${CORE}";
const app = new App();
app.lifespan(async function* () {
  yield { db: "open" };
  console.log("lifespan ends");
});
async function turns(count) {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  return "late";
}
Deno.addSignalListener("SIGTERM", () => console.log("stopping"));
app.get("/wait", async () => {
  console.log("waiting");
  await new Promise(() => {});
});
app.websocket("/silent", async (socket) => {
  for await (const _ of socket);
  console.log("the client has gone");
});
app.websocket("/flood", async (socket) => {
  for (;;) {
    const isTaken = socket.send("x".repeat(100_000));
    if (await Promise.race([isTaken, turns(100)]) === "late") console.log("the client takes no more");
    await isTaken;
  }
});
await app.run({ port: 0, gracePeriod: GRACE, onListen: ({ port }) => console.log("port " + port) });
console.log("run resolved");
`;

function program(gracePeriod: number): string {
  return PROGRAM.replace("GRACE", String(gracePeriod));
}

Deno.test("A request that exceeds the grace period is cut off: lifespans unwind, and the exit code is not 0", async () => {
  await using child = await ChildProgram.start(program(100));
  using waiting = await RawConnection.open(await child.port());
  await waiting.write("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  await child.printed("waiting");
  child.signal("SIGTERM");
  assertEquals(await waiting.rest(), "");
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stdout.split("\n").slice(1)], [1, ["waiting", "stopping", "lifespan ends", ""]]);
  assertEquals(stderr.trimEnd().split("\n").length, 1, stderr);
});

Deno.test("WebSockets are closed, and clients that do not read or answer delay the process at most for the grace period", async () => {
  await using child = await ChildProgram.start(program(6_000));
  const port = await child.port();
  await using client = await SocketClient.open(`http://127.0.0.1:${port}`, "/flood");
  using _silent = await RawSocket.open(port, "/silent");
  using _stalled = await RawSocket.open(port, "/flood");
  await child.printed("the client takes no more");
  child.signal("SIGTERM");
  assertEquals((await client.closed)[0], 1001);
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stderr], [0, ""]);
  assert(stdout.includes("lifespan ends\nrun resolved\n"), stdout);
});

Deno.test("A WebSocket whose client left without a close frame does not delay a stop", async () => {
  // Longer than the test waits for the program to end.
  await using child = await ChildProgram.start(program(600_000));
  const socket = await RawSocket.open(await child.port(), "/silent");
  socket.kill();
  await child.printed("the client has gone");
  child.signal("SIGTERM");
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stderr], [0, ""]);
  assert(stdout.endsWith("lifespan ends\nrun resolved\n"), stdout);
});

/** A program that publishes to a store that never answers, before and during its stop. */
const PUBLISHING = `
import { App } from "${CORE}";
const store = {
  capabilities: { durability: "disk", maxMessageBytes: 100, maxBatchMessages: 1, maxBatchIds: 1, maxBatchBytes: 100 },
  append: () => new Promise(() => {}),
  close: async () => console.log("closed"),
};
const app = new App({ topics: store });
const news = app.topic("news", { durable: true });
const publish = (text) => news.publish(text).catch(({ name }) => console.log(text, name));
app.lifespan(async function* () {
  console.log("starting");
  if (STARTS) await publish("starts");
  yield;
  if (!STARTS) await publish("ends");
});
publish("sent");
publish("waits");
await app.run({ port: 0, gracePeriod: 200, onListen: ({ port }) => console.log("port " + port) });
console.log("run resolved");
`;

Deno.test("A publish to a store that is away fails at the end of the grace period, and delays the process no longer", async () => {
  await using child = await ChildProgram.start(PUBLISHING.replaceAll("STARTS", "false"));
  await child.port();
  child.signal("SIGTERM");
  const { code, stdout } = await child.end();
  const told = ["waits Error", "ends Error", "sent PublishOutcomeUnknownError", "closed", "run resolved", ""];
  assertEquals([code, stdout.split("\n").slice(2)], [0, told]);
});

Deno.test("A lifespan that publishes to a store that is away does not delay the stop of a process", async () => {
  await using child = await ChildProgram.start(PUBLISHING.replaceAll("STARTS", "true"));
  await child.printed("starting");
  child.signal("SIGTERM");
  const { stdout } = await child.end();
  assert(stdout.includes("\nwaits Error\nstarts Error\n"), stdout);
  assert(stdout.endsWith("\nclosed\nrun resolved\n"), stdout);
});

Deno.test("A store that cannot be closed keeps no process", async () => {
  await using child = await ChildProgram.start(`
    import { App } from "${CORE}";
    const append = () => {};
    const app = new App({ topics: { capabilities: {}, append, close: () => Promise.reject("cannot close") } });
    app.lifespan(async function* () {
      yield app.topic("news", { durable: true }).head().catch(() => {});
    });
    await app.run({ port: 0, gracePeriod: 200, onListen: ({ port }) => console.log("port " + port) }).catch(console.log);
  `);
  await child.port();
  child.signal("SIGTERM");
  const { code, stdout } = await child.end();
  assertEquals([code, stdout.split("\n").slice(1)], [0, ["cannot close", ""]]);
});
