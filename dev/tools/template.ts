// Writes src/cli/template.json, from which `webfw init` writes the files of a new service. A package
// cannot have them as they are: publishing rewrites the imports of every module.

import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");
const FOLDER = join("dev", "template");

/** The file that the command reads. */
export const TEMPLATE_JSON: string = join(ROOT, "src", "cli", "template.json");

/** The text of the file: all files that git tracks below `dev/template/`, by their paths. */
export async function templateJson(): Promise<string> {
  const { stdout } = await new Deno.Command("git", { args: ["ls-files", "-z"], cwd: join(ROOT, FOLDER) }).output();
  const paths = new TextDecoder().decode(stdout).split("\0").filter(Boolean).toSorted();
  const texts = paths.map(async (path) => [path, await Deno.readTextFile(join(ROOT, FOLDER, path))]);
  return `${JSON.stringify(Object.fromEntries(await Promise.all(texts)), null, 2)}\n`;
}

if (import.meta.main) await Deno.writeTextFile(TEMPLATE_JSON, await templateJson());
