import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

const REPLIES = `export const app = { fetch: () => new Response("hello") };`;

async function textOf(url: string): Promise<string> {
  return await (await fetch(url)).text();
}

Deno.test("webfw run serves the application and says where, on stderr only", async () => {
  await using project = await Project.create({ "main.ts": REPLIES });
  await using webfw = await Webfw.start(["run", "main.ts:app", "--port", "0"], {
    cwd: project.path,
  });
  const origin = await webfw.origin();
  assertMatch(origin, /^http:\/\/127\.0\.0\.1:\d+$/);
  assertEquals(await textOf(origin), "hello");
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 0);
  assertEquals(webfw.stdout.text, "");
});

Deno.test("for OpenTelemetry, the lines of a start and of requests are no errors of the program", async () => {
  await using project = await Project.create({ "main.ts": REPLIES });
  await using webfw = await Webfw.start(["run", "main.ts:app", "--port", "0"], {
    cwd: project.path,
    env: { OTEL_DENO: "true", OTEL_EXPORTER_OTLP_PROTOCOL: "console" },
  });
  assertEquals(await textOf(await webfw.origin()), "hello");
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 0);
  const output = webfw.stdout.text + webfw.stderr.text;
  assertStringIncludes(output, "SPAN");
  assertNotMatch(output, /LOG \[/);
});

Deno.test("webfw run takes --host", async () => {
  await using project = await Project.create({ "main.ts": REPLIES });
  await using webfw = await Webfw.start([
    "run",
    "main.ts",
    "--host",
    "::1",
    "--port=0",
  ], { cwd: project.path });
  const origin = await webfw.origin();
  assertMatch(origin, /^http:\/\/\[::1\]:\d+$/);
  assertEquals(await textOf(origin), "hello");
});

Deno.test("webfw run writes a line for each request", async () => {
  await using project = await Project.create({
    "main.ts": `export default { fetch(request: Request) {
      if (request.url.endsWith("/throws")) throw new Error("from the handler");
      return Promise.resolve(new Response(null, { status: 201 }));
    } };`,
  });
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0"], {
    cwd: project.path,
  });
  const origin = await webfw.origin();
  await textOf(`${origin}/a%0Ab?q=1`);
  await webfw.stderr.next(/ INFO GET \/a%0Ab\?q=1 201 ms=[\d.]+$/);
  assertEquals(
    (await fetch(`${origin}/throws`, { method: "POST", body: "x" }).then((
      reply,
    ) => reply.text())).length > 0,
    true,
  );
  await webfw.stderr.next(/ INFO POST \/throws 500 ms=[\d.]+$/);
  await webfw.stderr.next(/from the handler/);
});

Deno.test("The attribute is app, then default, unless the target names one", async () => {
  const reply = (text: string) => `{ fetch: () => new Response("${text}") }`;
  await using project = await Project.create({
    "both.ts": `export const app = ${reply("app")}; export default ${reply("default")}; export const api = ${
      reply("api")
    };`,
    "default.ts": `export default ${reply("default")};`,
  });
  for (
    const [target, expected] of [
      ["both.ts", "app"],
      ["./both.ts:default", "default"],
      ["both.ts:api", "api"],
      ["default.ts", "default"],
      [new URL(`file://${project.path}/both.ts`).href, "app"],
    ] as const
  ) {
    await using webfw = await Webfw.start(["run", target, "--port", "0"], {
      cwd: project.path,
    });
    assertEquals(await textOf(await webfw.origin()), expected, target);
  }
});

Deno.test("An application with an inherited fetch function is served", async () => {
  await using project = await Project.create({
    "main.ts":
      `class Site { #text = "inherited"; fetch() { return new Response(this.#text); } } export const app = new Site();`,
  });
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0"], {
    cwd: project.path,
  });
  assertEquals(await textOf(await webfw.origin()), "inherited");
});

Deno.test("A module from a server is run", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(REPLIES, { headers: { "content-type": "text/typescript" } }),
  );
  await using project = await Project.create({});
  const target = `http://127.0.0.1:${server.addr.port}/main.ts:app`;
  await using webfw = await Webfw.start(["run", target, "--port", "0"], {
    cwd: project.path,
    env: { DENO_DIR: `${project.path}/deno_dir` },
  });
  assertEquals(await textOf(await webfw.origin()), "hello");
});

