// The programs of the README work, and reply as the README shows.
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { App } from "@webfw/core";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import { prepareDeno } from "../../tools/deno.ts";
import { freePorts } from "../support/free_ports.ts";
import { readExchanges } from "./console_block.ts";
import { blocks, inFolder, programs, startDeno, writeFiles } from "./readme.ts";

/** Sends the requests below a heading, and compares the replies. Returns their number. */
async function replay(heading: string, fetch: App["fetch"]): Promise<number> {
  const exchanges = blocks("console", heading).flatMap(readExchanges);
  for (const { request, body } of exchanges) {
    const response = await fetch(request);
    assertEquals((await response.text()).trimEnd(), body, request.url);
  }
  return exchanges.length;
}

/** Runs Deno in a folder, and returns all that it printed. */
async function runDeno(args: string[], cwd: string): Promise<string> {
  await using prepared = await prepareDeno(args, { cwd, env: { NO_COLOR: "1" } });
  const { code, stdout, stderr } = await prepared.command.output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assertEquals(code, 0, output);
  return output;
}

Deno.test("the programs in the README type-check, and its test passes", () =>
  inFolder(async (folder) => {
    const first = programs("A first program");
    assertEquals([...first.keys()], ["main.ts", "serve.ts", "main_test.ts"]);
    await writeFiles(folder, first);
    const second = programs("Forms, files and streams");
    assertEquals([...second.keys()], ["main.ts"]);
    await Deno.mkdir(join(folder, "forms"));
    await writeFiles(join(folder, "forms"), second);
    const third = programs("Who may use a route");
    assertEquals([...third.keys()], ["main.ts"]);
    await Deno.mkdir(join(folder, "guards"));
    await writeFiles(join(folder, "guards"), third);
    const fourth = programs("A typed client");
    assertEquals([...fourth.keys()], ["client.ts"]);
    await writeFiles(folder, fourth);
    assertEquals(blocks("ts").length, first.size + second.size + third.size + fourth.size);
    // With a configuration from another folder, a command without names takes the files of that
    // folder.
    const files = [...first.keys(), "client.ts", "forms/main.ts", "guards/main.ts"].map((name) => join(folder, name));
    await runDeno(["check", "--no-lock", ...files], folder);
    assertStringIncludes(
      await runDeno(["test", "--no-check", "--no-lock", join(folder, "main_test.ts")], folder),
      "1 passed",
    );
  }));

Deno.test("serve.ts of the README serves main.ts, client.ts calls it, and SIGTERM ends it", () =>
  inFolder(async (folder) => {
    const files = programs("A first program");
    const serve = files.get("serve.ts")!;
    assertStringIncludes(serve, "port: 8000");
    // Any free port.
    await writeFiles(folder, files.set("serve.ts", serve.replace("8000", "0")));
    await using program = await startDeno(["run", "-A", "--no-lock", "serve.ts"], folder);
    const [, origin] = await program.stderr.next(/Listening on (http:\S+)$/);
    assertEquals(await (await fetch(`${origin}/books/1`)).json(), { id: 1, title: "Middlemarch" });
    const caller = programs("A typed client").get("client.ts")!;
    await Deno.writeTextFile(join(folder, "client.ts"), caller.replace("http://127.0.0.1:8000", origin!));
    assertEquals(await runDeno(["run", "--allow-net", "--no-lock", "--quiet", "client.ts"], folder), "Middlemarch\n");
    program.signal("SIGTERM");
    assertEquals(await program.end(), 0);
  }));

Deno.test("the program with forms in the README takes a picture and sends it, in an empty folder", () =>
  inFolder(async (folder) => {
    await writeFiles(folder, programs("Forms, files and streams"));
    const port = freePorts(1)[0]!;
    await using program = await startDeno(["serve", "-A", "--no-lock", "--port", `${port}`, "main.ts"], folder);
    const [, origin] = await program.stderr.next(/Listening on (http:.*)\/$/);
    const missing = await fetch(`${origin}/pictures/none.png`);
    assertEquals(missing.status, 404, await missing.text());
    const form = new FormData();
    form.append("picture", new File(["a picture"], "cat.png", { type: "image/png" }));
    const saved = await fetch(`${origin}/pictures`, { method: "POST", body: form });
    const { url } = await saved.json();
    assertEquals(await (await fetch(`${origin}${url}`)).text(), "a picture");
  }));

Deno.test("the first program in the README replies as shown", () =>
  inFolder(async (folder) => {
    const file = join(folder, "main.ts");
    await Deno.writeTextFile(file, programs("A first program").get("main.ts")!);
    const { app } = await import(pathToFileURL(file).href);
    assertEquals(await replay("A first program", app.fetch), 3);
  }));

Deno.test("the program with a guard in the README replies as shown", () =>
  inFolder(async (folder) => {
    const file = join(folder, "main.ts");
    await Deno.writeTextFile(file, programs("Who may use a route").get("main.ts")!);
    const { app } = await import(pathToFileURL(file).href);
    assertEquals(await replay("Who may use a route", app.fetch), 3);
  }));

Deno.test("the bookshop replies as the README shows", () =>
  inFolder(async (folder) => {
    const app = bookshop(join(folder, "shop.sqlite"));
    assertEquals(await replay("A larger example", app.fetch), 5);
    await app.stop();
  }));
