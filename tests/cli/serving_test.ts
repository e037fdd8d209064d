// `webfw run --compress` and `--drain-delay`.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { isGone, Webfw } from "./webfw.ts";

const APP = `import { App } from "@webfw/core";
export const app = new App({ readyUrl: "/ready" });
app.get("/", async () => "x".repeat(1_000));`;
const FETCH = `export const app = { fetch: () => new Response("x".repeat(1_000)) };`;

async function project(): Promise<Project> {
  return await Project.create({
    "deno.json": { imports: await frameworkImports() },
    "main.ts": APP,
    "fetch.ts": FETCH,
  });
}

/** Asks on a new connection: the system distributes connections, not requests. */
async function ask(url: string): Promise<Response> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(url, { client });
  await response.body?.cancel();
  return response;
}

Deno.test("webfw run --compress compresses replies, also those of other frameworks", async () => {
  await using folder = await project();
  for (const file of ["main.ts", "fetch.ts"]) {
    for (const flags of [[], ["--compress"]]) {
      await using webfw = await Webfw.start(["run", file, "--port", "0", ...flags], { cwd: folder.path });
      const { headers } = await ask(await webfw.origin());
      // fetch() removes the encoding, and leaves what is said of it.
      assertEquals(headers.get("vary"), flags.length > 0 ? "Accept-Encoding" : null, file);
      webfw.signal("SIGTERM");
      assertEquals(await webfw.end(), 0);
    }
  }
});

Deno.test("webfw run --drain-delay serves on after SIGTERM, in all workers, until a second one", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using folder = await project();
  for (const workers of ["1", "2"]) {
    const args = ["run", "main.ts", "--port", "0", "--drain-delay", "10m", "--workers", workers];
    await using webfw = await Webfw.start(args, { cwd: folder.path });
    const origin = await webfw.origin();
    assertEquals((await ask(`${origin}/ready`)).status, 200);
    webfw.signal("SIGTERM");
    // As many connections in a row come to all workers.
    for (let stopping = 0; stopping < 20;) stopping = (await ask(`${origin}/ready`)).status === 503 ? stopping + 1 : 0;
    const { status, headers } = await ask(origin);
    assertEquals([status, headers.get("connection")], [200, "close"]);
    // Signals within 300 ms count as one.
    for (const seen = performance.now(); performance.now() - seen < 400;) await ask(origin);
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 0);
    await isGone(webfw.pid);
  }
});

Deno.test("A delay that is none, or of a watched program, is refused", async () => {
  await using folder = await project();
  for (
    const [flags, message] of [
      [["--drain-delay", "soon"], 'Cannot use "soon" as a delay: expected a time such as 5s or 500ms'],
      [["--drain-delay", "5"], 'Cannot use "5" as a delay'],
      [["--drain-delay", "5s", "--reload"], "Cannot use --drain-delay: a program that is watched stops at once"],
    ] as const
  ) {
    const { code, stderr } = await Webfw.finish(["run", "main.ts", ...flags], { cwd: folder.path });
    assertEquals(code, 2);
    assertStringIncludes(stderr, message);
  }
});
