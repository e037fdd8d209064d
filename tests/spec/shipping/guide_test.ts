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

/** The recipes that the contract names. */
const RECIPES = [
  ...["jsx", "graphql", "hono_middleware", "oidc_login", "proxy", "sentry", "i18n", "orm"],
  ...["paging", "passwords", "csv", "https", "presence", "templates"],
];

/** Pages with programs that tests of their own run. */
const RUN_ELSEWHERE = ["deployment.md", "limits.md", "stores.md", "whole_product.md"];

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
  assertEquals(RECIPES.filter((name) => !linked.includes(name)), []);
  for (const page of recipes) {
    const programs = (await blocks(page)).map(({ text }) => text);
    assert(programs.some((text) => /^\/\/ main\.tsx?\n/.test(text) && text.includes("export default app;")), page);
  }
});

Deno.test("coming from FastAPI, Hono and Express (tables), how it compares (features and the bench table)", async () => {
  const index = await Deno.readTextFile(join(DOCS, "index.md"));
  for (const name of ["coming_from_fastapi", "coming_from_hono", "coming_from_express", "comparison"]) {
    assert(index.includes(`(${name}.md)`), name);
    const page = await Deno.readTextFile(join(DOCS, `${name}.md`));
    assert(page.match(/^\|.*\|$/gm)!.length > 20, name);
  }
  const figures = (await Deno.readTextFile(join(DOCS, "comparison.md"))).split("\n## Figures\n")[1]!;
  assert(/measured on \d{4}-\d\d-\d\d/.test(figures) && /^\| .*\d\.\d\d/m.test(figures));
});

Deno.test("Deployment: Docker, systemd, Deno Deploy, `deno compile`, `--workers`, behind a proxy; permissions", async () => {
  const page = await Deno.readTextFile(join(DOCS, "deployment.md"));
  const headings = Array.from(page.matchAll(/^## (.+)$/gm), ([, heading]) => heading!);
  const expected = ["Docker", "systemd", "Deno Deploy", "One executable", "Permissions", "Behind a proxy", "Workers"];
  assertEquals(expected.filter((heading) => !headings.includes(heading)), []);
  for (const name of ["deno compile", "--workers"]) assert(page.includes(name), name);
});

Deno.test("every program in the guide runs as a test: one that `deno test --doc` leaves out has a file name", async () => {
  const all = (await Promise.all((await pages()).map(blocks))).flat();
  const programs = all.filter(({ info }) => /^(?:tsx?|typescript)\b/.test(info));
  assert(programs.length > 60);
  // `deno test --doc` has the pages of docs/ itself.
  const isLeftOut = ({ page, info }: Block) => info.includes("ignore") || RECIPES.includes(basename(page, ".md"));
  const left = programs.filter((block) => isLeftOut(block) && !/^\/\/ [\w./-]+\.tsx?\n/.test(block.text));
  assertEquals(left, []);
  // The page sends requests to such a program, or has a test of it, or a test names it.
  const isRun = ({ page }: Block) =>
    all.some((block) =>
      block.page === page && (block.info.startsWith("console") || /^\/\/ \S+_test\.ts\n/.test(block.text))
    );
  const unrun = programs.filter((block) => isLeftOut(block) && !isRun(block)).map(({ page }) => page);
  assertEquals([...new Set(unrun)], RUN_ELSEWHERE);
});

Deno.test("one screen before the first program runs", async () => {
  for (const name of ["index.md", "first_app.md"]) {
    const text = await Deno.readTextFile(join(DOCS, name));
    const program = text.indexOf("\n```\n", text.indexOf("```ts"));
    const lines = text.slice(0, program).split("\n").length;
    assert(lines <= 45, `${name} has ${lines} lines up to the end of its first program`);
  }
});
