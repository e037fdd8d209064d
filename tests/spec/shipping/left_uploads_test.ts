// shipping.md, section 2: "Temporary files of uploads are gone after every end: at stop, and at the
// next start after a kill"; "bodies that have not come 2 s after the stop are cut, so that one slow
// client does not hold the stop".

import { assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { RawConnection } from "../support/raw_connection.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";
import { until } from "../../support/wait.ts";

const PROGRAM = `
import { App, Form, Stream, UploadFile } from "${CORE}";
import * as v from "valibot";
const app = new App();
app.middleware(async (request, next) => {
  if (request.url.search !== "") console.log("begins " + request.url.search);
  return await next(request);
});
app.post("/json", { body: v.string() }, async () => 1);
app.post("/stream", { body: Stream() }, async (_request, { body }) => {
  for await (const _ of body);
});
app.post("/", { form: Form(v.object({ file: UploadFile })) }, async () => 1);
app.get("/exit", async () => Deno.exit(7));
app.get("/crash", async () => void setTimeout(() => { throw new Error("crashed"); }));
await app.run({ port: 0, gracePeriod: "10m", onListen: ({ port }) => console.log("port " + port) });
`;

const HEAD =
  "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 9000000\r\n\r\n";
const PART = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

function namesIn({ path }: TemporaryFolder): string[] {
  return [...Deno.readDirSync(path)].map(({ name }) => name);
}

/** Starts a program that holds a part of a large upload on disk. */
async function upload(temporary: TemporaryFolder): Promise<{ child: ChildProgram; connection: RawConnection }> {
  const child = await ChildProgram.start(PROGRAM, { env: { TMPDIR: temporary.path } });
  const connection = await RawConnection.open(await child.port());
  await connection.write(HEAD + PART + "x".repeat(2 * 1024 * 1024));
  await until("the file is on disk", () => isOnDisk(temporary));
  return { child, connection };
}

async function isOnDisk(temporary: TemporaryFolder): Promise<boolean> {
  const [folder] = namesIn(temporary);
  if (folder === undefined) return false;
  try {
    return (await Deno.stat(`${temporary.within(folder)}/0`)).size > 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** How a program ends, the code or signal of that end, and whether nothing is left by it. */
const ENDS:
  readonly (readonly [name: string, end: (child: ChildProgram) => unknown, ended: unknown, isClean: boolean])[] = [
    ["a stop", (child) => child.signal("SIGTERM"), 0, true],
    ["Deno.exit()", async (child) => await ask(child, "/exit"), 7, true],
    ["an uncaught error", async (child) => await ask(child, "/crash"), 1, false],
    ["a kill", (child) => child.signal("SIGKILL"), "SIGKILL", false],
  ];

async function ask(child: ChildProgram, path: string): Promise<void> {
  using connection = await RawConnection.open(await child.port());
  await connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await connection.rest();
}

for (const [name, end, ended, isClean] of ENDS) {
  Deno.test(`Temporary files of uploads are gone after ${name}${isClean ? "" : ", at the next start"}`, {
    ignore: Deno.build.os === "windows",
  }, async () => {
    await using temporary = await TemporaryFolder.make();
    const { child, connection } = await upload(temporary);
    using _connection = connection;
    await using _child = child;
    await end(child);
    const { code, signal } = await child.end();
    assertEquals(signal ?? code, ended);
    if (isClean) return assertEquals(namesIn(temporary), []);
    await using next = await ChildProgram.start(PROGRAM, { env: { TMPDIR: temporary.path } });
    await next.port();
    next.signal("SIGTERM");
    assertEquals((await next.end()).code, 0);
    assertEquals(namesIn(temporary), []);
  });
}

/** Bodies that never come to their end. */
const BODIES: readonly (readonly [path: string, type: string, start: string])[] = [
  ["/json", "application/json", '"x'],
  ["/stream", "application/octet-stream", "x"],
  ["/", "multipart/form-data; boundary=x", PART + "x".repeat(500_000)],
];

Deno.test("bodies that have not come are cut, so that one slow client does not hold the stop", async () => {
  // Much shorter than half of the grace period, after which everything is cut off.
  await using temporary = await TemporaryFolder.make();
  await using child = await ChildProgram.start(PROGRAM, { env: { TMPDIR: temporary.path } });
  const port = await child.port();
  using connections = new DisposableStack();
  const opened: RawConnection[] = [];
  for (const [path, type, start] of BODIES) {
    for (const framing of ["Content-Length: 900000", "Transfer-Encoding: chunked"]) {
      const connection = connections.use(await RawConnection.open(port));
      opened.push(connection);
      const sent = framing.startsWith("T") ? `${start.length.toString(16)}\r\n${start}\r\n` : start;
      await connection.write(
        `POST ${path}?${opened.length} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n${sent}`,
      );
      await child.printed(`begins \\?${opened.length}`);
    }
  }
  child.signal("SIGTERM");
  for (const connection of opened) assertEquals((await connection.reply()).status, 503);
  // The clients leave their connections open.
  const { code, stderr } = await child.end(15_000);
  assertEquals([code, stderr], [0, ""]);
});
