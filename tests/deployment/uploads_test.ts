// Section 9 of the contract over real sockets: limits of uploads are enforced while they are read,
// and nothing is left on disk.

import { assert, assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { exchange, RawConnection, type RawReply } from "../spec/support/raw_connection.ts";
import { TemporaryFolder } from "../spec/support/temporary_folder.ts";
import { ticks } from "../spec/support/ticks.ts";
import { until } from "../support/wait.ts";

const MEBIBYTE = 1024 * 1024;
const HEAD = "--B\r\nContent-Disposition: form-data; name=f; filename=a\r\n\r\n";
const TAIL = "\r\n--B--\r\n";

/** Replies to uploads in all possible ways, and reports when a request is completely done. */
const PROGRAM = `
import { App, Form, UploadFile } from "${CORE}";
import * as v from "npm:valibot@^1.5.0";
const app = new App({ limits: LIMITS });
app.middleware(async (request, next) => {
  request.after(() => console.log("over " + request.path), { always: true });
  return await next(request);
});
const form = Form(v.object({ f: UploadFile }));
app.post("/size", { form }, async (_request, { form: { f } }) => f.size);
app.post("/fails", { form }, async () => { throw new Error("handler fails"); });
app.post("/invalid", { form: Form(v.object({ f: UploadFile, g: v.string() })) }, async () => 1);
app.post("/back", { form }, async (_request, { form: { f } }) => f);
app.post("/stream", { form }, async function* (_request, { form: { f } }) {
  for await (const chunk of f.stream()) yield chunk;
});
const gate = Promise.withResolvers();
app.post("/waits", { form }, async () => {
  console.log("waiting");
  await gate.promise;
});
app.post("/go", async () => gate.resolve());
app.post("/form-data", async (request) => [...await request.formData()].length);
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;

interface ServerOptions {
  /** The limits of the application. */
  readonly limits?: string;
  /** Permission flags. Default: all permissions. */
  readonly permissions?: readonly string[];
}

/** A server with a folder for its temporary files. */
class UploadServer implements AsyncDisposable {
  readonly port: number;
  readonly #folder: TemporaryFolder;
  readonly #child: ChildProgram;

  private constructor(port: number, folder: TemporaryFolder, child: ChildProgram) {
    this.port = port;
    this.#folder = folder;
    this.#child = child;
  }

  static async start({ limits = "{ multipart: 2 ** 30 }", permissions }: ServerOptions = {}): Promise<UploadServer> {
    const folder = await TemporaryFolder.make();
    const child = await ChildProgram.start(PROGRAM.replace("LIMITS", limits), {
      env: { TMPDIR: folder.path },
      ...(permissions ? { permissions } : {}),
    });
    return new UploadServer(await child.port(), folder, child);
  }

  /** Waits for a line of the program. */
  printed(line: string): Promise<void> {
    return this.#child.printed(line);
  }

  /** The entries of its folder: the temporary folders of requests. */
  async files(): Promise<string[]> {
    const files: string[] = [];
    for await (const { name } of Deno.readDir(this.#folder.path)) {
      for await (const file of Deno.readDir(this.#folder.within(name))) {
        if (file.name !== "lock") files.push(`${name}/${file.name}`);
      }
    }
    return files;
  }

  /** Waits until a file is on disk. */
  async hasFile(): Promise<void> {
    await until("a file is on disk", async () => (await this.files()).length > 0);
  }

  /** Nothing lies in its folder, not even an empty one, once nothing is left to do. */
  async isClean(): Promise<void> {
    await until(
      "the folder is empty",
      async () => (await Array.fromAsync(Deno.readDir(this.#folder.path))).length === 0,
    );
  }

  /** Ends it, and returns its stderr. */
  async end(): Promise<string> {
    this.#child.signal("SIGTERM");
    return (await this.#child.end()).stderr;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

function headOf(path: string, length: number | "chunked"): string {
  const framing = length === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=B\r\n${framing}\r\n\r\n`;
}

/** Sends a file of zeros. */
async function upload(port: number, path: string, size: number): Promise<RawReply> {
  using connection = await RawConnection.open(port);
  await connection.write(headOf(path, HEAD.length + size + TAIL.length) + HEAD);
  await connection.write(new Uint8Array(size));
  await connection.write(TAIL);
  return await connection.reply();
}

Deno.test("Temporary files are removed after any reply", async () => {
  await using server = await UploadServer.start();
  const table: [path: string, status: number][] = [
    ["/size", 200],
    ["/fails", 500],
    ["/invalid", 422],
    ["/back", 200],
    ["/stream", 200],
    ["/form-data", 200],
  ];
  for (const [path, status] of table) {
    assertEquals((await upload(server.port, path, 3 * MEBIBYTE)).status, status, path);
    await server.isClean();
  }
});

Deno.test("Temporary files are removed when the client breaks off in a file, and that is not an error", async () => {
  await using server = await UploadServer.start();
  for (const path of ["/size", "/form-data"]) {
    for (const length of [100 * MEBIBYTE, "chunked"] as const) {
      using connection = await RawConnection.open(server.port);
      const part = HEAD + "\0".repeat(3 * MEBIBYTE);
      await connection.write(headOf(path, length));
      await connection.write(length === "chunked" ? `${part.length.toString(16)}\r\n${part}\r\n` : part);
      await server.hasFile();
      connection.close();
      await server.isClean();
    }
  }
  assertEquals(await server.end(), "");
});