Deno.test("A target that cannot be run is an error of one line, with a non-zero exit code", async (t) => {
  await using project = await Project.create({
    "app.ts": REPLIES,
    "empty.ts": "",
    "values.ts": "export const a = 1, app = { fetch: 1 }; export class B {}",
    "newer.ts": `export const app = { [Symbol.for("webfw.app")]: { version: 2 }, fetch() {} };`,
    "syntax.ts": "export const app = ;",
    "imports_syntax.ts": `export { app } from "./syntax.ts";`,
    "imports_missing.ts": `export { app } from "./missing.ts";`,
    "imports_bare.ts": `export { app } from "nowhere";`,
    "imports_name.ts": `export { api as app } from "./app.ts";`,
    "declares_twice.ts": "let a; let a;",
    "folder/app.ts": REPLIES,
  });
  const cases: [args: string[], code: number, line: RegExp][] = [
    [["missing.ts:app"], 1, /^error: Cannot find module "missing\.ts"$/],
    [["app:app"], 1, /^error: Cannot find module "app": did you mean "app\.ts"\?$/],
    [["folder"], 1, /^error: Cannot find module "folder": it is a folder without main\.ts, name a file in it$/],
    [["app.js"], 1, /^error: Cannot find module "app\.js": did you mean "app\.ts"\?$/],
    [["app.ts/app.ts"], 1, /^error: Cannot find module "app\.ts\/app\.ts"$/],
    [["app.ts:api"], 1, /^error: Cannot find "api" in "app\.ts": it exports "app", export the application as "api"$/],
    [
      ["empty.ts"],
      1,
      /^error: Cannot find "app" or "default" in "empty\.ts": it exports nothing, export the application as "app"$/,
    ],
    [
      ["values.ts:a"],
      1,
      /^error: Cannot use "a" of "values\.ts": it is neither an App nor an object with a "fetch" function$/,
    ],
    [["values.ts:B"], 1, /^error: Cannot use "B" of /],
    [["values.ts"], 1, /^error: Cannot use "app" of /],
    [
      ["newer.ts"],
      1,
      /^error: Cannot use "app" of "newer\.ts": it needs version 2 of the command's protocol, this is 1$/,
    ],
    [["syntax.ts"], 1, /^error: Cannot load "syntax\.ts": .* at file:.*syntax\.ts:1:\d+$/],
    [["imports_syntax.ts"], 1, /^error: Cannot load "imports_syntax\.ts": .* at file:.*\/syntax\.ts:1:\d+$/],
    [
      ["imports_missing.ts"],
      1,
      /^error: Cannot load .*: Module not found "file:.*missing\.ts" at file:.*imports_missing\.ts:1:\d+$/,
    ],
    [["imports_bare.ts"], 1, /^error: Cannot load .*"nowhere".* at file:.*imports_bare\.ts:1:\d+$/],
    [["imports_name.ts"], 1, /^error: Cannot load .*'api'.* at file:.*imports_name\.ts:1:\d+$/],
    [
      ["declares_twice.ts"],
      1,
      /^error: Cannot load .*'a' has already been declared at file:.*declares_twice\.ts:1:\d+$/,
    ],
    [
      ["http://127.0.0.1:1/main.ts"],
      1,
      /^error: Cannot load .*failed: .*refused/,
    ],
    [["app.ts", "--config", "missing.json"], 1, /^error: Cannot read configuration "missing\.json": no such file$/],
    [["app.ts", "--host", "256.0.0.1"], 1, /^error: Cannot listen on 256\.0\.0\.1:0: /],
    [["app.ts", "--host", "a b"], 1, /^error: Cannot listen on a b:0: /],
    [
      ["app.ts", "--allow-read"],
      1,
      /^error: Cannot listen on 127\.0\.0\.1:0: Requires net access/,
    ],
  ];
  for (const [args, code, line] of cases) {
    await t.step(args.join(" "), async () => {
      const finished = await Webfw.finish(["run", ...args, ...(args.includes("--port") ? [] : ["--port", "0"])], {
        cwd: project.path,
        env: { DENO_NO_PROMPT: "1" },
      });
      assertMatch(finished.stderr.replace(/^Download .*\n/, ""), line);
      assertNotMatch(finished.stderr, /data:/);
      assertEquals(finished.code, code);
      assertEquals(finished.stdout, "");
    });
  }
});

