import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { copyFramework, frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

/** An application with a resource that must be closed. */
const MAIN = `import { App } from "@webfw/core";
import { word } from "./word.ts";
export const app = new App();
app.lifespan(async function* () {
  console.log("opened");
  yield {};
  await new Promise((resolve) => setTimeout(resolve, 0));
  console.log("closed");
});
app.get("/word", async () => word);
app.post("/words/{id}", async function addWord() {});
app.get("/framework", async () => import.meta.resolve("@webfw/core"));`;

async function createProject(imports: Readonly<Record<string, string>>): Promise<Project> {
  return await Project.create({
    // Otherwise Deno warns of the script of this dependency, once for each cache.
    "deno.json": { imports, lock: false, allowScripts: { deny: ["npm:@scarf/scarf"] } },
    "main.ts": MAIN,
    "word.ts": `export const word = "one";`,
  });
}

async function json(url: string): Promise<unknown> {
  return await (await fetch(url)).json();
}

Deno.test("An App is served with a line for each request", async () => {
  await using project = await createProject(await frameworkImports());
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0"], { cwd: project.path });
  const origin = await webfw.origin();
  assertEquals(await json(`${origin}/word`), "one");
  assertEquals((await fetch(`${origin}/nowhere?q=1`).then((reply) => reply.json())).status, 404);
  await webfw.stderr.next(/ INFO GET \/word 200 /);
  await webfw.stderr.next(/ INFO GET \/nowhere\?q=1 404 /);
});

Deno.test("webfw openapi shares the last hand `document` of an App, and webfw asyncapi writes its document", async () => {
  await using project = await createProject(await frameworkImports());
  await project.write(
    "main.ts",
    `import { App } from "@webfw/core";
    export const app = new App({ document: (document) => ({ ...document, info: { ...document.info, title: "Words" } }) });
    app.websocket("/words", async () => {});`,
  );
  const print = async (command: string) => {
    const { code, stdout } = await Webfw.finish([command, "main.ts:app"], { cwd: project.path });
    assertEquals(code, 0);
    return JSON.parse(stdout);
  };
  assertEquals((await print("openapi")).info.title, "Words");
  const { asyncapi, channels } = await print("asyncapi");
  assertEquals([asyncapi, Object.keys(channels).length], ["3.0.0", 1]);
});

for (const flags of [[], ["--reload"]]) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.test(`${signal} unwinds the lifespans of an App (${["run", ...flags].join(" ")})`, async () => {
      await using project = await createProject(await frameworkImports());
      await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", ...flags], { cwd: project.path });
      await webfw.origin();
      webfw.signal(signal);
      assertEquals(await webfw.end(), 0);
      assertEquals(webfw.stdout.text, "opened\nclosed");
    });
  }
}

Deno.test("An edit unwinds the lifespans of an App before it restarts", async () => {
  await using project = await createProject(await frameworkImports());
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--reload"], { cwd: project.path });
  assertEquals(await json(`${await webfw.origin()}/word`), "one");
  await project.write("word.ts", `export const word = "two";`);
  assertEquals(await json(`${await webfw.origin()}/word`), "two");
  assertEquals(webfw.stdout.text, "opened\nclosed\nopened");
});

Deno.test("A port that an App cannot have is an error of one line", async () => {
  await using project = await createProject(await frameworkImports());
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  for (const flags of [[], ["--reload"]]) {
    const args = ["run", "main.ts", "--port", String(port), ...flags];
    const { code, stderr, stdout } = await Webfw.finish(args, { cwd: project.path });
    const reason =
      "the port is taken, stop the program that has it, or choose another one by the option port or the variable PORT";
    assertEquals(stderr.replace(/^Watcher .*\n/, ""), `error: Cannot listen on 127.0.0.1:${port}: ${reason}`);
    assertEquals([code, stdout], [1, "opened\nclosed"]);
  }
});

Deno.test("webfw routes lists the routes of an App without starting its lifespans", async () => {
  await using project = await createProject(await frameworkImports());
  const { code, stdout, stderr } = await Webfw.finish(["routes", "main.ts:app"], { cwd: project.path });
  assertEquals([code, stderr], [0, ""]);
  assertMatch(
    stdout,
    /^METHOD +PATH +OPERATION +GUARDS +LIMITS\nGET +\/word +\w+\nPOST +\/words\/\{id\} +addWord\nGET +\/framework +\w+$/,
  );
});

