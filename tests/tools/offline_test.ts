// Deno without JSR: the configuration that the tools prepare, and its effect on a command.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");

interface PackageConfig {
  name: string;
  imports: Record<string, string>;
  exports: Record<string, string>;
}

async function readJson<T>(...path: string[]): Promise<T> {
  return JSON.parse(await Deno.readTextFile(join(ROOT, ...path)));
}

/** Runs a program with the tools, and returns its output as JSON. */
async function run(program: string, offline: "0" | "1"): Promise<unknown> {
  const tool = ["run", "-A", "--no-lock", join(ROOT, "dev", "tools", "deno.ts")];
  const module = `data:application/typescript,${encodeURIComponent(program)}`;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...tool, "run", "-A", module],
    cwd: ROOT,
    env: { WEBFW_OFFLINE: offline, WEBFW_CONFIG: "" },
  }).output();
  const text = new TextDecoder();
  assertEquals(code, 0, text.decode(stderr));
  return JSON.parse(text.decode(stdout));
}

Deno.test("without JSR a program has @std by its bare and by its jsr: specifiers", async () => {
  const { imports } = await readJson<PackageConfig>("deno.json");
  const printed = await run(
    `import { parseArgs } from "@std/cli/parse-args";
    import { STATUS_TEXT } from "${imports["@std/http"]}/status";
    const flags = parseArgs(["--port", "80"], { string: ["port"] });
    console.log(JSON.stringify([flags.port, STATUS_TEXT[404]]));`,
    "1",
  );
  assertEquals(printed, ["80", "Not Found"]);
});

Deno.test("a command without JSR and its children know the configuration to use", async () => {
  const program = `const names = ["WEBFW_OFFLINE", "WEBFW_CONFIG"];
    const values = names.map((name) => Deno.env.get(name));
    console.log(JSON.stringify(values));`;
  const config = join(ROOT, "deno.offline.json");
  assertEquals(await run(program, "1"), ["1", config]);
  assertEquals(await run(program, "0"), ["0", ""]);
});

Deno.test("a command without JSR leaves the lock file of the project alone", async () => {
  const locks = [join(ROOT, "deno.lock"), join(ROOT, "tests", "deno.lock")];
  const read = () => Promise.all(locks.map((lock) => Deno.readTextFile(lock)));
  const before = await read();
  await run(
    `import "npm:deno-std@1.4.0/html/entities.js"; console.log(1)`,
    "1",
  );
  assertEquals(await read(), before);
});

Deno.test("each package from JSR has a replacement", async () => {
  const { imports } = await readJson<PackageConfig>("deno.json");
  const needed = Object.keys(imports)
    .filter((name) => imports[name]?.startsWith("jsr:"));
  const offline = await Array.fromAsync(Deno.readDir(join(ROOT, "dev", "offline")));
  const present = await Promise.all(
    offline.filter((entry) => entry.isDirectory).map(async ({ name }) =>
      (await readJson<PackageConfig>("dev", "offline", name, "deno.json")).name
    ),
  );
  assertEquals(present.toSorted(), needed.toSorted());
});

Deno.test("each value of a replacement is in deno-std", async () => {
  const offline = await Array.fromAsync(Deno.readDir(join(ROOT, "dev", "offline")));
  const specifiers: string[] = [];
  for (const { name } of offline.filter((entry) => entry.isDirectory)) {
    const config = await readJson<PackageConfig>("dev", "offline", name, "deno.json");
    for (const key of Object.keys(config.exports)) {
      specifiers.push(config.name + key.slice(1));
    }
  }
  assert(specifiers.includes("@std/cli/parse-args"));
  const missing = await run(
    `const missing = [];
    for (const specifier of ${JSON.stringify(specifiers)}) {
      const values = Object.entries(await import(specifier));
      if (values.length === 0) missing.push(specifier);
      for (const [name, value] of values) {
        if (value === undefined) missing.push(specifier + " " + name);
      }
    }
    console.log(JSON.stringify(missing));`,
    "1",
  );
  assertEquals(missing, []);
});

interface Lock {
  specifiers: Record<string, string>;
  jsr: Record<string, { integrity: string }>;
  npm: Record<string, { integrity: string }>;
}

Deno.test("the lock file pins each dependency by version and hash", async () => {
  const { imports } = await readJson<PackageConfig>("deno.json");
  const { specifiers, jsr, npm } = await readJson<Lock>("deno.lock");
  for (const [name, specifier] of Object.entries(imports)) {
    const version = specifiers[specifier];
    assert(version !== undefined, `${specifier} is not in deno.lock`);
    const entry = (specifier.startsWith("jsr:") ? jsr : npm)[
      `${name}@${version}`
    ];
    assertMatch(entry?.integrity ?? "", /^(?:sha512-.{88}|[0-9a-f]{64})$/);
  }
});

Deno.test("with and without JSR the packages from npm are the same", async () => {
  const { npm } = await readJson<Lock>("tests", "deno.lock");
  const offline = (await readJson<Lock>("dev", "offline", "deno.lock")).npm;
  const entries = Object.entries(offline)
    .filter(([name]) => !name.startsWith("deno-std@"));
  assertEquals(Object.fromEntries(entries), npm);
});

Deno.test("the lock file of the tests has all packages of the other one, in the same versions", async () => {
  const { specifiers, npm } = await readJson<Lock>("deno.lock");
  const tests = await readJson<Lock>("tests", "deno.lock");
  const versions = withoutPeers(tests.specifiers);
  assertEquals({ ...versions, ...withoutPeers(specifiers) }, versions);
  const names = Object.keys(tests.npm).map(withoutPeer);
  assertEquals(Object.keys(npm).map(withoutPeer).filter((name) => !names.includes(name)), []);
});

/** A package has the versions of its peers behind its own one, and the tests have more peers. */
function withoutPeer(name: string): string {
  return name.split("_")[0]!;
}

function withoutPeers(specifiers: Lock["specifiers"]): Lock["specifiers"] {
  return Object.fromEntries(Object.entries(specifiers).map(([name, version]) => [name, withoutPeer(version)]));
}
