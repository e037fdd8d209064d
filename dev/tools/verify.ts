// Runs every check that is not a test, all of them even when one fails, and
// exits with 1 if any did.

import { join } from "node:path";
import { prepareDeno } from "./deno.ts";
import { readRootConfig } from "./offline_config.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** Separate projects, whose packages are not those of the framework. */
const PROJECTS = ["dev/bench/peers", "tests/agents/clients", "tests/describe/consumers", "dev/tools/site"];

/** A Deno command, and the folder it runs in. */
interface Step {
  args: string[];
  cwd: string;
}

async function steps(): Promise<Step[]> {
  const { exports, workspace } = await readRootConfig(ROOT);
  const members = workspace.map((member) => join(ROOT, member));
  const published = await Promise.all(members.map(isPublished));
  // `deno task check` has checked the types.
  const publish = ["publish", "--dry-run", "--allow-dirty", "--no-check"];
  return [
    { args: ["fmt", "--check"], cwd: ROOT },
    { args: ["lint"], cwd: ROOT },
    { args: ["run", "--no-lock", "-A", "dev/tools/check.ts"], cwd: ROOT },
    ...PROJECTS.flatMap((project) =>
      [["fmt", "--check"], ["lint"], ["check"]].map((command) => ({
        args: [...command, `--config=${project}/deno.json`, project],
        cwd: ROOT,
      }))
    ),
    { args: ["doc", "--lint", ...Object.values(exports)], cwd: ROOT },
    { args: publish, cwd: ROOT },
    ...members.filter((_, index) => published[index])
      .map((member) => ({ args: publish, cwd: member })),
  ];
}

/** A member without a name is not published. */
async function isPublished(member: string): Promise<boolean> {
  const config = await Deno.readTextFile(join(member, "deno.json"));
  return "name" in JSON.parse(config);
}

async function succeeds({ args, cwd }: Step): Promise<boolean> {
  console.log(`\n> deno ${args.join(" ")}`);
  await using prepared = await prepareDeno(args, {
    cwd,
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  });
  return (await prepared.command.spawn().status).success;
}

const failed: string[] = [];
for (const step of await steps()) {
  if (!await succeeds(step)) failed.push(`deno ${step.args.join(" ")}`);
}
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join("; ")}`);
  Deno.exit(1);
}
