// `deno task check`: checks the types of all modules, of the examples in docstrings, and of the
// programs of the guide. Tests run without checks, so each type is checked once.

import { join } from "node:path";
import { prepareDeno } from "./deno.ts";
import { Guide } from "./guide.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** Recipes import packages that change global types, so they are a program of their own. */
const RECIPES = join("docs", "recipes");

/** The modules of the repository. Not ".": that includes what tests have written into .webfw/. */
async function modules(): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(ROOT));
  return entries.filter(({ name, isDirectory }) => !name.startsWith(".") && (isDirectory || name.endsWith(".ts")))
    .map(({ name }) => name).toSorted();
}

async function check(files: readonly string[]): Promise<boolean> {
  const args = ["check", "--quiet", "--doc", ...files];
  await using prepared = await prepareDeno(args, { cwd: ROOT, stdin: "null", stdout: "inherit", stderr: "inherit" });
  return (await prepared.command.spawn().status).success;
}

await using guide = await Guide.open();
const { true: recipes = [], false: others = [] } = Object.groupBy(
  guide.files,
  (file) => `${file.startsWith(RECIPES)}`,
);
const pathOf = (file: string) => join(guide.folder, file);
const results = [
  await check([...await modules(), ...others.map(pathOf)]),
  await check(recipes.map(pathOf)),
];
if (results.includes(false)) Deno.exitCode = 1;
