// The modules that every application loads when it starts. A module that only some applications use
// is loaded on first use, because each module makes every start slower and every process larger,
// most of all those of Node.js. Deno reads the others, too, when it starts: one costs 0.06 ms of CPU
// time, and one that is also run 0.2 ms.

import { assert, assertEquals } from "@std/assert";
import { dirname, join, relative } from "node:path";
import { App } from "../../mod.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** The packages of every application. */
const PACKAGES = ["@std/http/cookie", "@std/http/status", "@valibot/to-json-schema", "valibot"];

/** Modules that are loaded on first use, and that use. */
const FIRST_USE: readonly (readonly [use: string, modules: RegExp])[] = [
  ["an agent asks", /^src\/describe\/mcp\/(?:server|tool|tool_call|tool_result)\.ts$/],
  ["the board is shown", /^src\/board\//],
  ["the documentation page is shown", /^src\/describe\/page\/(?!options\.ts)/],
  ["a request has an Idempotency-Key", /^src\/idempotency\/(?!options\.ts)/],
  ["a cron is declared", /^src\/work\/cron\/(?!crons|options|clock)/],
  ["a webhook is sent", /^src\/webhooks\/(?!webhooks\.ts)/],
  ["a consumer is declared", /^src\/work\/consumers\//],
  ["a durable topic is used", /^src\/store\/(?:(?:kv|jetstream)\/|(?:cannot_open|store_connection)\.ts$)/],
  ["records are kept in memory", /^src\/store\/memory\/memory_records\.ts$/],
  ["workers share topics", /^src\/store\/memory\/worker_(?:store|records)\.ts$/],
  ["topics are reported", /^src\/topics\/topic_report\.ts$/],
  ["a form is sent", /^src\/http\/forms\//],
  ["a WebSocket opens", /^src\/routing\/websocket_upgrade\.ts$/],
  ["a WebSocket is open", /^src\/http\/websocket\/(?:connection|transport)\.ts$/],
  ["a stream is replied", /^src\/http\/(?:stream_reply|pull_stream)\.ts$/],
  ["events are sent", /^src\/http\/(?:sse\/(?:reply|event|topic_events))\.ts$/],
  ["a limit counts requests", /^src\/rate_limit\/(?:counts|shared_counts|record_counts)\.ts$/],
  ["a test replaces dependencies", /^src\/(?:app\/override|binding\/replacements)\.ts$/],
  ["a proxy is trusted", /^src\/http\/forwarded\.ts$/],
  ["a client needs a token", /^src\/http\/challenge\.ts$/],
  ["the metrics of OpenTelemetry are on", /^src\/app\/gauges\.ts$/],
  ["a file is replied", /^src\/http\/files\//],
];

/** The specifiers that a module loads before it runs: neither types nor dynamic imports. */
function loadsOf(file: string, source: string): string[] {
  const specifiers: string[] = [];
  const collect: Deno.lint.Rule = {
    create: () => ({
      ImportDeclaration(node) {
        if (node.importKind !== "type") specifiers.push(node.source.value);
      },
      ExportNamedDeclaration(node) {
        if (node.source && node.exportKind !== "type") specifiers.push(node.source.value);
      },
      ExportAllDeclaration(node) {
        if (node.exportKind !== "type") specifiers.push(node.source.value);
      },
    }),
  };
  Deno.lint.runPlugin({ name: "start", rules: { collect } }, file, source);
  return specifiers;
}

/**
 * All modules that a module loads, by their paths from the root of the repository, and all
 * packages.
 */
async function startOf(entry: string): Promise<{ modules: Set<string>; packages: Set<string> }> {
  const modules = new Set([entry]);
  const packages = new Set<string>();
  for (const module of modules) {
    const file = join(ROOT, module);
    for (const specifier of loadsOf(file, await Deno.readTextFile(file))) {
      if (specifier.startsWith(".")) modules.add(relative(ROOT, join(dirname(file), specifier)).replaceAll("\\", "/"));
      else packages.add(specifier);
    }
  }
  return { modules, packages };
}

async function sourceModules(folder = "src"): Promise<string[]> {
  const modules: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = `${folder}/${name}`;
    if (isDirectory) modules.push(...await sourceModules(path));
    else modules.push(path);
  }
  return modules;
}

Deno.test("types and dynamic imports are loaded by no start", () => {
  const source = `import { a } from "./a.ts";
    import type { B } from "./b.ts";
    export type { C } from "./c.ts";
    export { d } from "./d.ts";
    export * from "./e.ts";
    import { type F } from "./f.ts";
    await import("./g.ts");`;
  assertEquals(loadsOf("x.ts", source), ["./a.ts", "./d.ts", "./e.ts", "./f.ts"]);
});

Deno.test("an application loads these packages when it starts, and no module of Node.js", async () => {
  const { packages } = await startOf("mod.ts");
  assertEquals([...packages].sort(), PACKAGES);
});

Deno.test("The guards load no package that an application does not load, and the core no guards", async () => {
  const { packages, modules } = await startOf("src/auth/mod.ts");
  assertEquals([...packages].filter((name) => !PACKAGES.includes(name)), []);
  assert(modules.has("src/auth/jwt.ts"));
  const core = await startOf("mod.ts");
  assertEquals([...core.modules].filter((module) => module.startsWith("src/auth/")), []);
});

for (const [use, waiting] of FIRST_USE) {
  Deno.test(`an application does not load what it needs only when ${use}`, async () => {
    const { modules } = await startOf("mod.ts");
    assert(modules.has("src/app/app.ts"));
    assert((await sourceModules()).some((module) => waiting.test(module)), "there is no such module any more");
    assertEquals([...modules].filter((module) => waiting.test(module)), []);
  });
}

Deno.test("an application without guards loads none, and iron-webcrypto comes with the first sealed session", async () => {
  assertEquals([...(await startOf("mod.ts")).modules].filter((module) => module.startsWith("src/auth/")), []);
  const { modules, packages } = await startOf("src/auth/mod.ts");
  assert(modules.has("src/auth/session.ts"));
  assertEquals([packages.has("iron-webcrypto"), modules.has("src/auth/sessions/sealed.ts")], [false, false]);
});

Deno.test("the client loads nothing of the server and no package, and uses nothing of Deno", async () => {
  const { modules, packages } = await startOf("src/client/mod.ts");
  const later = (await sourceModules("src/client")).filter((module) => !modules.has(module));
  for (const module of later) {
    const own = await startOf(module);
    own.modules.forEach((each) => modules.add(each));
    own.packages.forEach((each) => packages.add(each));
  }
  assert(modules.has("src/client/call.ts") && modules.has("src/client/fields.ts"));
  assertEquals([...modules].filter((module) => !/^src\/client\/.+$/.test(module)), ["src/base/address.ts"]);
  assertEquals([...packages], []);
  for (const module of modules) {
    // Examples in comments may.
    const source = (await Deno.readTextFile(join(ROOT, module))).replace(/^ *\*.*$/gm, "");
    assertEquals(source.match(/\bDeno\.|["']node:/), null, module);
  }
});

Deno.test("no timer is set or cleared before the first reply: Deno loads node:timers for it", async () => {
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
  const stop = new AbortController();
  const used: string[] = [];
  const noting = (name: string) => [name, () => void used.push(name)];
  const app = new App();
  app.get("/", async () => ({ hello: "world" }));
  const listening = Promise.withResolvers<number>();
  const names = ["setTimeout", "setInterval", "clearTimeout", "clearInterval"];
  Object.assign(globalThis, Object.fromEntries(names.map(noting)));
  let running: Promise<void>;
  try {
    running = app.run({ port: 0, signal: stop.signal, onListen: ({ port }) => listening.resolve(port) });
    const response = await fetch(`http://127.0.0.1:${await listening.promise}/`);
    assertEquals(await response.json(), { hello: "world" });
  } finally {
    Object.assign(globalThis, { setTimeout, setInterval, clearTimeout, clearInterval });
  }
  stop.abort();
  await running;
  assertEquals(used, []);
});
