// Bundles the framework for a release: a program that imports it fetches some 100 files instead of
// 260. The modules stay in the package, as the types and documentation of the bundles. The command
// line is not bundled: it sends the source of classes to other processes.

import { join } from "node:path";

/** The folder of the bundles in the package. `src/log_text.ts` knows it. */
const FOLDER = "dist";

/** Entry points that stay as they are. */
const UNBUNDLED: ReadonlySet<string> = new Set(["./cli"]);

/** What is in the bundles besides the framework, with the notice that its license asks for. */
const INLINED = "@std/http";
const NOTICE = "Contains parts of @std/http, copyright the Deno authors, MIT license.";

/**
 * Bundles the entry points of the package in a folder, and changes its deno.json to export the
 * bundles.
 *
 * @param folder The folder, a clone or a copy of the repository.
 * @param env More environment variables for Deno.
 */
export async function bundleRelease(folder: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const file = join(folder, "deno.json");
  const config = JSON.parse(await Deno.readTextFile(file));
  const entries = Object.entries<string>(config.exports).filter(([name]) => !UNBUNDLED.has(name));
  const packages = Object.keys(config.imports).filter((name) => name !== INLINED);
  const args = [
    "bundle",
    "--no-lock",
    "--code-splitting",
    "--keep-names",
    ...packages.flatMap((name) => ["--external", name, "--external", `${name}/*`]),
    "--outdir",
    FOLDER,
    ...entries.map(([, module]) => module),
  ];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder, env: { ...env } }).output();
  if (!success) throw new Error(`Cannot bundle "${folder}": ${new TextDecoder().decode(stderr)}`);
  for (const [name, module] of entries) {
    const bundle = module.replace("./", `./${FOLDER}/`).replace(/\.ts$/, ".js");
    const types = "../".repeat(bundle.split("/").length - 2) + module.slice("./".length);
    const path = join(folder, bundle);
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, `/* @ts-self-types="${types}" */\n// ${NOTICE}\n${text}`);
    config.exports[name] = bundle;
  }
  config.publish.include.push(FOLDER);
  await Deno.writeTextFile(file, JSON.stringify(config, null, 2));
}

if (import.meta.main) await bundleRelease(join(import.meta.dirname!, ".."));
