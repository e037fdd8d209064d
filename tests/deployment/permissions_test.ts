// Section 4 of the contract of shipping: the permissions that are needed, as a table in the guide,
// and those that its ways to deploy give.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { freePorts } from "../support/free_ports.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { exchange } from "../spec/support/raw_connection.ts";
import { TemporaryFolder } from "../spec/support/temporary_folder.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/deployment.md", import.meta.url));

/** The address in the table. */
const ADDRESS = "127.0.0.1:8000";

/** What has the permissions of a row, and how it is tried. */
interface Case {
  /** The beginning of the row. */
  readonly row: string;
  /** What the flags name, and what they name in the test. */
  readonly named?: (folder: string) => Readonly<Record<string, string>>;
  /** The lines of the program between `new App()` and `app.run()`. */
  readonly program: (folder: string) => string;
  readonly requests: (origin: string) => Request[];
  /** What a line of the log has to be. */
  readonly logs?: RegExp;
  readonly ignore?: boolean;
}

const json = (url: string, body: unknown) =>
  new Request(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

function upload(url: string, bytes = 2_000_000): Request {
  const form = new FormData();
  // More than what a form keeps in memory if it may write files.
  form.append("file", new File([new Uint8Array(bytes)], "large.bin"));
  return new Request(url, { method: "POST", body: form });
}

const PUBLISHING = `const orders = app.topic("orders", { durable: true });
app.post("/", async () => (await orders.publish(1)).id);`;

const CASES: readonly Case[] = [
  {
    row: "serves",
    program: () =>
      `app.get("/hello", { tool: true }, async function hello() { return "hi"; });
      const topic = app.topic("news");
      topic.consume("read", () => {});
      app.cron("nightly", "0 3 * * *", () => {});
      app.post("/news", async () => (await topic.publish(1)).id);`,
    requests: (origin) => [
      new Request(`${origin}/hello`),
      new Request(`${origin}/docs`),
      new Request(`${origin}/docs/swagger-ui.js`),
      json(`${origin}/mcp`, { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hello", arguments: {} } }),
      json(`${origin}/news`, {}),
    ],
  },
  {
    row: "reads the format of its log",
    program: () => `app.get("/", async (request) => request.log.info("Asked"));`,
    requests: (origin) => [new Request(origin)],
    logs: /^\{.*"message":"Asked"\}$/m,
  },
  {
    row: "sends files",
    named: (folder) => ({ dist: folder }),
    program: (folder) =>
      `app.get("/one", async () => await file("a.txt", { root: "${folder}" }));
      app.files("/", "${folder}");`,
    requests: (origin) => [new Request(`${origin}/one`), new Request(`${origin}/a.txt`)],
  },
  {
    row: "accepts uploads, in memory",
    program: () =>
      `app.post("/", { form: Form(v.object({ file: UploadFile })) }, async (_request, { form }) => form.file.size);`,
    requests: (origin) => [upload(origin)],
  },
  {
    row: "accepts uploads, large ones on disk",
    program: () =>
      `const form = Form(v.object({ file: UploadFile }));
      app.post("/", { form, limits: { multipart: 2 ** 26 } }, async (_request, { form }) => form.file.size);`,
    // More than what a form keeps in memory if it may write no files.
    requests: (origin) => [upload(origin, 2 ** 25 + 1)],
    // Elsewhere, the folder has another name.
    ignore: Deno.build.os !== "linux",
  },
  {
    row: "writes large uploads to the folder of `TMPDIR`",
    named: (folder) => ({ "/srv/tmp": folder }),
    program: (folder) =>
      `app.post("/", { form: Form(v.object({ file: UploadFile })) }, async () => {
        const names = Array.from(Deno.readDirSync("${folder}"), ({ name }) => name);
        if (!names.some((name) => name.startsWith("webfw-upload-"))) throw new Error(names.join());
      });`,
    requests: (origin) => [upload(origin)],
  },
  {
    row: "saves uploads by `save`",
    named: (folder) => ({ pictures: folder }),
    program: (folder) =>
      `app.post("/", { form: Form(v.object({ file: UploadFile })) }, async (_request, { form }) => {
        await form.file.save("${folder}/kept.bin");
      });`,
    requests: (origin) => [upload(origin)],
  },
  {
    row: "stores durable topics in the default file",
    named: (folder) => ({ ".webfw": `${folder}/.webfw` }),
    program: () => PUBLISHING,
    requests: (origin) => [json(origin, {})],
  },
  {
    row: "stores them in a file that a variable names",
    named: (folder) => ({ "/var/lib/books": folder }),
    program: () => PUBLISHING,
    requests: (origin) => [json(origin, {})],
  },
];

/** The flags of a row of the table. */
function flagsOf(row: string): string[] {
  const line = PAGE.split("\n").find((line) => line.startsWith(`| ${row}`));
  assert(line !== undefined, `The table has no row "${row}"`);
  return line.split("|")[2]!.replaceAll("`", "").trim().split(" ").filter((word) => word.startsWith("--"));
}

for (const { row, named, program, requests, logs, ignore = false } of CASES) {
  Deno.test(`the permissions that are needed, as a table: ${row}`, { ignore }, async () => {
    await using folder = await TemporaryFolder.make();
    await folder.write("a.txt", "a");
    const [port] = freePorts(1);
    let flags = [...new Set([...flagsOf("serves"), ...flagsOf(row)])].join(" ").replaceAll(
      ADDRESS,
      `127.0.0.1:${port}`,
    );
    for (const [from, to] of Object.entries(named?.(folder.path) ?? {})) flags = flags.replaceAll(`=${from}`, `=${to}`);
    const source = `import { App, file, Form, UploadFile } from "${CORE}";
      import * as v from "valibot";
      const app = new App();
      ${program(folder.path)}
      await app.run({ port: ${port}, onListen: ({ port }) => console.log("port " + port) });`;
    await using child = await ChildProgram.start(source, {
      permissions: ["--no-prompt", ...flags.split(" ")],
      env: { WEBFW_TOPICS: folder.within("topics.sqlite"), WEBFW_LOG: "json", TMPDIR: folder.path },
      folder: folder.path,
    });
    const origin = `http://127.0.0.1:${await child.port()}`;
    for (const request of requests(origin)) {
      const response = await fetch(request);
      assertEquals([response.ok, response.ok ? "" : await response.clone().text()], [true, ""], request.url);
      await response.body?.cancel();
    }
    child.signal("SIGTERM");
    const { code, stderr } = await child.end();
    assertEquals(code, 0);
    if (logs) assertMatch(stderr, logs);
  });
}

Deno.test("the permissions that are needed, as a table: listens on a Unix socket", {
  ignore: Deno.build.os === "windows",
}, async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("s.sock");
  const flags = flagsOf("listens on a Unix socket").map((flag) => flag.replace("/run/books/s.sock", path));
  const source = `import { App } from "${CORE}";
    const app = new App();
    app.get("/", async () => "served");
    await app.run({ path: ${JSON.stringify(path)}, onListen: () => console.log("listens") });`;
  await using child = await ChildProgram.start(source, { permissions: ["--no-prompt", ...flags] });
  await child.printed("listens");
  using connection = await Deno.connect({ transport: "unix", path });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  assertMatch(await new Response(connection.readable).text(), /^HTTP\/1\.1 200 OK\r\n[^]*"served"$/);
  child.signal("SIGTERM");
  assertEquals((await child.end()).code, 0);
});

/** The text of a fenced block of the page, with those lines in one that go on in the next one. */
function blockOf(language: string, start: string): string {
  const blocks = PAGE.matchAll(new RegExp(`^\`\`\`${language}\\b[^\\n]*\\n(.*?)^\`\`\`$`, "gms"));
  const block = Array.from(blocks, ([, text]) => text!).find((text) => text.startsWith(start));
  assert(block !== undefined, `The page has no block of ${language} that begins with "${start}"`);
  return block.replaceAll("\\\n", "");
}

/** The commands that start the program of the page. */
const COMMANDS: readonly (readonly [way: string, command: string | undefined])[] = [
  ["Docker", JSON.parse(/^CMD (\[.*\])$/m.exec(blockOf("dockerfile", "FROM"))![1]!).join(" ")],
  ["systemd", /^ExecStart=(.*)$/m.exec(blockOf("ini", "[Unit]"))?.[1]],
  ["deno compile", /^deno compile .*$/m.exec(blockOf("sh", "deno compile"))?.[0]],
];

for (const [way, command = ""] of COMMANDS) {
  Deno.test(`Deployment: the program of the page serves with the permissions that ${way} gives`, async () => {
    await using folder = await TemporaryFolder.make();
    const [port] = freePorts(1);
    const permissions = Array.from(
      command.matchAll(/(?<= )--(?:no-prompt|unstable-kv|allow-\S+)/g),
      ([flag]) => flag.replace(":8000", `:${port}`).replace("/var/lib/books", folder.path),
    );
    assert(permissions.length >= 3 && permissions.includes("--no-prompt"), command);
    await folder.write("main.ts", blockOf("ts", "// main.ts").replaceAll("@webfw/core", CORE));
    const host = /--allow-net=([\d.]+):/.exec(command)![1]!;
    await using child = await ChildProgram.start(blockOf("ts", "// serve.ts"), {
      permissions,
      folder: folder.path,
      env: { PORT: `${port}`, WEBFW_HOST: host, WEBFW_TOPICS: folder.within("topics.sqlite") },
    });
    await child.printed(`.* INFO Listening on http://${host}:${port}`);
    const get = async (path: string, headers: string) =>
      (await exchange(port!, `GET ${path} HTTP/1.1\r\n${headers}\r\n\r\n`)).status;
    const proxied = "Host: books.example\r\nX-Forwarded-For: 192.0.2.1";
    assertEquals([await get("/books", proxied), await get("/ready", "Host: x")], [200, 200]);
    child.signal("SIGTERM");
    assertEquals((await child.end()).code, 0);
  });
}
