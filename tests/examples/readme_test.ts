// The programs of the README work, and reply as the README shows.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { App } from "@webfw/core";
import { join } from "node:path";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import { readExchanges } from "./console_block.ts";
import { blocks, inFolder, programs, README } from "./readme.ts";

/** Sends the requests of console blocks, and compares the replies. Returns their number. */
async function replay(consoles: readonly string[], fetch: App["fetch"]): Promise<number> {
  const exchanges = consoles.flatMap(readExchanges);
  for (const { request, body } of exchanges) {
    const response = await fetch(request);
    assertEquals((await response.text()).trimEnd(), body, request.url);
  }
  return exchanges.length;
}

Deno.test("the README has one program, with two requests", () => {
  assertEquals([...programs().keys()], ["main.ts"]);
  assertEquals(blocks("console").flatMap(readExchanges).length, 2);
});

Deno.test('"a program of at most 12 lines", and a README of a few screens', () => {
  const lines = programs().get("main.ts")!.split("\n").filter((line) => line !== "" && !line.startsWith("//"));
  assert(lines.length <= 12, `${lines.length} lines`);
  assert(README.split("\n").length < 150);
});

Deno.test("the README: one sentence, five features, two commands, a picture, a table, links", async () => {
  const [title, , sentence, , fence] = README.split("\n");
  assertEquals([title, sentence?.match(/[.!?](?= |$)/g)?.length, fence], ["# webfw", 1, "```ts"]);
  const gets = README.slice(README.indexOf("you get:"), README.indexOf("## Try it"));
  assertEquals(gets.match(/^- /gm)?.length, 5);
  const commands = blocks("sh")[0]!.trim().split("\n");
  assertEquals(commands.map((line) => /^npx -y deno@2 task (\w+)/.exec(line)?.[1]), ["dev", "test"]);
  const picture = /^!\[.+\]\((.+)\)$/m.exec(README)![1]!;
  assert((await Deno.stat(new URL(`../../${picture}`, import.meta.url))).isFile);
  const beside = README.slice(README.indexOf("## Comparison"), README.indexOf("## Before the release"));
  assertStringIncludes(beside, "| FastAPI ");
  assert(/requests a second +\| \d\.\d\d /.test(beside));
  // The figures are those of the page that says how they were measured.
  const [, day] = /measured on (\d{4}-\d\d-\d\d)/.exec(beside)!;
  assertStringIncludes(await Deno.readTextFile(new URL("../../docs/performance.md", import.meta.url)), `on ${day}`);
  assertStringIncludes(README.slice(README.indexOf("## Documentation")), "(docs/index.md)");
});

Deno.test("the bookshop replies as its README shows", () =>
  inFolder(async (folder) => {
    const app = bookshop(join(folder, "shop.sqlite"));
    const shown = await Deno.readTextFile(new URL("../../examples/bookshop/README.md", import.meta.url));
    assertEquals(await replay(blocks("console", shown), app.fetch), 5);
    await app.stop();
  }));