Deno.test("webfw run --check checks types first, and the output shows nothing of how the command starts it", async () => {
  await using project = await Project.create({
    "main.ts": REPLIES,
    "wrong.ts": `${REPLIES}\nexport const port: number = "8000";`,
  });
  const flags = ["--port", "0", "--check"];
  {
    await using webfw = await Webfw.start(["run", "main.ts", ...flags], { cwd: project.path });
    assertEquals(await textOf(await webfw.origin()), "hello");
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 0);
    assertMatch(webfw.stderr.text, /^Check main\.ts\n/);
    assertNotMatch(webfw.stderr.text, /data:|function/);
  }
  const { code, stderr } = await Webfw.finish(["run", "wrong.ts", ...flags], { cwd: project.path });
  assertEquals(code, 1);
  assertMatch(stderr, /TS2322 .*\n.*at file:.*wrong\.ts:2:/s);
  assertNotMatch(stderr, /data:|function/);
});

Deno.test("A port in use is an error of one line, also in a watcher", async () => {
  await using project = await Project.create({ "main.ts": REPLIES });
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  for (const flags of [[], ["--reload"]]) {
    const args = ["run", "main.ts", "--port", String(port), ...flags];
    const { code, stderr } = await Webfw.finish(args, { cwd: project.path });
    const reason =
      "the port is taken, stop the program that has it, or choose another one by the option port or the variable PORT";
    assertEquals(stderr.replace(/^Watcher .*\n/, ""), `error: Cannot listen on 127.0.0.1:${port}: ${reason}`);
    assertEquals(code, 1);
  }
});

Deno.test("An error of the module is shown with its stack", async () => {
  await using project = await Project.create({
    "main.ts": `function open() { throw new RangeError("no such table", { cause: "a cause" }); }\nopen();`,
  });
  const { code, stderr } = await Webfw.finish(["run", "main.ts"], {
    cwd: project.path,
  });
  assertMatch(
    stderr,
    /^error: "main\.ts" threw while it was loaded\nRangeError: no such table\n {4}at open \(file:.*main\.ts:1:/,
  );
  assertStringIncludes(stderr, "a cause");
  assertNotMatch(stderr, /data:text/);
  assertEquals(code, 1);
});

Deno.test("A thrown value that is no error is shown", async () => {
  await using project = await Project.create({
    "main.ts": `throw { reason: "none" };`,
  });
  const { code, stderr } = await Webfw.finish(["run", "main.ts"], {
    cwd: project.path,
  });
  assertEquals(stderr, `error: "main.ts" threw while it was loaded\n{ reason: "none" }`);
  assertEquals(code, 1);
});

Deno.test("The module is not the main module, so that it does not serve twice", async () => {
  await using project = await Project.create({
    "main.ts":
      `export const app = { fetch: () => Response.json({ main: import.meta.main, args: Deno.args, cwd: Deno.cwd() }) };`,
  });
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0"], {
    cwd: project.path,
  });
  assertEquals(await (await fetch(await webfw.origin())).json(), {
    main: false,
    args: [],
    cwd: project.path,
  });
});

Deno.test("Requests that do not end are cut off after a while, with exit code 1", async () => {
  await using project = await Project.create({
    "main.ts": `export const app = { fetch: () => new Response(new ReadableStream({
      start: (stream) => stream.enqueue(new TextEncoder().encode("first")),
    })) };`,
  });
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0"], { cwd: project.path });
  const reader = (await fetch(await webfw.origin())).body!.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value), "first");
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 1);
  await webfw.stderr.next(/^error: Aborted requests that did not end in time$/);
  await reader.read().catch(() => "cut off");
});

Deno.test("webfw run enables Deno KV, also if the flag is repeated", async () => {
  await using project = await Project.create({
    "main.ts": `export default { fetch: () => Promise.resolve(new Response(typeof Deno.openKv)) };`,
  });
  for (const flags of [[], ["--", "--unstable-kv"]]) {
    await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", ...flags], { cwd: project.path });
    assertEquals(await textOf(await webfw.origin()), "function");
  }
});
