/** Lets the project of a test import the framework of this repository. */

import { fileURLToPath, pathToFileURL } from "node:url";
import { join } from "node:path";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface Config {
  readonly exports: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, string>>;
}

/** The imports for the deno.json of a project. The framework is in `folder`. */
export async function frameworkImports(folder: string = ROOT): Promise<Record<string, string>> {
  // Where JSR cannot be reached, the task runner names a configuration without it.
  const config: Config = JSON.parse(await Deno.readTextFile(Deno.env.get("WEBFW_CONFIG") || join(ROOT, "deno.json")));
  const imports: Record<string, string> = {};
  for (const [name, specifier] of Object.entries(config.imports)) {
    imports[name] = specifier.startsWith("./") ? pathToFileURL(join(ROOT, specifier)).href : specifier;
  }
  for (const [name, path] of Object.entries(config.exports)) {
    imports[`@webfw/core${name.slice(1)}`] = pathToFileURL(join(folder, path)).href;
  }
  return imports;
}

/** Copies the framework's sources to a folder. */
export async function copyFramework(folder: string): Promise<void> {
  for (const file of ["deno.json", "mod.ts", "cli.ts"]) await copy(file, folder);
  for await (const file of filesBelow("src")) await copy(file, folder);
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    if (isDirectory) yield* filesBelow(join(folder, name));
    else yield join(folder, name);
  }
}

async function copy(file: string, folder: string): Promise<void> {
  await Deno.mkdir(join(folder, file, ".."), { recursive: true });
  await Deno.copyFile(join(ROOT, file), join(folder, file));
}
