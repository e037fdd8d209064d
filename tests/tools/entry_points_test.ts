// The exports: each name has one entry point, and the main one is small enough to read.

import { assert, assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { prepareDeno } from "../../dev/tools/deno.ts";

const ROOT = join(import.meta.dirname!, "..", "..");
/** More than this is not read at one sitting. The declarations of replies are a part of it. */
const MAX_NAMES = 60;
/** The names in the reference of all entry points. Types that only the compiler names have `@ignore`. */
const MAX_DOCUMENTED = 250;

/** The names that a module exports, by its list of exports, and the modules that declare them. */
async function declarationsOf(module: string): Promise<Map<string, string>> {
  const declarations = new Map<string, string>();
  const collect: Deno.lint.Rule = {
    create: () => ({
      ExportNamedDeclaration({ source, specifiers }) {
        for (const { exported } of specifiers) {
          if (exported.type !== "Identifier") continue;
          declarations.set(exported.name, source ? join(ROOT, dirname(module), source.value) : module);
        }
      },
    }),
  };
  const source = await Deno.readTextFile(join(ROOT, module));
  Deno.lint.runPlugin({ name: "entry", rules: { collect } }, module, source);
  return declarations;
}

async function exportsOf(module: string): Promise<string[]> {
  return [...(await declarationsOf(module)).keys()];
}

Deno.test("a name means one thing, whatever entry point exports it", async () => {
  const lists = await Promise.all(
    Object.values(config.exports).filter((module) => module !== "./cli.ts").map(declarationsOf),
  );
  assert(lists.every(({ size }) => size > 0));
  const exported = Map.groupBy(lists.flatMap((list) => [...list]), ([name]) => name);
  // A WebSocket that is closed is the same error on both sides, which share no code.
  exported.delete("WebSocketClosedError");
  const isOne = (each: readonly (readonly [string, string])[]) => new Set(each.map(([, module]) => module)).size === 1;
  assertEquals([...exported].filter(([, each]) => !isOne(each)), []);
});

Deno.test(`the main entry point has at most ${MAX_NAMES} names`, async () => {
  const names = await exportsOf("mod.ts");
  assert(names.length <= MAX_NAMES, `there are ${names.length}`);
});

interface Documented {
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly { readonly kind: string }[] };
}

interface DocumentedSymbol {
  readonly name: string;
  readonly declarations: readonly (Documented & {
    readonly def?: { readonly properties?: readonly (Documented & { readonly name: string })[] };
  })[];
}

/** The symbols of entry points, as `deno doc` has them. */
async function documented(...modules: string[]): Promise<readonly DocumentedSymbol[]> {
  await using prepared = await prepareDeno(["doc", "--json", ...modules], {
    cwd: ROOT,
    stdout: "piped",
    stderr: "piped",
  });
  const { stdout } = await prepared.command.output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  return Object.values<{ symbols: readonly DocumentedSymbol[] }>(nodes).flatMap(({ symbols }) => symbols);
}

function hasTag({ jsDoc }: Documented, tag: string): boolean {
  return jsDoc?.tags?.some(({ kind }) => kind === tag) === true;
}

Deno.test(`the reference has at most ${MAX_DOCUMENTED} names`, async () => {
  const symbols = await documented(...Object.values(config.exports));
  assert(symbols.length > MAX_NAMES);
  assert(symbols.length <= MAX_DOCUMENTED, `there are ${symbols.length}`);
});

Deno.test("verbs are documented on `App` with an example, and on `Router`", async () => {
  const symbols = await documented("mod.ts");
  const verbs = ["get", "post", "put", "patch", "delete", "route", "websocket", "mount", "files"];
  for (const name of ["App", "Router"]) {
    const properties = symbols.find((symbol) => symbol.name === name)!.declarations[0]!.def!.properties!;
    const complete = properties.filter((each) => each.jsDoc?.doc && (name === "Router" || hasTag(each, "example")))
      .map(({ name }) => name);
    assertEquals(verbs.filter((verb) => !complete.includes(verb)), [], name);
  }
});

Deno.test("the reference has a category for each name that programs write", async () => {
  const symbols = await documented("mod.ts");
  assertEquals(symbols.map(({ name }) => name).sort(), (await exportsOf("mod.ts")).sort());
  const hasCategory = ({ declarations }: DocumentedSymbol) => declarations.some((each) => hasTag(each, "category"));
  assertEquals(symbols.filter((symbol) => !hasCategory(symbol)).map(({ name }) => name), []);
});
