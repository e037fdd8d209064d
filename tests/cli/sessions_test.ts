// How the command line starts applications with sessions: "a missing secret is an error at the
// start", and "`--workers` above 1 with `memorySessions()` is an error at the start".

import { assertEquals, assertStringIncludes } from "@std/assert";
import { frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

const MAIN = (options: string) =>
  `import { App } from "@webfw/core";
import { memorySessions, recordSessions, session } from "@webfw/core/auth";
import * as v from "valibot";
const visit = session(v.object({ userId: v.number() }), ${options});
export const app = new App();
app.lifespan(async function* () {
  console.log("lifespan");
  yield;
});
app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
app.get("/me", { deps: { visit: visit.required() } }, async (_request, { visit }) => visit.data.userId);
`;

/** The last line that `webfw run` prints for an application that does not start. */
async function failureOf(options: string, ...flags: string[]): Promise<string | undefined> {
  const imports = await frameworkImports();
  await using folder = await Project.create({ "deno.json": { imports }, "main.ts": MAIN(options) });
  const { code, stdout, stderr } = await Webfw.finish(["run", "main.ts", "--port", "0", ...flags], {
    cwd: folder.path,
  });
  assertEquals([code, stdout], [1, ""]);
  return stderr.trimEnd().split("\n").at(-1);
}

Deno.test("A missing secret is one line at the start that says what to do, before any lifespan", async () => {
  assertEquals(
    await failureOf("{ secret: () => Deno.env.get('NO_SUCH_SECRET') }"),
    'error: Cannot start the application: the secret of the session "session" is missing, set it to at least 32 random characters, such as the output of "openssl rand -base64 32"',
  );
});

Deno.test("--workers above 1 with memorySessions() is an error at the start", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  assertEquals(
    await failureOf("{ store: memorySessions() }", "--workers", "2"),
    'error: Cannot start several workers: the session "session" is in the memory of one, use one worker, or a store that all share',
  );
});

Deno.test("Sealed sessions and recordSessions() are good for all workers, and memorySessions() for one", async () => {
  const imports = await frameworkImports();
  const isLinux = Deno.build.os === "linux";
  const runs = [
    ["{ secret: () => 'x'.repeat(32) }", isLinux ? "3" : "1", 0],
    ["{ store: memorySessions(), subject: (data) => data.userId }", "1", 0],
    ["{ store: recordSessions() }", isLinux ? "3" : "1", 1],
  ] as const;
  for (const [options, workers, warnings] of runs) {
    await using folder = await Project.create({ "deno.json": { imports }, "main.ts": MAIN(options) });
    await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--workers", workers], {
      cwd: folder.path,
    });
    const origin = await webfw.origin();
    const login = await fetch(`${origin}/login`, { method: "POST" });
    const [cookie = ""] = login.headers.get("set-cookie")?.split(";", 1) ?? [];
    assertStringIncludes(cookie, "__Host-session=");
    // Each client opens a connection of its own: the system distributes connections.
    const answers = await Promise.all(Array.from({ length: 20 }, async () => {
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      return await (await fetch(`${origin}/me`, { headers: { cookie }, client })).json();
    }));
    assertEquals(new Set(answers), new Set([7]));
    // All workers have started. What concerns all of them is said once.
    assertEquals(webfw.stderr.text.match(/the session has no subject/g)?.length ?? 0, warnings, options);
  }
});
