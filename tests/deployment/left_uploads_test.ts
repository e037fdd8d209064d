// Section 9 of the contract, safety: a server removes the files that an earlier process left, and no
// others. shipping.md, section 2: "Temporary files of uploads are gone after every end: at stop, and at
// the next start after a kill".

import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { RawConnection } from "../spec/support/raw_connection.ts";
import { TemporaryFolder } from "../spec/support/temporary_folder.ts";
import { until } from "../support/wait.ts";

const PROGRAM = `
import { App } from "${CORE}";
await new App().run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;

/** Starts a program with a folder for temporary files, and stops it. */
async function start(folder: string, permissions?: string[]): Promise<string> {
  const env = { TMPDIR: folder };
  await using child = await ChildProgram.start(PROGRAM, permissions ? { env, permissions } : { env });
  await child.port();
  child.signal("SIGTERM");
  const { code, stderr } = await child.end();
  assertEquals(code, 0);
  return stderr;
}

/** A folder as a process leaves it that was killed. */
async function leave(
  folder: string,
  name: string,
  { mode = 0o700, lock = "x" as string | null } = {},
): Promise<string> {
  const path = join(folder, name);
  await Deno.mkdir(path);
  await Deno.writeTextFile(join(path, "0"), "content");
  if (lock !== null) await Deno.writeTextFile(join(path, "lock"), lock);
  await Deno.chmod(path, mode);
  return path;
}

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test({
  name: "Only a folder that a process of the same user had locked, and nobody has any more, is removed",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await TemporaryFolder.make();
    await using elsewhere = await TemporaryFolder.make();
    await leave(folder.path, "webfw-upload-dead");
    await leave(folder.path, "webfw-upload-open", { mode: 0o755 });
    await leave(folder.path, "webfw-upload-unlocked", { lock: "" });
    await leave(folder.path, "webfw-upload-bare", { lock: null });
    await leave(folder.path, "other-upload-dead");
    // Only root can give a folder away.
    const isRoot = Deno.uid() === 0;
    if (isRoot) await Deno.chown(await leave(folder.path, "webfw-upload-another"), 65534, 65534);
    const target = await leave(elsewhere.path, "webfw-upload-target");
    await Deno.symlink(target, folder.within("webfw-upload-link"));
    await Deno.writeTextFile(folder.within("webfw-upload-file"), "");
    const held = await leave(folder.path, "webfw-upload-held");
    using lock = await Deno.open(join(held, "lock"), { write: true });
    await lock.lock(true);
    assertEquals(await start(folder.path), "");
    assertEquals(namesIn(folder.path), [
      "other-upload-dead",
      ...(isRoot ? ["webfw-upload-another"] : []),
      "webfw-upload-bare",
      "webfw-upload-file",
      "webfw-upload-held",
      "webfw-upload-link",
      "webfw-upload-open",
      "webfw-upload-unlocked",
    ]);
    assertEquals(namesIn(target), ["0", "lock"]);
    await lock.unlock();
  },
});

Deno.test({
  name: "A server removes what was left after its first reply, and needs no second request for it",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await TemporaryFolder.make();
    const left = await leave(folder.path, "webfw-upload-dead");
    await using child = await ChildProgram.start(PROGRAM, { env: { TMPDIR: folder.path } });
    const port = await child.port();
    using changes = Deno.watchFs(folder.path);
    assertEquals(namesIn(folder.path), ["webfw-upload-dead"]);
    await (await fetch(`http://127.0.0.1:${port}/`)).body?.cancel();
    for await (const { kind, paths } of changes) {
      if (kind === "remove" && paths.includes(left)) break;
    }
    child.signal("SIGTERM");
    assertEquals((await child.end()).code, 0);
  },
});

Deno.test({
  name: "In a folder where others can exchange what belongs to the user, nothing is removed",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await TemporaryFolder.make();
    await leave(folder.path, "webfw-upload-dead");
    await Deno.chmod(folder.path, 0o777);
    await start(folder.path);
    assertEquals(namesIn(folder.path), ["webfw-upload-dead"]);
    await Deno.chmod(folder.path, 0o1777);
    await start(folder.path);
    assertEquals(namesIn(folder.path), []);
  },
});

Deno.test({
  name: "Without permission for the folder, or without the folder, a start does not fail, and says nothing",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await TemporaryFolder.make();
    await leave(folder.path, "webfw-upload-dead");
    for (const permissions of [["--allow-net", "--allow-env"], ["--allow-net"], ["-A"]]) {
      const path = permissions[0] === "-A" ? folder.within("none") : folder.path;
      const stderr = await start(path, ["--no-prompt", ...permissions]);
      assertEquals(stderr, "", permissions.join(" "));
    }
    assertEquals(namesIn(folder.path), ["webfw-upload-dead"]);
  },
});

