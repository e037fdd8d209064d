// Bundles the framework for a release: a program that imports it fetches fewer files, and starts
// faster. The modules stay in the package, as the types and the documentation of the bundles. The
// bundles are minified, and keep the names of functions and classes.

import { readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The entry point of every application. All modules that it loads at the start become one bundle. */
const CORE = "mod.ts";
const CORE_IMPORT = /import "[./]+mod\.ts";\n$/;

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

/** What `deno info --json` writes of the modules that a module needs. */
interface Graph {
  modules: { dependencies?: { isDynamic?: boolean; code?: { specifier: string } }[] }[];
}

/** The parts of a source map that are changed here. */
interface SourceMap {
  sourcesContent: string[];
  mappings: string;
}

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
  const packages = Object.keys(config.imports)
    .filter((name) => name !== INLINED && !name.startsWith(`${INLINED}/`))
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
  const deno = (args: string[]) => run(args, root, env);
  const modules = entries.map(([, module]) => join(root, module));
  const parts = await Promise.all(modules.map((module) => laterModules(module, deno)));
  await whileTheyImport(join(root, CORE), new Set([...modules, ...parts.flat()]), () => deno(args));
  for (const name of await readdir(join(root, FOLDER), { recursive: true })) {
    if (name.endsWith(".map")) await changeMap(join(root, FOLDER, name), withoutCoreImports);
  }
  for (const [name, module] of entries) {
    const bundle = module.replace("./", `./${FOLDER}/`).replace(/\.ts$/, ".js");
    const path = join(root, bundle);
    const toRoot = relative(dirname(path), root).replaceAll("\\", "/");
    const header = `/* @ts-self-types="${toRoot}/${module.slice("./".length)}" */\n// ${NOTICE}\n`;
    await Deno.writeTextFile(path, header + withRelativePaths(await Deno.readTextFile(path), root, toRoot));
    await changeMap(`${path}.map`, (map) => movedDown(map, header.split("\n").length - 1));
    config.exports[name] = bundle;
  }
  config.publish.include.push(FOLDER);
  await Deno.writeTextFile(file, JSON.stringify(config, null, 2));
}

/** Runs Deno, and returns its output. */
async function run(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd, env }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot bundle "${cwd}": ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** The modules of the framework that an entry point loads on first use, by dynamic imports. */
async function laterModules(entry: string, deno: (args: string[]) => Promise<string>): Promise<string[]> {
  const graph: Graph = JSON.parse(await deno(["info", "--json", "--no-lock", entry]));
  const dynamic = graph.modules.flatMap(({ dependencies = [] }) => dependencies.filter(({ isDynamic }) => isDynamic));
  return dynamic.flatMap(({ code }) => code?.specifier.startsWith("file:") ? fileURLToPath(code.specifier) : [])
    .filter((path) => !path.includes(`/${CLIENT}/`));
}

/**
 * Runs an action while each of the modules also imports the core. The bundler makes a chunk of all
 * modules that the same entry points reach, and a dynamic import is an entry point: without these
 * imports, each combination of parts that share a module of the core would split the core once more.
 */
async function whileTheyImport(core: string, modules: Set<string>, action: () => Promise<unknown>): Promise<void> {
  await using restored = new AsyncDisposableStack();
  modules.delete(core);
  for (const module of modules) {
    const source = await Deno.readTextFile(module);
    restored.defer(() => Deno.writeTextFile(module, source));
    const path = relative(dirname(module), core).replaceAll("\\", "/");
    // At the end, so that the source maps have the right lines.
    await Deno.writeTextFile(module, `${source}import "${path.startsWith(".") ? path : `./${path}`}";\n`);
  }
  await action();
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

/** Changes a source map in place. */
async function changeMap(file: string, change: (map: SourceMap) => SourceMap): Promise<void> {
  await Deno.writeTextFile(file, JSON.stringify(change(JSON.parse(await Deno.readTextFile(file)))));
}

/** A source map whose sources are as they were before {@link whileTheyImport}. */
function withoutCoreImports(map: SourceMap): SourceMap {
  return { ...map, sourcesContent: map.sourcesContent.map((source) => source.replace(CORE_IMPORT, "")) };
}

/** A source map whose code is some lines further down. A semicolon ends a line. */
function movedDown(map: SourceMap, lines: number): SourceMap {
  return { ...map, mappings: ";".repeat(lines) + map.mappings };
}

if (import.meta.main) await bundleRelease(join(import.meta.dirname!, "..", ".."));
