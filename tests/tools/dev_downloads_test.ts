// What a newcomer waits for: the first command downloads the packages of the bookshop, and no
// others.

import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");

/** The names of the packages of a lock file. */
async function packagesOf(...path: string[]): Promise<string[]> {
  const { npm } = JSON.parse(await Deno.readTextFile(join(ROOT, ...path)));
  return [...new Set(Object.keys(npm).map((name) => name.slice(0, name.indexOf("@", 1))))];
}

/** The names of the packages in a cache of Deno. */
async function cachedPackages(folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name: registry } of Deno.readDir(join(folder, "npm"))) {
    for await (const { name } of Deno.readDir(join(folder, "npm", registry))) {
      if (!name.startsWith("@")) names.push(name);
      else {for await (const part of Deno.readDir(join(folder, "npm", registry, name))) {
          names.push(`${name}/${part.name}`);
        }}
    }
  }
  return names;
}

Deno.test("Packages that only tests need are not downloaded by a task that runs the bookshop", async () => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_cache_" });
  try {
    const bookshop = ["cli.ts", "routes", "examples/bookshop/main.ts:app"];
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "deno", "run", "-A", ...bookshop],
      cwd: ROOT,
      env: { DENO_DIR: folder, WEBFW_CONFIG: "", NO_COLOR: "1" },
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    const cached = await cachedPackages(folder);
    assert(cached.includes("valibot"), cached.join());
    const needed = await packagesOf("deno.lock");
    const ofTests = (await packagesOf("tests", "deno.lock")).filter((name) => !needed.includes(name));
    assert(ofTests.includes("playwright-core"), ofTests.join());
    assertEquals(cached.filter((name) => ofTests.includes(name)), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
