// Checks that a tag names what is going to be published: `deno run --allow-read dev/tools/release.ts v0.1.0`.
// Imports no package, because it runs in the workflow that publishes.

const ROOT = new URL("..", import.meta.url);

/**
 * The reasons why the packages cannot be published under a tag. None: they can.
 *
 * @param tag The tag, such as `v0.1.0`.
 * @param root The folder of the repository.
 */
export async function faultsOfRelease(tag: string, root: URL = ROOT): Promise<string[]> {
  const faults: string[] = [];
  const read = (path: string) => Deno.readTextFile(new URL(path, root));
  for (const path of ["deno.json", "packages/cli/deno.json"]) {
    const { name, version } = JSON.parse(await read(path));
    if (`v${version}` !== tag) faults.push(`${path}: ${name} has version ${version}, the tag is ${tag}`);
  }
  const { imports } = JSON.parse(await read("packages/cli/deno.json"));
  const wanted = `jsr:@webfw/core@^${tag.slice(1)}`;
  if (imports["@webfw/core"] !== wanted) {
    faults.push(`packages/cli/deno.json: @webfw/core must be "${wanted}", got "${imports["@webfw/core"]}"`);
  }
  const headings = (await read("CHANGELOG.md")).split("\n").filter((line) =>
    /^## \[.*\] - \d{4}-\d\d-\d\d$/.test(line)
  );
  if (!headings.some((line) => line.startsWith(`## [${tag.slice(1)}]`))) {
    faults.push(`CHANGELOG.md: there is no heading "## [${tag.slice(1)}] - " and the day`);
  }
  return faults;
}

if (import.meta.main) {
  const [tag] = Deno.args;
  if (tag === undefined) throw new Error("Cannot check the release: give the tag, such as v0.1.0");
  const faults = await faultsOfRelease(tag);
  if (faults.length > 0) {
    console.error(`Cannot publish ${tag}:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    Deno.exit(1);
  }
}
