// `deno task test` runs the quick tests, `deno task test:slow` the slow ones, and `deno task
// test:nightly` those of other programs and large installations. A folder is in one of them.

import { assertEquals } from "@std/assert";
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");

/** The folders of tests that a task runs. */
function foldersOf(command: string): string[] {
  return Array.from(command.matchAll(/ tests\/(\S+)/g), ([, folder]) => folder!);
}

async function hasTests(folder: string): Promise<boolean> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory ? await hasTests(join(folder, name)) : /_test\.tsx?$/.test(name)) return true;
  }
  return false;
}

Deno.test("each folder of tests is run by one of the three tasks", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const run = ["test", "test:slow", "test:nightly"].flatMap((task) => foldersOf(tasks[task]));
  const folders: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, "tests"))) {
    if (isDirectory && await hasTests(join(ROOT, "tests", name))) folders.push(name);
    // No task would run a test outside of the folders.
    else if (/_test\.tsx?$/.test(name)) folders.push(name);
  }
  assertEquals(run.toSorted(), folders.toSorted());
});
