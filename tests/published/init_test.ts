// A new service, made by the published command in an empty folder: its own commands pass as they
// are, and so do the steps of its Dockerfile.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { Project } from "../cli/project.ts";
import { inTime } from "../support/wait.ts";
import { isGone, Webfw } from "../cli/webfw.ts";
import { Registry } from "./registry.ts";
import { environmentFor, publishPackages, publishStandIns } from "./release.ts";

const TOKEN = "only-for-this-test-0123456789";
const NOTE = { text: "Buy milk" };

type Environment = Readonly<Record<string, string>>;

function deno(args: readonly string[], cwd: string, env: Environment): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    env: { ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs a command that has to succeed, and gives its output. */
async function run(args: readonly string[], cwd: string, env: Environment): Promise<string> {
  const { code, stdout, stderr } = await deno(args, cwd, env).output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assertEquals(code, 0, `deno ${args.join(" ")}\n${output}`);
  return output;
}

/** Uses each part of a service: the model, the guard, the tool, the events, the page. */
async function use(origin: string, token: string): Promise<void> {
  const authorization = `Bearer ${token}`;
  const post = (path: string, json: unknown, headers: HeadersInit = {}) =>
    fetch(origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(json),
    });
  const refused = await post("/notes", NOTE);
  assertEquals([refused.status, (await refused.json()).title], [401, "Unauthorized"]);
  const stream = await fetch(`${origin}/notes/events`);
  const written = await post("/notes", NOTE, { authorization });
  assertEquals([written.status, (await written.json()).text], [201, NOTE.text]);
  let events = "";
  for await (const text of stream.body!.pipeThrough(new TextDecoderStream())) {
    if ((events += text).includes(NOTE.text)) break;
  }
  const params = { name: "addNote", arguments: { body: NOTE } };
  const call = await post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params }, { authorization });
  assertEquals((await call.json()).result.structuredContent.text, NOTE.text);
  const page = await (await fetch(`${origin}/docs`)).text();
  for (const [, file = ""] of page.matchAll(/(?:src|stylesheet" href)="([^"]+)"/g)) {
    const reply = await fetch(new URL(file, `${origin}/docs`));
    assertEquals([reply.status, (await reply.bytes()).length > 100], [200, true], file);
  }
}

/** The instructions of a Dockerfile, with those that go on in the next line in one. */
function instructions(dockerfile: string): [name: string, rest: string][] {
  return dockerfile.replaceAll("\\\n", "").split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => [line.split(" ", 1)[0]!, line.slice(line.indexOf(" ") + 1)]);
}

Deno.test("A new service", async (t) => {
  await using registry = await Registry.start();
  await using home = await Project.create({});
  const env = { ...environmentFor(registry, join(home.path, "deno_dir")), PORT: "0", WEBFW_CONFIG: "" };
  await publishStandIns(env);
  await publishPackages(env);
  const service = join(home.path, "notes");

  await t.step("is written by deno run -A jsr:@webfw/cli init, without links to a clone", async () => {
    const output = await run(["run", "-A", "jsr:@webfw/cli", "init", "notes"], home.path, env);
    assertMatch(output, /^Wrote \d+ files to notes\. Next:$/m);
    assert(!(await Deno.readTextFile(join(service, "deno.json"))).includes("links"));
  });

  await t.step("passes its own checks and tests as it is", async () => {
    assertMatch(await run(["task", "test"], service, env), /^ok \| 5 passed/m);
    for (const args of [["fmt", "--check"], ["lint"], ["check"], ["task", "check"]]) {
      const output = await run(args, service, env);
      assert(!/warning/i.test(output), output);
    }
  });

  await t.step("writes its document, which passes the checks, too", async () => {
    await run(["task", "spec"], service, env);
    const { paths } = JSON.parse(await Deno.readTextFile(join(service, "openapi.json")));
    assertEquals(Object.keys(paths), ["/notes", "/notes/events"]);
    await run(["task", "check"], service, env);
    await Deno.remove(join(service, "openapi.json"));
  });

  await t.step("is served by deno task dev, and ends in good order with SIGTERM", async () => {
    await using webfw = new Webfw(deno(["task", "dev"], service, env).spawn());
    await use(await webfw.origin(), "only-for-development");
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 0, webfw.stderr.text);
  });

  await t.step("is deployed by the steps of its Dockerfile, with what they allow, and ends with SIGTERM", async () => {
    const steps = instructions(await Deno.readTextFile(join(service, "Dockerfile")));
    await using image = await Project.create({});
    const built = { ...env, DENO_DIR: join(image.path, "deno_dir") };
    const app = join(image.path, "app");
    await Deno.mkdir(app);
    const settings: Record<string, string> = {};
    let command: string[] = [];
    let check: string[] = [];
    for (const [name, rest] of steps) {
      if (name === "RUN") await run(rest.split(" ").slice(1), app, built);
      if (name === "ENV") { for (const pair of rest.split(" ")) settings[pair.split("=")[0]!] = pair.split("=")[1]!; }
      if (name === "CMD") command = JSON.parse(rest);
      if (name === "HEALTHCHECK") check = JSON.parse(rest.slice("CMD ".length));
      if (name !== "COPY") continue;
      const names = rest === ". ." ? ["deno.json", "deno.lock", "main.ts", "serve.ts"] : ["deno.json", "deno.lock"];
      for (const file of names) await Deno.copyFile(join(service, file), join(app, file));
    }
    assertEquals(Object.keys(settings), ["PORT", "WEBFW_HOST"]);
    assert(!command.some((flag) => /^(-A|--allow-all|--allow-\w+)$/.test(flag)), command.join(" "));
    for (const folder of [home.path, image.path]) await Deno.chmod(folder, 0o755);
    const asUser = ([, ...args]: string[], port: string) => {
      // As in the image, the service runs as a user who can change nothing of it.
      const user = Deno.uid() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
      const [program = "", ...flags] = [...user, Deno.execPath(), ...args];
      return new Deno.Command(program, {
        args: flags,
        cwd: app,
        env: { ...built, ...settings, PORT: port, TOKEN },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      });
    };
    await using webfw = new Webfw(asUser(command, "0").spawn());
    const [, port = ""] = await webfw.stderr.next(/Listening on http:\/\/0\.0\.0\.0:(\d+)$/);
    await use(`http://127.0.0.1:${port}`, TOKEN);
    assertEquals((await asUser(check, port).output()).code, 0);
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 0, webfw.stderr.text);
    await isGone(webfw.pid);
    assertEquals((await asUser(check, port).output()).code, 1);
    assert(!/warn|error/i.test(webfw.stderr.text), webfw.stderr.text);
  });

  await t.step("does not start without its settings, and says so", async () => {
    const { code, stderr } = await inTime(
      deno(["run", "--allow-net=127.0.0.1", "--allow-env=TOKEN,PORT", "serve.ts"], service, env).output(),
      () => "the program ends",
    );
    assertEquals(code, 1);
    assertMatch(new TextDecoder().decode(stderr), /TOKEN/);
  });
});
