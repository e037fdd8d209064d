// A graceful stop of a service that has work of every kind in progress, by each way to stop it.
// `WEBFW_ROUNDS=50 deno task deno test -A tests/stop` repeats it.

import { assertEquals } from "@std/assert";
import { frameworkImports } from "../cli/framework.ts";
import type { Lines } from "../cli/lines.ts";
import { Project } from "../cli/project.ts";
import { isGone, Webfw } from "../cli/webfw.ts";
import { Clients } from "./clients.ts";

const ROUNDS = Number(Deno.env.get("WEBFW_ROUNDS") ?? 1);

/** The last output of the service after the stop. */
const LAST_LINES = ["second lifespan ended", "first lifespan ended"];
const LINES = ["dependency ended", "events ended", "lines ended", "socket ended", "task done"];

async function makeProject(): Promise<Project> {
  return await Project.create({
    "deno.json": { imports: await frameworkImports() },
    "service.ts": await Deno.readTextFile(new URL("service.ts", import.meta.url)),
  });
}

/** Waits until everything is under way. */
async function begin(origin: string, stdout: Lines): Promise<Clients> {
  const clients = await Clients.begin(origin);
  await stdout.next(/^slow begun$/);
  return clients;
}

/** All work was ended before the lifespans that it may have used. */
function assertEnded(stdout: Lines, last: readonly string[]): void {
  const lines = stdout.text.split("\n").filter((line) => line !== "slow begun");
  assertEquals(lines.slice(LINES.length), last);
  assertEquals(lines.slice(0, LINES.length).toSorted(), LINES);
  assertEquals(lines.indexOf("task done") < lines.indexOf("dependency ended"), true);
}

for (let round = 1; round <= ROUNDS; round++) {
  const times = ROUNDS === 1 ? "" : `, ${round} of ${ROUNDS}`;

  for (const signal of ["SIGINT", "SIGTERM", "SIGUSR1"] as const) {
    const name = signal === "SIGUSR1" ? "An AbortSignal" : signal;
    Deno.test(`${name} stops a service as a whole${times}`, { ignore: Deno.build.os === "windows" }, async () => {
      await using project = await makeProject();
      const program = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--quiet", "--config", "deno.json", "--no-lock", "service.ts"],
        cwd: project.path,
        env: { NO_COLOR: "1" },
        stdout: "piped",
        stderr: "piped",
      });
      await using service = new Webfw(program.spawn());
      const clients = await begin(await service.origin(), service.stdout);
      service.signal(signal);
      await clients.seeEnd();
      assertEquals(await service.end(), 0);
      assertEnded(service.stdout, [...LAST_LINES, "run() resolved"]);
    });
  }

  Deno.test(`webfw run stops a service as a whole${times}`, { ignore: Deno.build.os === "windows" }, async () => {
    await using project = await makeProject();
    await using webfw = await Webfw.start(["run", "service.ts", "--port", "0"], { cwd: project.path });
    const clients = await begin(await webfw.origin(), webfw.stdout);
    webfw.signal("SIGTERM");
    await clients.seeEnd();
    assertEquals(await webfw.end(), 0);
    await isGone(webfw.pid);
    assertEnded(webfw.stdout, LAST_LINES);
  });

  Deno.test(`An edit under webfw run --reload stops a service as a whole, and the next one serves${times}`, async () => {
    await using project = await makeProject();
    await using webfw = await Webfw.start(["run", "service.ts", "--port", "0", "--reload"], { cwd: project.path });
    const clients = await begin(await webfw.origin(), webfw.stdout);
    await project.write("service.ts", await Deno.readTextFile(`${project.path}/service.ts`) + "\n");
    await clients.seeEnd();
    const next = await begin(await webfw.origin(), webfw.stdout);
    assertEnded(webfw.stdout, LAST_LINES);
    webfw.signal("SIGINT");
    await next.seeEnd();
    assertEquals(await webfw.end(), 0);
  });
}
