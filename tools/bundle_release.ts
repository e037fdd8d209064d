// Bundles the framework for a release: a program that imports it fetches some 125 files instead of
// 280, and starts faster. The modules stay in the package, as the types and the documentation of the
// bundles. The bundles are minified, and keep the names of functions and classes.

import { dirname, join, relative } from "node:path";

/** The folder of the bundles in the package. `src/log/log_text.ts` knows it. */
const FOLDER = "dist";

/**
 * Entry points that stay as they are: the command line sends the source of its classes to other
 * processes, and the client must stay small in a page.
 */
const UNBUNDLED: ReadonlySet<string> = new Set(["./cli", "./client"]);

/** The modules of the client. The test client of a bundle imports them, too, so that there is one `ProblemError`. */
const CLIENT = "src/client";

/** What is in the bundles besides the framework, and the notice that its license asks for. */
const INLINED = "@std/http";
const NOTICE =
  "These bundles contain parts of @std/http. Copyright the Deno authors. MIT license, whose text is in LICENSE.";

/**
 * Bundles the entry points of the package in a folder, and changes its deno.json to export the
 * bundles.
 *
 * @param folder The folder, a clone or a copy of the repository.
 * @param env More environment variables for Deno.
 */
export async function bundleRelease(folder: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const root = await Deno.realPath(folder);
  const file = join(root, "deno.json");
  const config = JSON.parse(await Deno.readTextFile(file));
  const entries = Object.entries<string>(config.exports).filter(([name]) => !UNBUNDLED.has(name));
  const packages = Object.keys(config.imports).filter((name) => name !== INLINED)
    .flatMap((name) => [name, `${name}/*`]);
  const args = [
    "bundle",
    "--no-lock",
    "--code-splitting",
    "--minify",
    "--keep-names",
    // Not "linked": for a link Deno (2.9) reads each map when a program starts, 11 % of its CPU time.
    "--sourcemap",
    "external",
    ...[...packages, `./${CLIENT}/*`].flatMap((specifier) => ["--external", specifier]),
    "--outdir",
    FOLDER,
    ...entries.map(([, module]) => module),
  ];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: root, env: { ...env } }).output();
  if (!success) throw new Error(`Cannot bundle "${root}": ${new TextDecoder().decode(stderr)}`);
  for (const [name, module] of entries) {
    const bundle = module.replace("./", `./${FOLDER}/`).replace(/\.ts$/, ".js");
    const path = join(root, bundle);
    const toRoot = relative(dirname(path), root).replaceAll("\\", "/");
    const header = `/* @ts-self-types="${toRoot}/${module.slice("./".length)}" */\n// ${NOTICE}\n`;
    await Deno.writeTextFile(path, header + withRelativePaths(await Deno.readTextFile(path), root, toRoot));
    await moveDown(`${path}.map`, header.split("\n").length - 1);
    config.exports[name] = bundle;
  }
  config.publish.include.push(FOLDER);
  await Deno.writeTextFile(file, JSON.stringify(config, null, 2));
}

/**
 * Makes the absolute paths relative that the bundler writes for modules outside of the bundles. Spaces
 * keep the columns, which the source map has.
 */
function withRelativePaths(text: string, root: string, toRoot: string): string {
  const begin = `"${join(root, CLIENT)}/`;
  return text.split(begin).map((part, index) => {
    if (index === 0) return part;
    const end = part.indexOf('"') + 1;
    const path = `"${toRoot}/${CLIENT}/${part.slice(0, end)}`;
    return path.padEnd(begin.length + end) + part.slice(end);
  }).join("");
}

/** Moves the code of a source map down by lines. */
async function moveDown(file: string, lines: number): Promise<void> {
  const map = JSON.parse(await Deno.readTextFile(file));
  // A semicolon ends a line.
  map.mappings = ";".repeat(lines) + map.mappings;
  await Deno.writeTextFile(file, JSON.stringify(map));
}

if (import.meta.main) await bundleRelease(join(import.meta.dirname!, ".."));
