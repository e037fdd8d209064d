import { assertEquals, assertMatch } from "@std/assert";
import { Project } from "./project.ts";
import { isGone, Webfw } from "./webfw.ts";

/** An application that replies with its process id. */
const MAIN = `export const app = { fetch: () => new Response(String(Deno.pid)) };`;

async function pidOf(origin: string): Promise<number> {
  return Number(await (await fetch(origin)).text());
}

for (const flags of [[], ["--reload"]]) {
  const command = ["webfw run", ...flags].join(" ");
  const args = ["run", "main.ts:app", "--port", "0", ...flags];

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.test(`${signal} stops ${command}, with exit code 0 and no process left`, async () => {
      await using project = await Project.create({ "main.ts": MAIN });
      await using webfw = await Webfw.start(args, { cwd: project.path });
      const pid = await pidOf(await webfw.origin());
      webfw.signal(signal);
      assertEquals(await webfw.end(), 0);
      await isGone(pid);
      await isGone(webfw.pid);
    });

    Deno.test(`${signal} stops ${command} while the module is still loading`, async () => {
      await using project = await Project.create({
        "main.ts": `console.log(Deno.pid); await new Promise((resolve) => setTimeout(resolve, 3_600_000));`,
      });
      await using webfw = await Webfw.start(args, { cwd: project.path });
      const [pid] = await webfw.stdout.next(/^\d+$/);
      webfw.signal(signal);
      assertEquals(await webfw.end(), 0);
      await isGone(Number(pid));
    });
  }

  Deno.test(`The application of ${command} ends when the command is killed`, async () => {
    await using project = await Project.create({ "main.ts": MAIN });
    await using webfw = await Webfw.start(args, { cwd: project.path });
    const pid = await pidOf(await webfw.origin());
    webfw.signal("SIGKILL");
    await isGone(pid);
    assertEquals(await webfw.end(), 137);
  });

  Deno.test(`${command} kills an application that does not stop`, async () => {
    await using project = await Project.create({
      "main.ts": `for (const signal of ["SIGINT", "SIGTERM"] as const) {
        Deno.addSignalListener(signal, () => { while (true); });
      }
      ${MAIN}`,
    });
    await using webfw = await Webfw.start(args, { cwd: project.path });
    const pid = await pidOf(await webfw.origin());
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 137);
    assertMatch(webfw.stderr.text, /^error: Killed the program: it did not stop in time$/m);
    await isGone(pid);
  });
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`${signal} stops a watcher that waits after an error`, async () => {
    await using project = await Project.create({
      "main.ts": "export const app = ;",
    });
    await using webfw = await Webfw.start(["run", "main.ts", "--reload"], {
      cwd: project.path,
    });
    await webfw.stderr.next(/^Waiting for a change$/);
    webfw.signal(signal);
    assertEquals(await webfw.end(), 0);
  });
}

Deno.test("A watcher that waits after an error ends when the command is killed", async () => {
  await using project = await Project.create({
    "main.ts": `console.log(Deno.pid); throw new Error("broken");`,
  });
  await using webfw = await Webfw.start(["run", "main.ts", "--reload"], {
    cwd: project.path,
  });
  const [pid] = await webfw.stdout.next(/^\d+$/);
  await webfw.stderr.next(/^Waiting for a change$/);
  webfw.signal("SIGKILL");
  await isGone(Number(pid));
  assertEquals(await webfw.end(), 137);
});

Deno.test("A request in flight is answered before the application stops", async () => {
  await using project = await Project.create({
    "main.ts": `export const app = { async fetch() {
      const signal = new Promise((resolve) => Deno.addSignalListener("SIGTERM", resolve));
      console.log("in flight");
      await signal;
      return new Response("answered");
    } };`,
  });
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0"], {
    cwd: project.path,
  });
  const reply = fetch(await webfw.origin());
  await webfw.stdout.next(/^in flight$/);
  webfw.signal("SIGTERM");
  assertEquals(await (await reply).text(), "answered");
  assertEquals(await webfw.end(), 0);
});

Deno.test("The application's standard input is its own", async () => {
  await using project = await Project.create({
    "main.ts": `const input = await new Response(Deno.stdin.readable).text();
      export const app = { fetch: () => new Response(JSON.stringify(input)) };`,
  });
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0"], {
    cwd: project.path,
  });
  assertEquals(await (await fetch(await webfw.origin())).text(), `""`);
});
