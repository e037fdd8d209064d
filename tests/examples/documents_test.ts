// Files and tasks that the documents name exist.
import { assert, assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { blocks } from "./readme.ts";

const ROOT = join(import.meta.dirname!, "..", "..");
const DOCUMENTS = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "examples/bookshop/README.md",
  "examples/orders/README.md",
  ...await pages("docs"),
];

/** The pages in a folder and in those below it. */
async function pages(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(join(ROOT, folder)));
  const found = await Promise.all(entries.map(async ({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? await pages(path) : path.endsWith(".md") ? [path] : [];
  }));
  return found.flat().sort();
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(join(ROOT, path));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * The paths that a document names: targets of links, paths in backticks, and the trees in fenced
 * blocks.
 */
function pathsIn(text: string, folder: string): string[] {
  const links = text.matchAll(/\]\((?!\w+:)([^)#]+)/g);
  const names = text.matchAll(
    /`((?:src|tests|examples|dev|docs|packages|\.ci)\/[\w./-]*)`/g,
  );
  const fences = Array.from(
    text.matchAll(/^```(\w*)[^\n]*\n(.*?)^```$/gms),
    ([, language, block]) => ({ language, block }),
  );
  const trees = fences.filter(({ language }) => language === "").flatMap(({ block }) => block!.split("\n"));
  return [
    ...Array.from(links, ([, path]) => join(folder, path!)),
    ...Array.from(names, ([, path]) => path!),
    ...trees.flatMap((line) => line.split("  ")[0]!.split(" ")).filter((word) => /\/$|\.ts$/.test(word)),
  ];
}

Deno.test("every file that the documents name exists", async () => {
  for (const document of DOCUMENTS) {
    for (const path of pathsIn(await Deno.readTextFile(join(ROOT, document)), dirname(document))) {
      assert(await exists(path), `${document} names ${path}`);
    }
  }
});

Deno.test("every task that the documents name exists, and CONTRIBUTING.md names every task", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const texts = await Promise.all(DOCUMENTS.map((document) => Deno.readTextFile(join(ROOT, document))));
  const named = new Set(texts.join("\n").matchAll(/deno(?:@2)? task ([a-z][\w:]*)/g).map((match) => match[1]!));
  assertEquals([...named].filter((name) => !(name in tasks)), []);
  assertEquals(Object.keys(tasks).filter((name) => !named.has(name)), []);
});

Deno.test("the imports that the README gives for the guides have every name that the guides import", async () => {
  const { imports } = JSON.parse(blocks("json")[0]!);
  const names = new Set<string>();
  for (const document of DOCUMENTS.filter((name) => name.startsWith("docs/"))) {
    const text = await Deno.readTextFile(join(ROOT, document));
    for (const [, name] of text.matchAll(/^import .*from "(@[^"]+|\w+)";$/gm)) names.add(name!);
  }
  assertEquals([...names].filter((name) => !(name in imports)), []);
  assertEquals(names.size > 0, true);
});

Deno.test("every excerpt of an example that a page shows is in the file that it names", async () => {
  let count = 0;
  for (const document of DOCUMENTS) {
    for (const block of blocks("ts ignore", await Deno.readTextFile(join(ROOT, document)))) {
      const [, path, excerpt] = /^\/\/ (examples\/\S+)\n(.*)$/s.exec(block) ?? [];
      if (path === undefined || excerpt === undefined) continue;
      count++;
      const file = await Deno.readTextFile(join(ROOT, path));
      // The format of a page dedents its blocks.
      assert(
        withoutIndent(file).includes(withoutIndent(excerpt)),
        `${document} shows what ${path} does not have:\n${excerpt}`,
      );
    }
  }
  assert(count > 0);
});

function withoutIndent(text: string): string {
  return text.replaceAll(/^ +/gm, "");
}
