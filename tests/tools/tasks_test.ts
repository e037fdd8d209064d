// CONTRIBUTING.md: "The folder of a test decides which task runs it".

import { assertEquals } from "@std/assert";
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");

/** The folders in tests/ that have tests. */
async function testFolders(): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, "tests"))) {
    if (isDirectory && await hasTests(join(ROOT, "tests", name))) found.push(`tests/${name}`);
  }
  return found.toSorted();
}

async function hasTests(folder: string): Promise<boolean> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory ? await hasTests(join(folder, name)) : name.endsWith("_test.ts")) return true;
  }
  return false;
}

Deno.test("each folder of tests belongs to one of the tasks test, test:slow and test:nightly", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const listed = ["test", "test:slow", "test:nightly"]
    .flatMap((name) => tasks[name].match(/(?<= )tests\/\w+/g) ?? []);
  assertEquals(listed.toSorted(), await testFolders());
});

Deno.test("types are checked once: tests run without checks", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const checking = Object.keys(tasks).filter((name) => / test -A /.test(tasks[name]))
    .filter((name) => !tasks[name].includes(" --no-check "));
  assertEquals(checking, []);
});