Deno.test("Temporary files are removed when the client disconnects while the handler runs or the reply is sent", async () => {
  await using server = await UploadServer.start();
  for (const path of ["/waits", "/back", "/stream"]) {
    using connection = await RawConnection.open(server.port);
    await connection.write(headOf(path, HEAD.length + 30 * MEBIBYTE + TAIL.length) + HEAD);
    await connection.write(new Uint8Array(30 * MEBIBYTE));
    await connection.write(TAIL);
    if (path === "/waits") await server.printed("waiting");
    else await connection.until("\r\n\r\n");
    assertEquals((await server.files()).length, 1);
    connection.close();
    if (path === "/waits") await exchange(server.port, "POST /go HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    await server.isClean();
  }
});

/** A reply that is read while the request is still sent. */
class PendingReply {
  readonly reply: Promise<RawReply>;
  /** Whether the reply is there, or has failed. */
  isThere = false;

  constructor(connection: RawConnection) {
    this.reply = connection.reply();
    const arrive = () => void (this.isThere = true);
    this.reply.then(arrive, arrive);
  }
}

/** Sends without end until a reply comes. Returns it, and the number of bytes sent before. */
async function pour(connection: RawConnection, path: string, length: number | "chunked"): Promise<[RawReply, number]> {
  const replied = new PendingReply(connection);
  const chunk = new Uint8Array(64 * 1024);
  const framed = new Uint8Array([...new TextEncoder().encode("10000\r\n"), ...chunk, 13, 10]);
  await connection.write(headOf(path, length));
  await connection.write(length === "chunked" ? `${HEAD.length.toString(16)}\r\n${HEAD}\r\n` : HEAD);
  let sent = 0;
  while (!replied.isThere) {
    await connection.write(length === "chunked" ? framed : chunk);
    sent += chunk.length;
    await ticks(1);
  }
  return [await replied.reply, sent];
}

/** More than the socket buffers of both sides. */
const ON_THE_WAY = 16 * MEBIBYTE;

Deno.test("A file or form over its limit is 413 while it arrives, and its temporary files are removed", async () => {
  const table: [limits: string, bound: number][] = [
    [`{ multipart: 2 ** 30, file: ${4 * MEBIBYTE} }`, 4 * MEBIBYTE],
    [`{ multipart: ${4 * MEBIBYTE} }`, 4 * MEBIBYTE],
  ];
  for (const [limits, bound] of table) {
    await using server = await UploadServer.start({ limits });
    for (const path of ["/size", "/form-data"]) {
      using connection = await RawConnection.open(server.port);
      const [reply, sent] = await pour(connection, path, "chunked");
      assertEquals([reply.status, JSON.parse(reply.body).title], [413, "Content Too Large"]);
      assert(reply.headers.some(([name, value]) => name === "connection" && value === "close"));
      assert(sent >= bound && sent <= bound + ON_THE_WAY, `${sent} bytes were sent`);
      await server.isClean();
    }
    assertEquals(await server.end(), "");
  }
});

Deno.test("A form that is announced over its limit is 413 before anything of it was read", async () => {
  await using server = await UploadServer.start({ limits: `{ multipart: ${4 * MEBIBYTE} }` });
  for (const path of ["/size", "/form-data"]) {
    using connection = await RawConnection.open(server.port);
    await connection.write(headOf(path, 2 ** 40));
    assertEquals((await connection.reply()).status, 413);
  }
});

Deno.test("A stalled upload is 408 after its time limit, and its temporary files are removed", async () => {
  await using server = await UploadServer.start({ limits: "{ readTimeout: 300 }" });
  for (const path of ["/size", "/form-data"]) {
    using connection = await RawConnection.open(server.port);
    await connection.write(headOf(path, 20 * MEBIBYTE) + HEAD);
    await connection.write(new Uint8Array(3 * MEBIBYTE));
    assertEquals((await connection.reply()).status, 408);
    await server.isClean();
  }
  assertEquals(await server.end(), "");
});

Deno.test("Without the permission to write, uploads stay in memory up to 32 MiB; beyond that, the log says what to do", async () => {
  await using server = await UploadServer.start({ permissions: ["--allow-net", "--allow-read", "--allow-env"] });
  const within = await upload(server.port, "/size", 30 * MEBIBYTE);
  assertEquals([within.status, within.body], [200, String(30 * MEBIBYTE)]);
  const beyond = await upload(server.port, "/size", 40 * MEBIBYTE);
  assertEquals([beyond.status, JSON.parse(beyond.body).detail], [500, "Internal Server Error"]);
  const log = await server.end();
  assert(log.includes("allow the program to read and write"), log);
});

Deno.test("With only the network permission, uploads work without a prompt", async () => {
  await using server = await UploadServer.start({ permissions: ["--allow-net", "--no-prompt"] });
  assertEquals((await upload(server.port, "/back", 5 * MEBIBYTE)).body.length, 5 * MEBIBYTE);
  assertEquals(await server.end(), "");
});
