/** Writes a new service. */

import { fileURLToPath } from "node:url";
import { dirname, join, relative, resolve } from "node:path";
import { type Command, CommandError } from "../command.ts";
import { isFile } from "../project.ts";

export const INIT: Command = {
  name: "init",
  summary: "Write a new service, with tests and files for its deployment",
  operand: { name: "folder", isOptional: true },
  options: [],
  takesDenoFlags: false,
  details: `The folder is created if it does not exist; the default is the current one. It must be empty,
except for ".git". The service has a model, a guard, tools and an event stream, a deno.json
with tasks, a Dockerfile, a workflow for GitHub, and a README.md that explains them.`,
  examples: ["webfw init shop", "webfw init"],
  async run({ operand }) {
    const folder = resolve(operand);
    await requireEmpty(folder, operand || ".");
    const files = Object.entries(await templateFor(folder));
    for (const [path, text] of files) await write(join(folder, path), text);
    console.log(`Wrote ${files.length} files${operand === "" ? "" : ` to ${operand}`}. Next:\n`);
    if (operand !== "") console.log(`  cd ${/^[\w./-]+$/.test(operand) ? operand : JSON.stringify(operand)}`);
    // A Deno that npx has downloaded is not in the PATH of the user.
    const deno = /[\\/]_npx[\\/]/.test(Deno.execPath()) ? "npx -y deno@2" : "deno";
    console.log(`  ${deno} task dev   # serves on http://127.0.0.1:8000\n  ${deno} task test`);
    return 0;
  },
};

async function requireEmpty(folder: string, named: string): Promise<void> {
  const problem = `Cannot write a service to "${named}"`;
  try {
    for await (const { name } of Deno.readDir(folder)) {
      if (name !== ".git") throw new CommandError(`${problem}: the folder is not empty, name another one`);
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    if (error instanceof Deno.errors.NotADirectory) {
      throw new CommandError(`${problem}: it is a file, name another folder`);
    }
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${problem}: ${error instanceof Error ? error.message : error}`);
  }
}

async function templateFor(folder: string): Promise<Record<string, string>> {
  const { default: files } = await import("../template.json", { with: { type: "json" } });
  const links = await clonedPackages(folder);
  if (links.length === 0) return files;
  const config = { ...JSON.parse(files["deno.json"]), links };
  return { ...files, "deno.json": `${JSON.stringify(config, null, 2)}\n` };
}

/**
 * The packages, if this command runs from a clone of the repository: the service uses the framework
 * of the clone, and its replacements of `@std` if JSR cannot be reached.
 */
async function clonedPackages(folder: string): Promise<string[]> {
  if (!import.meta.url.startsWith("file:")) return [];
  const clone = fileURLToPath(new URL("../../../", import.meta.url));
  const packages = [".", "packages/cli"];
  if (import.meta.resolve("@std/cli/parse-args").startsWith("file:")) {
    packages.push("dev/offline/assert", "dev/offline/cli", "dev/offline/http");
  }
  const folders = packages.map((path) => join(clone, path));
  for (const path of folders) {
    if (!await isFile(join(path, "deno.json"))) return [];
  }
  return folders.map((path) => relative(folder, path).replaceAll("\\", "/"));
}

async function write(file: string, text: string): Promise<void> {
  try {
    await Deno.mkdir(dirname(file), { recursive: true });
    await Deno.writeTextFile(file, text, { createNew: true });
  } catch (error) {
    throw new CommandError(`Cannot write "${file}": ${error instanceof Error ? error.message : error}`);
  }
}
