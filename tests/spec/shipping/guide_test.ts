// Section 4 of the contract of shipping: the guide.

import { assert, assertEquals } from "@std/assert";
import { basename, dirname, join } from "node:path";

const DOCS = join(import.meta.dirname!, "..", "..", "..", "docs");

/** The steps of the guide in their order, and the pages that have them. */
const STEPS = [
  "first_app",
  "parameters",
  "bodies_and_models",
  "errors",
  "dependencies",
  "auth",
  "browsers",
  "forms_and_files",
  "streams",
  "topics",
  "work",
  "agents",
  "client",
  "testing",
  "deployment",
  "observability",
];

/** A fenced block: what is behind its fence, and its text. */
interface Block {
  readonly page: string;
  readonly info: string;
  readonly text: string;
}

async function pages(folder = DOCS): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const found = await Promise.all(entries.map(async ({ name, isDirectory }) => {
    const path = join(folder, name);
    return isDirectory ? await pages(path) : path.endsWith(".md") ? [path] : [];
  }));
  return found.flat().sort();
}

async function blocks(page: string): Promise<Block[]> {
  const text = await Deno.readTextFile(page);
  return Array.from(text.matchAll(/^```(\w[^\n]*)\n(.*?)^```$/gms), ([, info, text]) => {
    return { page: basename(page), info: info!, text: text! };
  });
}

Deno.test("docs is a guide in steps: index.md lists all steps in their order, and each page is in reach", async () => {
  const index = await Deno.readTextFile(join(DOCS, "index.md"));
  const linked = Array.from(index.matchAll(/\]\((\w+)\.md\)/g), ([, name]) => name!);
  assertEquals(linked.filter((name) => STEPS.includes(name)), STEPS);
  const names = (await pages()).filter((page) => dirname(page) === DOCS).map((page) => basename(page, ".md"));
  assertEquals(names.filter((name) => name !== "index" && !linked.includes(name)), []);
});

Deno.test("then recipes: index.md has each one, and each is a complete program", async () => {
  const index = await Deno.readTextFile(join(DOCS, "index.md"));
  const linked = Array.from(index.matchAll(/\]\(recipes\/(\w+)\.md\)/g), ([, name]) => name!);
  const recipes = await pages(join(DOCS, "recipes"));
  assertEquals(linked.toSorted(), recipes.map((page) => basename(page, ".md")));
  for (const page of recipes) {
    const programs = (await blocks(page)).map(({ text }) => text);
    assert(programs.some((text) => /^\/\/ main\.tsx?\n/.test(text) && text.includes("export default app;")), page);
  }
});

Deno.test("every program in the guide runs as a test: one that `deno test --doc` leaves out has a file name", async () => {
  const all = (await Promise.all((await pages()).map(blocks))).flat();
  const programs = all.filter(({ info }) => /^(?:tsx?|typescript)\b/.test(info));
  assert(programs.length > 60);
  const left = programs.filter(({ info, text }) => info.includes("ignore") && !/^\/\/ [\w./-]+\.tsx?\n/.test(text));
  assertEquals(left, []);
});

Deno.test("one screen before the first program runs", async () => {
  for (const name of ["index.md", "first_app.md"]) {
    const text = await Deno.readTextFile(join(DOCS, name));
    const program = text.indexOf("\n```\n", text.indexOf("```ts"));
    const lines = text.slice(0, program).split("\n").length;
    assert(lines <= 45, `${name} has ${lines} lines up to the end of its first program`);
  }
});