Deno.test("webfw routes has the guards and limits of each route", async () => {
  await using project = await Project.create({
    "deno.json": { imports: await frameworkImports(), lock: false },
    "main.ts": `import { App, dependency, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
const user = bearer(async (token) => token);
const admin = dependency({ deps: { user } }, async () => {});
const staff = new Router({ prefix: "/staff", deps: { user }, rateLimit: { limit: 10, per: "1h" } });
staff.get("", { deps: { admin }, rateLimit: [{ limit: 2, per: "90s" }, { limit: 1, per: 50 }] }, async function list() {});
export const app = new App();
app.get("/", async function home() {});
app.include(staff);
`,
  });
  const { code, stdout, stderr } = await Webfw.finish(["routes", "main.ts"], { cwd: project.path });
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout.split("\n"), [
    "METHOD  PATH    OPERATION  GUARDS         LIMITS",
    "GET     /       home",
    "GET     /staff  list       bearer, admin  10/1h, 2/90s, 1/50ms",
  ]);
});

Deno.test("The framework is the one of the application, whatever the command brings", async () => {
  await using project = await Project.create({});
  await copyFramework(join(project.path, "copy"));
  await project.write("main.ts", MAIN);
  await project.write("word.ts", `export const word = "one";`);
  await project.write("deno.json", { imports: await frameworkImports(join(project.path, "copy")), lock: false });
  await using elsewhere = await Project.create({});
  await using webfw = await Webfw.start(["run", join(project.path, "main.ts"), "--port", "0"], { cwd: elsewhere.path });
  const origin = await webfw.origin();
  assertEquals(await json(`${origin}/framework`), `file://${project.path}/copy/mod.ts`);
});

Deno.test("Every command refuses a module that calls run(), in one line that says where, and what to do", async () => {
  await using project = await createProject(await frameworkImports());
  await project.write("serve.ts", `import { app } from "./main.ts";\nawait app.run({ port: 0 });\nexport { app };`);
  await project.write(
    "both.ts",
    `export { app } from "./main.ts";\nimport { app } from "./main.ts";\napp.run().catch(() => {});`,
  );
  const message =
    `error: Cannot run the App in a module that "webfw" loads: write "if (import.meta.main)" before the call, or start this one with "deno run"`;
  for (const command of ["run", "routes", "openapi", "asyncapi", "topics"]) {
    for (const file of ["serve.ts", "both.ts"]) {
      const { code, stdout, stderr } = await Webfw.finish([command, file], { cwd: project.path });
      assertEquals([code, stdout, stderr.slice(0, message.length)], [1, "", message]);
      assertMatch(stderr.slice(message.length), new RegExp(`^ at (?:.* \\()?file:.*/${file}:\\d+:\\d+\\)?$`));
    }
  }
});

/** An application with a durable topic. */
const DURABLE = `
import { App } from "@webfw/core";
export const app = new App();
app.topic("orders", { durable: true });
`;

Deno.test("Durable topics that cannot work are an error of one line, with the reason", async () => {
  await using project = await Project.create({
    "main.ts": DURABLE,
    "notes.txt": "These are notes, and no database of any kind. ".repeat(10),
    "deno.json": { imports: await frameworkImports() },
  });
  const cwd = project.path;
  const [folder, notes] = [join(cwd, ".webfw"), join(cwd, "notes.txt")];
  const cases: [flags: string[], env: Record<string, string>, message: string][] = [
    [
      ["--allow-net=127.0.0.1:0", "--allow-env"],
      {},
      `Cannot open the store of topics "${join(folder, "topics.sqlite")}": ` +
      `permissions are missing, start Deno with --allow-read=${folder} --allow-write=${folder}`,
    ],
    [[], { WEBFW_TOPICS: notes }, `Cannot open the store of topics "${notes}": it is no database, name another file`],
  ];
  for (const [flags, env, message] of cases) {
    for (const workers of [[], ["--workers", "2"]]) {
      const { code, stdout, stderr } = await Webfw.finish(["run", "main.ts", "--port", "0", ...workers, ...flags], {
        cwd,
        env: { DENO_NO_PROMPT: "1", ...env },
      });
      assertEquals([code, stdout, stderr.split("\n").at(-1)], [1, "", `error: ${message}`]);
    }
  }
});
