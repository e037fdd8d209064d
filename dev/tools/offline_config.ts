// Writes deno.offline.json: deno.json with `@std/*` taken from the replacements in dev/offline/. It is
// generated, so the two files cannot differ. It is in the same folder as deno.json, because the
// members of a workspace must be below its configuration.

import { join } from "node:path";

/** The fields of a package's deno.json that are read. */
interface PackageConfig {
  name: string;
  exports: string | Record<string, string>;
  imports: Record<string, string>;
}

/** The fields of the repository's deno.json that are read or changed. */
interface RootConfig extends PackageConfig {
  workspace: string[];
  exclude: string[];
  tasks: Record<string, string>;
}

/** Writes `deno.offline.json` if its content has changed, and returns its path. */
export async function writeOfflineConfig(root: string): Promise<string> {
  const file = join(root, "deno.offline.json");
  const content = await offlineConfig(root);
  if (content === await Deno.readTextFile(file).catch(() => null)) return file;
  // Renamed into place: a command that starts now never reads half a file.
  const draft = `${file}.${crypto.randomUUID()}`;
  await Deno.writeTextFile(draft, content);
  await Deno.rename(draft, file);
  return file;
}

/** The text of the configuration that needs no JSR. */
export async function offlineConfig(root: string): Promise<string> {
  const { tasks: _tasks, ...config } = await readRootConfig(root);
  const workspace = [...config.workspace];
  const imports = { ...config.imports, ...importsOf(config, ".") };
  for (const folder of await standIns(root)) {
    const standIn = await readJson<PackageConfig>(
      join(root, folder, "deno.json"),
    );
    // A workspace member also resolves `jsr:` specifiers, and `deno publish` takes it for a
    // separate package. The paths in `imports` are for `deno doc`, which looks for members on JSR
    // and takes this file as an import map.
    workspace.push(`./${folder}`);
    delete imports[standIn.name];
    Object.assign(imports, importsOf(standIn, folder));
    for (const [name, specifier] of Object.entries(standIn.imports)) {
      imports[`${name}/`] = `${specifier.replace("npm:", "npm:/")}/`;
    }
  }
  const offline = {
    ...config,
    workspace,
    imports,
    exclude: config.exclude.filter((path) => path !== "dev/offline"),
    lock: "./dev/offline/deno.lock",
  };
  return JSON.stringify(offline, null, 2);
}

/** The repository's deno.json. */
export function readRootConfig(root: string): Promise<RootConfig> {
  return readJson<RootConfig>(join(root, "deno.json"));
}

async function standIns(root: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(join(root, "dev", "offline")));
  return entries.filter((entry) => entry.isDirectory)
    .map((entry) => `dev/offline/${entry.name}`)
    .toSorted();
}

function importsOf(
  { name, exports }: PackageConfig,
  folder: string,
): Record<string, string> {
  const paths = typeof exports === "string" ? { ".": exports } : exports;
  return Object.fromEntries(
    Object.entries(paths).map(([key, path]) => [
      name + key.slice(".".length),
      path.replace("./", folder === "." ? "./" : `./${folder}/`),
    ]),
  );
}

async function readJson<T>(file: string): Promise<T> {
  return JSON.parse(await Deno.readTextFile(file));
}
