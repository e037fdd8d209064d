// webfw env: the settings and the permissions of an application.

import { assert, assertEquals, assertFalse, assertMatch } from "@std/assert";
import { toFlags } from "../../src/cli/commands/env.ts";
import { frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { type Finished, Webfw } from "./webfw.ts";
import { freePorts } from "../support/free_ports.ts";

const MAIN = `
import { App, settings } from "@webfw/core";
import * as v from "valibot";
import { token } from "./other.ts";

const Port = v.pipe(v.number(), v.integer(), v.maxValue(65_535));
const env = settings(v.object({
  SHOP_PORT: v.optional(Port, 8000),
  DATABASE: v.pipe(v.string(), v.url(), v.description("The database,\\nwith its name")),
  MODE: v.optional(v.picklist(["dev", "prod"]), "dev"),
  GREETING: v.optional(v.string(), \`it's $HOME "x" \\\\\`),
  WORDS: v.optional(v.array(v.string()), ["a b", "c"]),
  DSN: v.optional(v.string()),
  ON: v.boolean(),
}));
new URL(env.DATABASE);
console.log("imported", token.length);
export const app = new App();
app.lifespan(async function* () {
  throw new Error("must not start");
});
`;

const OTHER = `
import { settings } from "@webfw/core";
import * as v from "valibot";
export const { TOKEN: token } = settings(v.object({ TOKEN: v.pipe(v.string(), v.minLength(32)) }));
`;

const EXAMPLE = `# Required: string, min length >=32
TOKEN=

# Optional: number, integer, max value <=65535
# SHOP_PORT=8000

# The database,
# with its name
# Required: string, url
DATABASE=

# Optional: one of dev, prod
# MODE=dev

# Optional: string
# GREETING=\`it's $HOME "x" \\\`

# Optional: list, separated by commas, of: string
# WORDS='a b,c'

# Optional: string
# DSN=

# Required: true or false
ON=
`;

async function projectOf(files: Readonly<Record<string, string>>): Promise<Project> {
  return await Project.create({
    "deno.json": { imports: await frameworkImports(), allowScripts: { deny: ["npm:@scarf/scarf"] } },
    ...files,
  });
}

function run(project: Project, ...args: string[]): Promise<Finished> {
  return Webfw.finish(args, { cwd: project.path, env: { DENO_NO_PROMPT: "1" } });
}

Deno.test("webfw env prints .env.example, without starting and though the variables are missing", async () => {
  await using project = await projectOf({ "main.ts": MAIN, "other.ts": OTHER });
  const first = await run(project, "env", "main.ts");
  const { code, stdout } = first;
  assertEquals([code, stdout + "\n", first.stderr], [0, EXAMPLE, "imported 36"]);
  await project.write("script.ts", `import { app } from "./main.ts"; await app.run();`);
  assertEquals((await run(project, "env", "script.ts")).stdout + "\n", EXAMPLE);

  const read = await run(project, "run", "main.ts");
  assertEquals([read.code, read.stderr], [
    1,
    "error: Cannot read the settings: TOKEN is not set, expected: string, min length >=32; " +
    "set variables in the environment, or in a file that --env-file names",
  ]);
});

Deno.test("A filled .env.example gives the defaults back", async () => {
  const print = `
import { settings } from "@webfw/core";
import * as v from "valibot";
const text = \`it's $HOME "x" \\\\ #\`;
console.log(JSON.stringify(settings(v.object({
  TEXT: v.optional(v.string(), text),
  LINES: v.optional(v.string(), "a'\\nb"),
  HASH: v.optional(v.string(), "a #b"),
  PRICE: v.optional(v.string(), "$5"),
}))));`;
  await using project = await projectOf({ "main.ts": `${print}\nexport const app = { fetch() {} };` });
  const first = await run(project, "env", "main.ts");
  await project.write(".env", first.stdout.replaceAll(/^# (?!Optional: )/gm, ""));
  const again = await run(project, "env", "main.ts", "--", "--env-file");
  assertEquals(again.stderr, first.stderr);
  assertEquals(JSON.parse(again.stderr), { TEXT: `it's $HOME "x" \\ #`, LINES: "a'\nb", HASH: "a #b", PRICE: "$5" });
});

Deno.test("A module that fails is reported after the settings that it has declared", async () => {
  await using project = await projectOf({
    "main.ts": `import "./other.ts"; throw new Error("own");`,
    "other.ts": OTHER,
  });
  const failed = await run(project, "env", "main.ts");
  assertEquals([failed.code, failed.stdout], [1, EXAMPLE.split("\n\n")[0]]);
  assertMatch(failed.stderr, /^error: "main\.ts" threw while it was loaded\nError: own\n/);
  await project.write("main.ts", "");
  const empty = await run(project, "env", "main.ts");
  assertEquals([empty.code, empty.stdout, empty.stderr], [0, "", 'The module "main.ts" declares no settings()']);
});

const PERMITTED = `
import { App, settings } from "@webfw/core";
import * as v from "valibot";

const env = settings(v.object({ DATABASE: v.string(), OTHER: v.optional(v.string()) }));
export const app = new App({ topics: "data/topics.sqlite" });
app.topic("orders", { durable: true });
app.lifespan(async function* () {
  await Deno.readTextFile("in.txt");
  await Deno.writeTextFile("data/out, 1.txt", "");
  await fetch("http://127.0.0.1:1/").catch(() => {});
  await new Deno.Command("true").output();
  console.log("started");
  yield;
  console.log("stopped");
});
app.get("/", async () => env.DATABASE);
app.post("/orders", async (request) => void await request.app.topic("orders").publish("one"));
`;

Deno.test("webfw env --permissions prints the flags that import and start asked for, and they suffice", async () => {
  await using project = await projectOf({ "main.ts": PERMITTED, "in.txt": "" });
  const port = String(freePorts(1)[0]);
  const options = { cwd: project.path, env: { DENO_NO_PROMPT: "1", DATABASE: "db", PORT: port } };
  const { code, stdout, stderr } = await Webfw.finish(["env", "main.ts", "--permissions"], options);
  assertEquals([code, stderr.match(/started|stopped/g)], [0, ["started", "stopped"]], stderr);
  const flags = shellWords(stdout);
  const values = new Map(flags.map((flag) => flag.split(/=(.*)/s) as [string, string]));
  assertEquals(values.get("--allow-net"), `127.0.0.1:1,127.0.0.1:${port}`);
  assertEquals(values.get("--allow-run"), "true");
  assertEquals(flags[0], "--unstable-kv");
  assertEquals(values.get("--allow-write")?.split(/(?<!,),(?!,)/).filter((path) => !path.startsWith("/")), ["data"]);
  for (const path of ["in.txt", "data"]) assert(values.get("--allow-read")?.split(",").includes(path), stdout);
  for (const name of ["DATABASE", "OTHER", "PORT", "WEBFW_LOG"]) {
    assert(values.get("--allow-env")?.split(",").includes(name), stdout);
  }

  const without = (name: string) => flags.filter((flag) => !flag.startsWith(`--allow-${name}`));
  {
    await using served = await Webfw.start(["run", ...flags, "main.ts"], options);
    const origin = await served.origin();
    assertEquals(new URL(origin).port, port);
    assertEquals(await (await fetch(origin)).json(), "db");
    const published = await fetch(`${origin}/orders`, { method: "POST" });
    assertEquals(published.status, 204);
    assertFalse(served.stderr.text.includes("ERROR"), served.stderr.text);
  }
  // The flags do not suffice because the program can do without.
  for (const name of ["read", "run", "net"]) {
    assertEquals((await Webfw.finish(["run", ...without(name), "main.ts"], options)).code, 1, name);
  }
});

/** The words of a line without escapes, as a shell splits it. */
function shellWords(line: string): string[] {
  return line.match(/'[^']*'|\S+/g)!.map((word) => word.replaceAll("'", ""));
}

Deno.test("Audited accesses become flags: hosts with ports, paths below the folder, quoted for a shell", () => {
  const found = {
    urls: ["https://api.example/x", "data:,x"],
    programs: ["git", "/bin/a b"],
    opensKv: false,
    port: "8000",
  };
  const audit = [
    ["net", "0.0.0.0:0"],
    ["net", "ws://[::1]:2/"],
    ["net", "api.example:443"],
    ["env", "HOME"],
    ["env", null],
    ["read", "/app/data/x.txt"],
    ["read", "data"],
    ["read", "/etc/hosts"],
    ["read", "/proc/self/cmdline"],
    ["write", "./a,b.txt"],
    ["sys", "hostname"],
    ["import", "https://jsr.io/@std/assert/meta.json"],
  ].map(([permission, value]) => JSON.stringify({ v: 1, permission, value }));
  assertEquals(toFlags(`${audit.join("\n")}\n`, found, "/app"), [
    "--allow-read=/etc/hosts,data",
    "--allow-write=a,,b.txt",
    "'--allow-net=0.0.0.0:8000,[::1]:2,api.example:443'",
    "--allow-env",
    "--allow-sys=hostname",
    "'--allow-run=/bin/a b,git'",
  ]);
  assertEquals(
    toFlags('{"permission":"read","value":"."}\n{"permission":"read","value":"x"}', found, "/app")[0],
    "--allow-read=.",
  );
});
