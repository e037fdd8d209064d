/** What the README shows is what happens. */
import { assert, assertEquals } from "@std/assert";
import type { App } from "@webfw/core";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import { prepareDeno } from "../../tools/deno.ts";
import { readExchanges } from "./console_block.ts";

const README = await Deno.readTextFile(join(import.meta.dirname!, "..", "..", "README.md"));

/** Headers that are others each time, or come from the server's socket. */
const UNSTEADY = new Set(["date", "content-length", "x-request-id"]);

/** The fenced blocks of a language below a heading, or of the whole README. */
function blocks(language: string, heading?: string): string[] {
  const section = heading === undefined
    ? README
    : README.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  assert(section !== undefined, `No section "${heading}"`);
  return [...section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map((match) => match[1]!);
}

async function replay(heading: string, fetch: App["fetch"]): Promise<number> {
  let count = 0;
  for (const { request, status, headers, body } of blocks("console", heading).flatMap(readExchanges)) {
    const response = await fetch(request);
    assertEquals((await response.text()).trimEnd(), body, request.url);
    if (status !== undefined) assertEquals(response.status, status, request.url);
    for (const [name, value] of headers) {
      if (!UNSTEADY.has(name)) assertEquals(response.headers.get(name), value, `${name} of ${request.url}`);
    }
    count++;
  }
  return count;
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "readme_" }));
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the programs in the README type-check, and its test passes", () =>
  inFolder(async (folder) => {
    const programs = blocks("ts");
    assertEquals(programs.length, 3);
    const files = programs.map((_, index) => join(folder, `program${index}.ts`));
    await Promise.all(programs.map((program, index) => Deno.writeTextFile(files[index]!, program)));
    await using prepared = await prepareDeno(["test", "-A", "--no-lock", ...files], { env: { NO_COLOR: "1" } });
    const { code, stdout, stderr } = await prepared.command.output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assertEquals(code, 0, output);
    assert(output.includes("1 passed"), output);
  }));

Deno.test("the first program in the README answers as it is shown", () =>
  inFolder(async (folder) => {
    const file = join(folder, "main.ts");
    await Deno.writeTextFile(file, blocks("ts", "A first program")[0]!);
    const { app } = await import(pathToFileURL(file).href);
    assertEquals(await replay("A first program", app.fetch), 3);
  }));

Deno.test("the bookshop answers as the README shows", () =>
  inFolder(async (folder) => {
    const app = bookshop(join(folder, "shop.sqlite"));
    assertEquals(await replay("A larger one", app.fetch), 7);
    await app.stop();
  }));
