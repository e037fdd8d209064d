// Section 4 of the contract of shipping: "`.github/workflows`: tests, and publishing to JSR with
// provenance".

import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { readRootConfig } from "../../dev/tools/offline_config.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

async function read(...path: string[]): Promise<string> {
  return await Deno.readTextFile(join(ROOT, ...path));
}

/** The jobs of a workflow, by name. */
function jobsOf(text: string): Map<string, string> {
  const jobs = text.split(/^jobs:\n/m)[1]!;
  return new Map(Array.from(jobs.matchAll(/^ {2}(\w+):\n((?: {4}.*\n|\n)*)/gm), ([, name, job]) => [name!, job!]));
}

Deno.test("tests: of each change, of all systems, and of the oldest Deno that is supported", async () => {
  const text = await read(".github", "workflows", "test.yml");
  assertMatch(text, /^on:\n {2}push:\n {4}branches: \[main\]\n {2}pull_request:$/m);
  const jobs = jobsOf(text);
  assertEquals([...jobs.keys()], ["all", "platforms", "oldest"]);
  assertMatch(jobs.get("all")!, /^ {6}- run: \.ci\/run$/m);
  for (const name of ["platforms", "oldest"]) assertMatch(jobs.get(name)!, /^ {6}- run: deno task test$/m);
  const oldest = /oldest supported version of Deno is (\d+\.\d+)/.exec(await read("docs", "versions.md"))![1];
  assertMatch(jobs.get("oldest")!, new RegExp(`deno-version: v${oldest}\\.x$`, "m"));
});

Deno.test("what takes long: each night", async () => {
  const text = await read(".github", "workflows", "nightly.yml");
  assertMatch(text, /^on:\n {2}schedule:\n {4}- cron: "\d+ \d+ \* \* \*"$/m);
  assertMatch(jobsOf(text).get("all")!, /^ {6}- run: \.ci\/run --all$/m);
});

Deno.test("publishing to JSR with provenance: all packages, from a tag, after all tests", async () => {
  const text = await read(".github", "workflows", "publish.yml");
  assertMatch(text, /^on:\n {2}push:\n {4}tags: \["v\*\.\*\.\*"\]$/m);
  const jobs = jobsOf(text);
  assertMatch(jobs.get("test")!, /^ {6}- run: \.ci\/run --all$/m);
  const publish = jobs.get("publish")!;
  assertMatch(publish, /^ {4}needs: test$/m);
  // JSR signs a provenance for who has a token of this workflow, and for nobody who turns it off.
  assertMatch(publish, /^ {6}id-token: write$/m);
  assertEquals(/--no-provenance|secrets\.|--token/.exec(text), null);
  const { name, workspace } = await readRootConfig(ROOT);
  const names = [name];
  for (const member of workspace) {
    const config = JSON.parse(await read(member, "deno.json"));
    if (config.name !== undefined) names.push(config.name);
  }
  const published = publish.matchAll(/- name: "(.+)"\n(?: {8}working-directory: .+\n)? {8}run: deno publish/g);
  assertEquals(Array.from(published, ([, name]) => name), names);
});
