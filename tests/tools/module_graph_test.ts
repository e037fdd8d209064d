// The shape of the source as a whole: no cycles between modules, no long files.

import { assert, assertEquals } from "@std/assert";
import { dirname, join, relative } from "node:path";
import { importVisitor } from "../../dev/tools/lint/imports.ts";

const ROOT = join(import.meta.dirname!, "..", "..");
const MAX_LINES = 700;

/** The imports of each module, as paths from the root of the repository. */
type Graph = Map<string, string[]>;

/** The TypeScript files of the repository, without ignored ones. */
async function sourceFiles(folder = ROOT): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory && !/^(?:\.|node_modules$|vendor$|coverage$)/.test(name)) {
      files.push(...await sourceFiles(path));
    } else if (/\.tsx?$/.test(name)) {
      files.push(path);
    }
  }
  return files;
}

/** The specifiers of all imports, of types too. */
function importsOf(file: string, source: string): string[] {
  const specifiers: string[] = [];
  const collect: Deno.lint.Rule = {
    create: () =>
      importVisitor(({ specifier }) => {
        if (specifier !== null) specifiers.push(specifier);
      }),
  };
  Deno.lint.runPlugin({ name: "graph", rules: { collect } }, file, source);
  return specifiers;
}

async function moduleGraph(files: string[]): Promise<Graph> {
  const graph: Graph = new Map();
  for (const file of files) {
    const targets = importsOf(file, await Deno.readTextFile(file))
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => relative(ROOT, join(dirname(file), specifier)));
    graph.set(relative(ROOT, file), targets);
  }
  return graph;
}

/** The modules of one cycle, from a module back to itself; null without a cycle. */
function findCycle(graph: Graph): string[] | null {
  const done = new Set<string>();
  function visit(module: string, path: string[]): string[] | null {
    const start = path.indexOf(module);
    if (start >= 0) return [...path.slice(start), module];
    if (done.has(module)) return null;
    for (const target of graph.get(module) ?? []) {
      const cycle = visit(target, [...path, module]);
      if (cycle !== null) return cycle;
    }
    done.add(module);
    return null;
  }
  for (const module of graph.keys()) {
    const cycle = visit(module, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

Deno.test("a cycle of any length is found, and a diamond is not a cycle", () => {
  const graph = (edges: Record<string, string[]>) => new Map(Object.entries(edges));
  assertEquals(
    findCycle(graph({ a: ["b"], b: ["c", "d"], c: [], d: ["e"], e: ["b"] })),
    ["b", "d", "e", "b"],
  );
  assertEquals(findCycle(graph({ a: ["a"] })), ["a", "a"]);
  assertEquals(
    findCycle(graph({ a: ["b", "c"], b: ["d"], c: ["d"], d: [] })),
    null,
  );
});

Deno.test("imports of types, re-exports and dynamic imports count as edges", () => {
  const source = `import { a } from "./a.ts";
    import type { B } from "./b.ts";
    export type { C } from "./c.ts";
    export * from "./d.ts";
    let e: import("./e.ts").E;
    await import("./f.ts");`;
  assertEquals(importsOf("x.ts", source), [
    "./a.ts",
    "./b.ts",
    "./c.ts",
    "./d.ts",
    "./e.ts",
    "./f.ts",
  ]);
});

Deno.test("the module graph has no cycle, types included", async () => {
  const graph = await moduleGraph(await sourceFiles());
  assert(graph.has("tests/tools/module_graph_test.ts"));
  assertEquals(findCycle(graph), null);
});

Deno.test(`no source file has more than ${MAX_LINES} lines`, async () => {
  const long: string[] = [];
  for (const file of await sourceFiles()) {
    const lines = (await Deno.readTextFile(file)).split("\n").length - 1;
    if (lines > MAX_LINES) long.push(`${relative(ROOT, file)}: ${lines}`);
  }
  assertEquals(long, []);
});
