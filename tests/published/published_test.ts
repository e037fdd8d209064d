// The published packages, used as the README says.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SourceMap, type SourceMapping } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { Project } from "../cli/project.ts";
import { isGone, Webfw } from "../cli/webfw.ts";
import { Registry } from "./registry.ts";
import { blocks, programs, README, writeFiles } from "../examples/readme.ts";
import { environmentFor, publishPackages, publishStandIns } from "./release.ts";

/** A program without a configuration. */
const MAIN = `import { App } from "jsr:@webfw/core";
import * as v from "npm:valibot@^1.5.0";

export const app = new App();
app.get("/hello/{id}", { params: { id: v.number() }, tool: true }, async function hello(_request, { id }) {
  return { hello: id, pid: Deno.pid };
});
export default app;
`;

/** A test of the README's program. */
const TEST = `import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import { app } from "./main.ts";

Deno.test("a book is found", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.get("/books/1").json(), { id: 1, title: "Middlemarch" });
});
`;

/** What `deno info --json` writes. */
interface ModuleGraph {
  modules: { specifier: string; dependencies?: Dependencies }[];
}

type Dependencies = { isDynamic?: boolean; code?: { specifier: string } }[];

/** Starts a program in a folder, in a registry's environment. */
function start(program: string, args: readonly string[], cwd: string, env: Record<string, string>): Webfw {
  const command = new Deno.Command(program, {
    args: [...args],
    cwd,
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  return new Webfw(command.spawn());
}

async function hello(origin: string): Promise<{ hello: number; pid: number }> {
  return await (await fetch(`${origin}/hello/7`)).json();
}

Deno.test("The published packages", async (t) => {
  await using registry = await Registry.start();
  await using home = await Project.create({});
  const env = {
    ...environmentFor(registry, join(home.path, "deno_dir")),
    // The installed programs look for deno there.
    PATH: [dirname(Deno.execPath()), Deno.env.get("PATH")].join(delimiter),
    WEBFW_CONFIG: "",
  };
  await publishStandIns(env);

  // Before the release, the registry has no package of webfw.
  const withJsr = blocks("json")[0]!;
  const standIns = README.match(/"\.\.\/webfw\/dev\/offline\/\w+"/g)!;
  assertEquals(standIns.length, 3);
  const withoutJsr = withJsr.replace('"links": [', `"links": [${standIns.join(", ")}, `);
  const unreachable = { JSR_URL: "http://127.0.0.1:9/", DENO_DIR: join(home.path, "deno_dir_without_jsr") };
  for (
    const [way, configuration, variables, checks] of [
      ["with JSR", withJsr, env, [["check"], ["lint"]]],
      // The types are the same.
      ["where JSR cannot be reached", withoutJsr, { ...env, ...unreachable }, []],
    ] as const
  ) {
    await t.step(`are taken from a clone before the release, ${way}, by the README's deno.json`, async () => {
      await using folder = await Project.create({ "books/deno.json": configuration });
      await Deno.symlink(fileURLToPath(new URL("../..", import.meta.url)), join(folder.path, "webfw"));
      const project = join(folder.path, "books");
      await writeFiles(project, new Map([...programs(), ["main_test.ts", TEST]]));
      for (
        const args of [
          ...checks,
          ["test", "--no-check"],
          ["run", "-A", "jsr:@webfw/cli", "routes", "main.ts:app"],
        ]
      ) {
        const command = new Deno.Command(Deno.execPath(), { args: [...args], cwd: project, env: variables });
        const { code, stdout, stderr } = await command.output();
        const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
        assertEquals(code, 0, output);
        assertEquals(output.includes("Ignored build scripts"), false, output);
      }
      const run = ["run", "-A", "jsr:@webfw/cli", "run", "main.ts:app", "--port", "0"];
      await using webfw = start(Deno.execPath(), run, project, variables);
      const reply = await fetch(`${await webfw.origin()}/books/1`);
      assertEquals(await reply.json(), { id: 1, title: "Middlemarch" });
      webfw.signal("SIGTERM");
      assertEquals(await webfw.end(), 0);
    });
  }

  await publishPackages(env);

  await t.step("contain the files that users need, and no others", async () => {
    const files = await registry.files("@webfw/core", config.version);
    for (
      const file of [
        "/deno.json",
        "/mod.ts",
        "/src/auth/mod.ts",
        "/src/middleware/mod.ts",
        "/src/store/mod.ts",
        "/src/describe/openapi/mod.ts",
        "/src/types/mod.ts",
        "/src/client/mod.ts",
        "/cli.ts",
        "/src/testing/mod.ts",
        "/LICENSE",
      ]
    ) {
      assertEquals(files.includes(file), true, file);
    }
    const strangers = files.filter((file) =>
      !/^\/((src|dist)\/.+\.[tj]s|dist\/.+\.js\.map|src\/(cli\/template|board\/page)\.json|(mod|cli)\.ts|deno\.json|[A-Z]+(\.md)?)$/
        .test(file)
    );
    assertEquals(strangers, []);
    const version = config.version;
    assertEquals((await registry.files("@webfw/cli", version)).filter((file) => !/^\/[A-Z]+/.test(file)), [
      "/deno.json",
      "/main.ts",
    ]);
  });

  await t.step("have bundles whose source maps lead to the modules", async () => {
    const root = `${registry.url}@webfw/core/${config.version}`;
    const bundles = (await registry.files("@webfw/core", config.version)).filter((file) =>
      /^\/dist\/.+\.js$/.test(file)
    );
    let places = 0;
    for (const bundle of bundles) {
      const lines = (await (await fetch(root + bundle)).text()).split("\n");
      const map = await (await fetch(`${root}${bundle}.map`)).json();
      const reader = new SourceMap(map);
      lines.forEach((text, line) => {
        for (const { 0: message, index } of text.matchAll(/(?<=["`])Cannot [\w ]{12,}/g)) {
          const entry = reader.findEntry(line, index) as SourceMapping;
          const content: string = map.sourcesContent[map.sources.indexOf(entry.originalSource)];
          assertStringIncludes(content.split("\n")[entry.originalLine]!, message, bundle);
          places++;
        }
      });
    }
    assert(places > 100, `${places} places`);
  });

  await t.step("load two bundles when an application starts, and others on first use", async () => {
    await using project = await Project.create({ "main.ts": MAIN });
    const command = new Deno.Command(Deno.execPath(), { args: ["info", "--json", "main.ts"], cwd: project.path, env });
    const { modules }: ModuleGraph = JSON.parse(new TextDecoder().decode((await command.output()).stdout));
    const dependenciesOf = (from: string) => modules.find(({ specifier }) => specifier === from)?.dependencies ?? [];
    const bundles = (dependencies: Dependencies) =>
      dependencies.flatMap(({ code }) => code?.specifier.includes("/dist/") ? code.specifier : []);
    const loaded = new Set([`${registry.url}@webfw/core/${config.version}/dist/mod.js`]);
    for (const bundle of loaded) {
      for (const next of bundles(dependenciesOf(bundle).filter(({ isDynamic }) => !isDynamic))) loaded.add(next);
    }
    const later = bundles([...loaded].flatMap(dependenciesOf).filter(({ isDynamic }) => isDynamic));
    assertEquals([loaded.size, later.length > 20], [2, true], [...loaded].join("\n"));
  });

  await t.step("have stacks that lead to the source of an error, of the program and of the framework", async () => {
    const fault = 'app.get("/{id}", { params: { name: v.string() } }, async () => "Hello");';
    await using project = await Project.create({
      "broken.ts": `import { App } from "jsr:@webfw/core";

interface Types {
  move: "lines";
}

const app = new App();
app.get("/", async function shelves() {
  const shelf: Types | undefined = undefined;
  throw new Error("Out of books", { cause: shelf });
});
const response = await app.fetch(new Request("http://localhost/"));
Deno.exit(response.status === 500 ? 0 : 1);
`,
      "mistaken.ts": MAIN.replace("export const app = new App();", `export const app = new App();\n${fault}`),
    });
    const stderrOf = async (file: string) => {
      const command = new Deno.Command(Deno.execPath(), { args: ["run", "-A", file], cwd: project.path, env });
      const { code, stderr } = await command.output();
      return { code, text: new TextDecoder().decode(stderr) };
    };

    const broken = await stderrOf("broken.ts");
    assertEquals(broken.code, 0, broken.text);
    assertStringIncludes(broken.text, `at shelves (file://${project.path}/broken.ts:10:9)`);

    // The log has the stack in one line. The caller of the handler is a function of the framework.
    const frame = /at shelves [^)]+\)\\n *at (?:\w+\.)?(\w+) \(([^)]+\/dist\/[^)]+\.js):(\d+):(\d+)\)/;
    const [, name = "", bundle = "", line, column] = frame.exec(broken.text) ?? [];
    assert(bundle !== "", broken.text);
    const map = await (await fetch(`${bundle}.map`)).json();
    const entry = new SourceMap(map).findEntry(Number(line) - 1, Number(column) - 1) as SourceMapping;
    const source = await (await fetch(new URL(entry.originalSource, bundle))).text();
    assertEquals(map.sourcesContent[map.sources.indexOf(entry.originalSource)], source);
    assertMatch(source, new RegExp(`\\b${name}\\(`));
    // The minifier joins the call with the check of its result, and maps both to one of their lines.
    assertStringIncludes(
      source.split("\n").slice(entry.originalLine - 2, entry.originalLine + 1).join("\n"),
      "handler",
    );

    const mistaken = await stderrOf("mistaken.ts");
    assertEquals([mistaken.code, mistaken.text.includes("/dist/")], [1, false], mistaken.text);
    assertStringIncludes(mistaken.text, `at file://${project.path}/mistaken.ts:5:5`);
  });

  await t.step("fetch at most 75 files for a program of one route, and others when they are first used", async () => {
    const program = (use: string) =>
      `import { App } from "jsr:@webfw/core";
const app = new App();
app.get("/", { tool: true }, async function hello() {
  return "Hello";
});
const onListen = async ({ port }: { port: number }) => {
  const origin = \`http://127.0.0.1:\${port}\`;
  const reply = await fetch(origin + ${use});
  await reply.body?.cancel();
  Deno.exit(reply.ok ? 0 : 1);
};
await app.run({ port: 0, onListen });
`;
    // Ends with the first entry of its log: nothing listens there.
    const storing = (url: string) =>
      `import { App } from "jsr:@webfw/core";
const app = new App({ topics: { url: "${url}", token: "none" }, log: () => Deno.exit() });
app.topic("orders", { durable: true });
await app.run({ port: 0, onListen: () => {} });
`;
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const headers = JSON.stringify({ "content-type": "application/json" });
    await using project = await Project.create({
      "hello.ts": program('"/"'),
      "docs.ts": program('"/docs"'),
      "agent.ts": program(`"/mcp", { method: "POST", headers: ${headers}, body: ${JSON.stringify(ping)} }`),
      "denokv.ts": storing("http://127.0.0.1:9/"),
      "nats.ts": storing("nats://127.0.0.1:9"),
    });
    const fetchedBy = async (...args: string[]) => {
      const command = new Deno.Command(Deno.execPath(), {
        args,
        cwd: project.path,
        env: { ...env, DENO_DIR: join(project.path, "deno_dir") },
      });
      const { code, stderr } = await command.output();
      const output = new TextDecoder().decode(stderr);
      assertEquals(code, 0, output);
      return output.split("\n").filter((line) => line.startsWith("Download "));
    };
    const late = (files: readonly string[]) =>
      files.flatMap((file) =>
        /\/(swagger-ui-dist|@modelcontextprotocol\/server|@deno\/kv|@nats-io\/nats-core)\/-\//.exec(file)?.[1] ?? []
      );

    const files = await fetchedBy("run", "-A", "hello.ts");
    assertEquals([files.length > 20, files.length <= 75, late(files)], [true, true, []], files.join("\n"));
    assertEquals(late(await fetchedBy("run", "-A", "docs.ts")), ["swagger-ui-dist"]);
    assertEquals(late(await fetchedBy("run", "-A", "agent.ts")), ["@modelcontextprotocol/server"]);
    assertEquals(late(await fetchedBy("run", "-A", "denokv.ts")), ["@deno/kv"]);
    assertEquals(late(await fetchedBy("run", "-A", "nats.ts")), ["@nats-io/nats-core"]);

    await Deno.remove(join(project.path, "deno_dir"), { recursive: true });
    const cached = late(await fetchedBy("cache", "hello.ts", "docs.ts", "agent.ts"));
    assertEquals(cached.sort(), ["@modelcontextprotocol/server", "swagger-ui-dist"]);
    for (const file of ["docs.ts", "agent.ts"]) await fetchedBy("run", "-A", "--cached-only", file);
  });

  await t.step("have one class for each error, in all entry points", async () => {
    await using project = await Project.create({
      "main.ts": `import { App, HTTPError } from "jsr:@webfw/core";
import { bearer } from "jsr:@webfw/core/auth";
import { client, ProblemError } from "jsr:@webfw/core/client";
import { TestClient } from "jsr:@webfw/core/testing";

const app = new App();
const user = bearer(async (token) => {
  if (token !== "right") throw new HTTPError(403, "Wrong token");
  return token;
});
const open = app.get("/{id}", { deps: { user } }, async () => "open");
type api = { open: typeof open };
const headers = { authorization: "Bearer wrong" };
await using test = new TestClient<api>(app, { headers });
const plain = client<api>("http://localhost", { fetch: app.fetch, headers });
for (const api of [test.api, plain]) {
  const error: unknown = await api.get("/{id}", { id: "1" }).catch((error: unknown) => error);
  console.log(error instanceof ProblemError && error.problem.status);
}
`,
    });
    const command = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--check", "main.ts"],
      cwd: project.path,
      env,
    });
    const { stdout, stderr } = await command.output();
    assertEquals(new TextDecoder().decode(stdout), "403\n403\n", new TextDecoder().decode(stderr));
  });

  await t.step("have a client whose bundle holds nothing of the server", async () => {
    await using project = await Project.create({
      "api.ts": MAIN.replace('app.get("/hello/{id}"', 'export const sayHello = app.get("/hello/{id}"'),
      "page.ts": `import { client } from "jsr:@webfw/core/client";
import type * as api from "./api.ts";
const greeting = await client<typeof api>("https://shop.example").get("/hello/{id}", { id: 7 });
console.log(greeting);
`,
    });
    for (const args of [["check", "page.ts"], ["bundle", "--platform", "browser", "-o", "page.js", "page.ts"]]) {
      const command = new Deno.Command(Deno.execPath(), { args, cwd: project.path, env });
      const { success, stderr } = await command.output();
      assertEquals(success, true, new TextDecoder().decode(stderr));
    }
    const bundle = await Deno.readTextFile(join(project.path, "page.js"));
    assertEquals([bundle.includes("Cannot call"), /Deno\.|valibot|class App/.test(bundle)], [true, false]);
  });

  await t.step("serve a fresh folder with deno run, and an edit of it", async () => {
    await using project = await Project.create({ "main.ts": MAIN });
    const args = ["run", "-A", "jsr:@webfw/cli", "run", "main.ts:app", "--reload", "--port", "0"];
    await using webfw = start(Deno.execPath(), args, project.path, env);
    const { hello: first, pid } = await hello(await webfw.origin());
    assertEquals(first, 7);
    await project.write("main.ts", MAIN.replace("hello: id", "hello: id * 2"));
    assertEquals((await hello(await webfw.origin())).hello, 14);
    webfw.signal("SIGINT");
    assertEquals(await webfw.end(), 0);
    await isGone(pid);
    assertEquals((await Array.fromAsync(Deno.readDir(project.path))).map(({ name }) => name), ["main.ts"]);
  });

  await t.step("describe a route by the document, the page and a tool", async () => {
    await using project = await Project.create({ "main.ts": MAIN });
    const run = ["run", "-A", "jsr:@webfw/cli"];
    await using writer = start(
      Deno.execPath(),
      [...run, "openapi", "main.ts:app", "-o", "spec.json"],
      project.path,
      env,
    );
    assertEquals(await writer.end(), 0);
    await using webfw = start(Deno.execPath(), [...run, "run", "main.ts:app", "--port", "0"], project.path, env);
    const origin = await webfw.origin();
    const document = await (await fetch(`${origin}/openapi.json`)).json();
    assertEquals(Object.keys(document.paths), ["/hello/{id}"]);
    assertEquals(JSON.parse(await Deno.readTextFile(join(project.path, "spec.json"))), document);
    const page = await (await fetch(`${origin}/docs`)).text();
    const files = [...page.matchAll(/(?:src|stylesheet" href)="(?<url>[^"]+)"/g)].map(({ groups }) => groups!["url"]!);
    assertEquals(files.length, 4);
    for (const file of files) {
      const reply = await fetch(new URL(file, `${origin}/docs`));
      assertEquals([reply.status, (await reply.text()).length > 100], [200, true], file);
    }
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hello", arguments: { id: 7 } } };
    const headers = { "content-type": "application/json" };
    const reply = await fetch(`${origin}/mcp`, { method: "POST", headers, body: JSON.stringify(call) });
    assertEquals((await reply.json()).result.structuredContent.hello, 7);
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 0);
  });

  for (const name of ["webfw", "wfw"]) {
    await t.step(`install as ${name}, which serves with the imports of the user's project`, async () => {
      const root = join(home.path, name);
      const install = ["install", "-gA", "--root", root, "-n", name, "jsr:@webfw/cli"];
      const { success, stderr } = await new Deno.Command(Deno.execPath(), { args: install, env }).output();
      assertEquals(success, true, new TextDecoder().decode(stderr));
      const program = join(root, "bin", Deno.build.os === "windows" ? `${name}.cmd` : name);

      await using version = start(program, ["--version"], home.path, env);
      assertEquals(await version.end(), 0);
      assertEquals(version.stdout.text, `webfw ${config.version} (Deno ${Deno.version.deno})`);

      await using project = await Project.create({
        "deno.json": { imports: { "@webfw/core": "jsr:@webfw/core@^0.1.0", "valibot": "npm:valibot@^1.5.0" } },
        "src/main.ts": MAIN.replace("jsr:@webfw/core", "@webfw/core").replace("npm:valibot@^1.5.0", "valibot"),
      });
      const target = join(project.path, "src/main.ts:app");
      await using webfw = start(program, ["run", target, "--port", "0"], home.path, env);
      const { hello: reply, pid } = await hello(await webfw.origin());
      assertEquals(reply, 7);
      webfw.signal("SIGTERM");
      assertEquals(await webfw.end(), 0);
      await isGone(pid);
    });
  }
});
