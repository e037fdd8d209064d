// Files and tasks that the documents name exist.
import { assert, assertEquals } from "@std/assert";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");
const DOCUMENTS = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "docs/deployment.md",
  "docs/performance.md",
  "docs/topics.md",
  "examples/orders/README.md",
];

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(join(ROOT, path));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Targets of links into the repository, from the folder of the document, and paths in backticks. */
function pathsIn(text: string, folder: string): string[] {
  const links = text.matchAll(/\]\((?!\w+:)([^)#]+)/g);
  const names = text.matchAll(/`((?:src|tools|tests|examples|bench|offline|packages|\.ci)\/[\w./-]*)`/g);
  return [...Array.from(links, ([, path]) => join(folder, path!)), ...Array.from(names, ([, path]) => path!)];
}

Deno.test("every file that the documents name is there", async () => {
  for (const document of DOCUMENTS) {
    for (const path of pathsIn(await Deno.readTextFile(join(ROOT, document)), dirname(document))) {
      assert(await exists(path), `${document} names ${path}`);
    }
  }
});

Deno.test("every task that the documents name is there, and every task is in CONTRIBUTING.md", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const texts = await Promise.all(DOCUMENTS.map((document) => Deno.readTextFile(join(ROOT, document))));
  const named = new Set(texts.join("\n").matchAll(/deno(?:@2)? task ([a-z][\w:]*)/g).map((match) => match[1]!));
  assertEquals([...named].filter((name) => !(name in tasks)), []);
  assertEquals(Object.keys(tasks).filter((name) => !named.has(name)), []);
});
