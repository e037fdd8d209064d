// Section 4 of the contract of shipping: the permissions that are needed, as a table in the guide.

import { assert, assertEquals } from "@std/assert";
import { freePorts } from "../../support/free_ports.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const PAGE = await Deno.readTextFile(new URL("../../../docs/deployment.md", import.meta.url));

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
}

const json = (url: string, body: unknown) =>
  new Request(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

function upload(url: string): Request {
  const form = new FormData();
  // More than what a form keeps in memory if it may write files.
  form.append("file", new File([new Uint8Array(2_000_000)], "large.bin"));
  return new Request(url, { method: "POST", body: form });
}

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
    row: "sends files",
    named: (folder) => ({ dist: folder }),
    program: (folder) =>
      `app.get("/one", async () => await file("a.txt", { root: "${folder}" }));
      app.files("/", "${folder}");`,
    requests: (origin) => [new Request(`${origin}/one`), new Request(`${origin}/a.txt`)],
  },
  {
    row: "takes uploads, in memory",
    program: () =>
      `app.post("/", { form: Form(v.object({ file: UploadFile })) }, async (_request, { form }) => form.file.size);`,
    requests: (origin) => [upload(origin)],
  },
  {
    row: "keeps uploads by `save`",
    named: (folder) => ({ pictures: folder }),
    program: (folder) =>
      `app.post("/", { form: Form(v.object({ file: UploadFile })) }, async (_request, { form }) => {
        await form.file.save("${folder}/kept.bin");
      });`,
    requests: (origin) => [upload(origin)],
  },
  {
    row: "keeps them in a file that a variable names",
    named: (folder) => ({ "/var/lib/books": folder }),
    program: () =>
      `const orders = app.topic("orders", { durable: true });
      app.post("/", async () => (await orders.publish(1)).id);`,
    requests: (origin) => [json(origin, {})],
  },
];

/** The flags of a row of the table. */
function flagsOf(row: string): string[] {
  const line = PAGE.split("\n").find((line) => line.startsWith(`| ${row}`));
  assert(line !== undefined, `The table has no row "${row}"`);
  return line.split("|")[2]!.replaceAll("`", "").trim().split(" ").filter((word) => word.startsWith("--"));
}

for (const { row, named, program, requests } of CASES) {
  Deno.test(`the permissions that are needed, as a table: ${row}`, async () => {
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
      env: { WEBFW_TOPICS: folder.within("topics.sqlite") },
    });
    const origin = `http://127.0.0.1:${await child.port()}`;
    for (const request of requests(origin)) {
      const response = await fetch(request);
      assertEquals([response.ok, response.ok ? "" : await response.clone().text()], [true, ""], request.url);
      await response.body?.cancel();
    }
    child.signal("SIGTERM");
    assertEquals((await child.end()).code, 0);
  });
}