Deno.test("Where files cannot be kept, the log names the folder and the cure, and the client gets a 500", async () => {
  await using folder = await TemporaryFolder.make();
  const program = `
import { App, Form, UploadFile } from "${CORE}";
import * as v from "npm:valibot@^1.5.0";
const app = new App();
app.post("/", { form: Form(v.object({ file: UploadFile })) }, async (_request, { form }) => form.file.size);
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;
  const missing = folder.within("missing");
  await using child = await ChildProgram.start(program, { env: { TMPDIR: missing } });
  const body = new FormData();
  body.append("file", new File([new Uint8Array(2_000_000)], "large.bin"));
  const reply = await fetch(`http://127.0.0.1:${await child.port()}`, { method: "POST", body });
  assertEquals([reply.status, (await reply.json()).detail], [500, "Internal Server Error"]);
  child.signal("SIGTERM");
  const { stderr } = await child.end();
  assertStringIncludes(stderr, `Cannot keep the files of a form in \\"${missing}\\": No such file or directory`);
  assertStringIncludes(stderr, "; set TMPDIR to a folder with enough space");
});

/** A program that takes uploads, and ends as it is told to. */
const UPLOADS = `
import { App, Form, UploadFile } from "${CORE}";
import * as v from "valibot";
const app = new App();
const form = Form(v.object({ file: UploadFile }));
app.post("/", { form }, async () => 1);
app.post("/hangs", { form }, async () => {
  console.log("hangs");
  await new Promise(() => {});
});
app.get("/exit", async () => Deno.exit(7));
app.get("/crash", async () => void setTimeout(() => { throw new Error("crashed"); }));
await app.run({ port: 0, gracePeriod: GRACE, onListen: ({ port }) => console.log("port " + port) });
`;

/** What is sent of an upload: so much that it is kept on disk. */
const SENT = `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${"x".repeat(2 * 1024 * 1024)}`;
const END = "\r\n--x--\r\n";

/** The folders of uploads: a process has other files there for a moment. */
function uploadsIn(folder: string): string[] {
  return namesIn(folder).filter((name) => name.startsWith("webfw-upload-"));
}

/** A program with an upload, whose file is in a folder. */
class Uploading implements AsyncDisposable {
  readonly child: ChildProgram;
  readonly #connection: RawConnection;

  private constructor(child: ChildProgram, connection: RawConnection) {
    this.child = child;
    this.#connection = connection;
  }

  /** Begins an upload, or sends a whole one to a handler that never ends. */
  static async begin(folder: string, { isWhole = false } = {}): Promise<Uploading> {
    const before = uploadsIn(folder);
    const grace = isWhole ? 100 : 600_000;
    const child = await ChildProgram.start(UPLOADS.replace("GRACE", `${grace}`), { env: { TMPDIR: folder } });
    const connection = await RawConnection.open(await child.port());
    const length = isWhole ? SENT.length + END.length : 9_000_000;
    const head = `Content-Type: multipart/form-data; boundary=x\r\nContent-Length: ${length}\r\n\r\n`;
    const path = isWhole ? "/hangs" : "/";
    await connection.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${head}${SENT}${isWhole ? END : ""}`);
    if (isWhole) await child.printed("hangs");
    const added = () => uploadsIn(folder).find((name) => !before.includes(name));
    await until("the file is on disk", async () => {
      const name = added();
      return name !== undefined && await hasContent(join(folder, name, "0"));
    });
    return new Uploading(child, connection);
  }

  async get(path: string): Promise<void> {
    using connection = await RawConnection.open(await this.child.port());
    await connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await connection.rest();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.close();
    await this.child[Symbol.asyncDispose]();
  }
}

async function hasContent(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).size > 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** How a program ends by itself, and its exit code. */
const ENDS: readonly (readonly [name: string, end: (run: Uploading) => unknown, code: number, isWhole?: boolean])[] = [
  ["a stop", ({ child }) => child.signal("SIGTERM"), 0],
  ["a stop whose grace period is over", ({ child }) => child.signal("SIGTERM"), 1, true],
  ["Deno.exit()", (run) => run.get("/exit"), 7],
];

for (const [name, end, expected, isWhole = false] of ENDS) {
  Deno.test(`Temporary files of uploads are gone after ${name}`, {
    ignore: Deno.build.os === "windows",
  }, async () => {
    await using folder = await TemporaryFolder.make();
    await using uploading = await Uploading.begin(folder.path, { isWhole });
    await end(uploading);
    assertEquals((await uploading.child.end()).code, expected);
    assertEquals(namesIn(folder.path), []);
  });
}

Deno.test(
  "Temporary files are gone at the next start after a kill or an uncaught error, and those of a living process stay",
  {
    ignore: Deno.build.os === "windows",
  },
  async () => {
    await using folder = await TemporaryFolder.make();
    await using living = await Uploading.begin(folder.path);
    const kept = uploadsIn(folder.path);
    await using killed = await Uploading.begin(folder.path);
    await using crashed = await Uploading.begin(folder.path);
    killed.child.signal("SIGKILL");
    assertEquals((await killed.child.end()).signal, "SIGKILL");
    await crashed.get("/crash");
    assertEquals((await crashed.child.end()).code, 1);
    assertEquals(uploadsIn(folder.path).length, 3);
    assertEquals(await start(folder.path), "");
    assertEquals(uploadsIn(folder.path), kept);
    living.child.signal("SIGTERM");
    assertEquals((await living.child.end()).code, 0);
  },
);
