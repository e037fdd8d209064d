// Section 2 of the contract: SIGINT and SIGTERM stop a program that runs an App.

import { assert, assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { RawConnection } from "./support/raw_connection.ts";

/** A program that tells what it does, and keeps a request waiting until some time after it was told to stop. */
const PROGRAM = `
import { App } from "${CORE}";
const app = new App();
app.lifespan(async function* () {
  yield { db: "open" };
  console.log("lifespan ends");
});
const gate = Promise.withResolvers();
Deno.addSignalListener("SIGTERM", async () => {
  console.log("stopping");
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
  if (OPENS) gate.resolve();
});
app.get("/wait", async () => {
  console.log("waiting");
  await gate.promise;
  return "waited";
});
app.get("/events", async function* () {
  yield 1;
  await new Promise(() => {});
});
await app.run({ port: 0, gracePeriod: GRACE, onListen: ({ port }) => console.log("port " + port) });
console.log("run resolved");
`;

function program({ gracePeriod = 10_000, opens = true } = {}): string {
  return PROGRAM.replace("GRACE", String(gracePeriod)).replace("OPENS", String(opens));
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`${signal} stops it: streams end, lifespans unwind, run() resolves, the exit code is 0`, async () => {
    await using child = await ChildProgram.start(program());
    using connection = await RawConnection.open(await child.port());
    await connection.write("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
    await connection.until("\n\r\n");
    child.signal(signal);
    await connection.rest();
    const { code, stdout } = await child.end();
    assertEquals(code, 0);
    assert(stdout.endsWith("lifespan ends\nrun resolved\n"), stdout);
  });
}

Deno.test("SIGTERM waits for a request in flight, which gets its reply", async () => {
  await using child = await ChildProgram.start(program());
  using connection = await RawConnection.open(await child.port());
  await connection.write("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  await child.printed("waiting");
  child.signal("SIGTERM");
  assertEquals((await connection.reply()).body, '"waited"');
  const { code, stdout } = await child.end();
  assertEquals(code, 0);
  assert(stdout.endsWith("lifespan ends\nrun resolved\n"), stdout);
});

Deno.test("A request that does not end in the grace period is cut off: lifespans unwind, and the exit code tells", async () => {
  await using child = await ChildProgram.start(program({ gracePeriod: 100, opens: false }));
  using waiting = await RawConnection.open(await child.port());
  await waiting.write("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  await child.printed("waiting");
  child.signal("SIGTERM");
  assertEquals(await waiting.rest(), "");
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stdout.split("\n").slice(1)], [1, ["waiting", "stopping", "lifespan ends", ""]]);
  assertEquals(stderr.trimEnd().split("\n").length, 1, stderr);
});
