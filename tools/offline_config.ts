// Writes deno.offline.json: deno.json with `@std/*` taken from the stand-ins in offline/. Generated, so that the two
// cannot drift apart; it has to lie beside deno.json, because a workspace's members lie below its configuration.

import { join } from "node:path";

/** What is read of a package's deno.json. */
interface PackageConfig {
  name: string;
  exports: string | Record<string, string>;
  imports: Record<string, string>;
}

/** What is read of, and changed in, the repository's deno.json. */
export interface RootConfig extends PackageConfig {
  workspace: string[];
  tasks?: unknown;
  exclude?: unknown;
  lock?: string;
}

/** Writes `<root>/deno.offline.json` if its content has changed, and gives its path. */
export async function writeOfflineConfig(root: string): Promise<string> {
  const file = join(root, "deno.offline.json");
  const content = JSON.stringify(await offlineConfig(root), null, 2) + "\n";
  const current = await Deno.readTextFile(file).catch(() => null);
  if (current === content) return file;
  // Renamed into place: commands that start at the same time never read half a file.
  const draft = `${file}.${crypto.randomUUID()}`;
  await Deno.writeTextFile(draft, content);
  await Deno.rename(draft, file);
  return file;
}

/** The configuration that {@linkcode writeOfflineConfig} writes. */
export async function offlineConfig(
  root: string,
): Promise<Omit<RootConfig, "tasks" | "exclude">> {
  const { tasks: _tasks, exclude: _exclude, ...config } = await readRootConfig(
    root,
  );
  const standIns: string[] = [];
  for await (const entry of Deno.readDir(join(root, "offline"))) {
    if (entry.isDirectory) standIns.push(`./offline/${entry.name}`);
  }
  standIns.sort();
  const imports = { ...config.imports, ...importsOf(config, ".") };
  for (const folder of standIns) {
    const standIn = await readJson<PackageConfig>(
      join(root, folder, "deno.json"),
    );
    delete imports[standIn.name]; // it names JSR
    Object.assign(imports, importsOf(standIn, folder));
    for (const [name, specifier] of Object.entries(standIn.imports)) {
      imports[`${name}/`] = specifier.replace("npm:", "npm:/") + "/";
    }
  }
  return {
    ...config,
    // As members they also stand in for `jsr:` specifiers, and `deno publish` sees them as packages of their own.
    workspace: [...config.workspace, ...standIns],
    // As paths they serve `deno doc`, which looks up members on JSR and takes this file as an import map.
    imports,
    lock: "./offline/deno.lock",
  };
}

/** The repository's deno.json. */
export function readRootConfig(root: string): Promise<RootConfig> {
  return readJson<RootConfig>(join(root, "deno.json"));
}

function importsOf(
  { name, exports }: PackageConfig,
  folder: string,
): Record<string, string> {
  const entries = Object.entries(
    typeof exports === "string" ? { ".": exports } : exports,
  );
  return Object.fromEntries(
    entries.map((
      [key, path],
    ) => [name + key.slice(1), `./${join(folder, path)}`]),
  );
}

async function readJson<T>(file: string): Promise<T> {
  return JSON.parse(await Deno.readTextFile(file));
}
