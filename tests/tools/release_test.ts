// tools/release.ts: what is published has the version of its tag.

import { assertEquals } from "@std/assert";
import { pathToFileURL } from "node:url";
import { faultsOfRelease } from "../../dev/tools/release.ts";

async function inRepository(core: string, cli: string, changelog: string): Promise<string[]> {
  const folder = await Deno.makeTempDir();
  try {
    const root = pathToFileURL(`${folder}/`);
    await Deno.mkdir(new URL("packages/cli", root), { recursive: true });
    await Deno.writeTextFile(new URL("deno.json", root), JSON.stringify({ name: "@webfw/core", version: core }));
    await Deno.writeTextFile(
      new URL("packages/cli/deno.json", root),
      JSON.stringify({ name: "@webfw/cli", version: cli, imports: { "@webfw/core": `jsr:@webfw/core@^${cli}` } }),
    );
    await Deno.writeTextFile(new URL("CHANGELOG.md", root), changelog);
    return await faultsOfRelease("v0.2.0", root);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a release has its version in both packages and in the changelog", async () => {
  assertEquals(await inRepository("0.2.0", "0.2.0", "# Changelog\n\n## [0.2.0] - 2026-11-23\n"), []);
});

Deno.test("a release has the day in the changelog", async () => {
  assertEquals(await inRepository("0.2.0", "0.2.0", "# Changelog\n\n## [0.2.0] - Unreleased\n"), [
    'CHANGELOG.md: there is no heading "## [0.2.0] - " and the day',
  ]);
});

Deno.test("a release names each place that has another version", async () => {
  assertEquals(await inRepository("0.2.0", "0.1.0", "# Changelog\n\n## [0.1.0] - 2026-11-23\n"), [
    "packages/cli/deno.json: @webfw/cli has version 0.1.0, the tag is v0.2.0",
    'packages/cli/deno.json: @webfw/core must be "jsr:@webfw/core@^0.2.0", got "jsr:@webfw/core@^0.1.0"',
    'CHANGELOG.md: there is no heading "## [0.2.0] - " and the day',
  ]);
});
