import { assertEquals, assertMatch } from "@std/assert";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

/** An application that replies with its permissions. */
const MAIN = `import "./other.ts";
const names = ["read", "write", "net", "env", "sys", "run", "ffi"] as const;
const granted = names.filter((name) => Deno.permissions.querySync({ name }).state === "granted");
export const app = { fetch: () => Response.json(granted) };`;

/** The permissions of the application with these flags. */
async function granted(project: Project, flags: readonly string[]): Promise<string[]> {
  await using webfw = await Webfw.start(["run", "--port", "0", ...flags], {
    cwd: project.path,
    env: { DENO_NO_PROMPT: "1" },
  });
  return await (await fetch(await webfw.origin())).json();
}

Deno.test("The application has all permissions, unless permission flags restrict it", async () => {
  await using project = await Project.create({
    "deno.json": { permissions: { default: { net: true, env: true } } },
    "main.ts": MAIN,
    "other.ts": "",
  });
  assertEquals(await granted(project, ["main.ts"]), [
    "read",
    "write",
    "net",
    "env",
    "sys",
    "run",
    "ffi",
  ]);
  assertEquals(await granted(project, ["--allow-net", "main.ts"]), ["net"]);
  assertEquals(await granted(project, ["main.ts", "-N", "-R"]), ["read", "net"]);
  assertEquals(await granted(project, ["main.ts", "--", "--allow-net"]), ["net"]);
  assertEquals(await granted(project, ["-P", "main.ts"]), ["net", "env"]);
  assertEquals(await granted(project, ["main.ts", "--allow-net", "--reload"]), ["net"]);
});

Deno.test("Deno itself reports flags that it does not know", async () => {
  await using project = await Project.create({
    "main.ts": MAIN,
    "other.ts": "",
  });
  const { code, stderr } = await Webfw.finish(["run", "main.ts", "--", "--unheard-of"], { cwd: project.path });
  assertMatch(stderr, /unexpected argument '--unheard-of'/);
  assertEquals(code, 1);
});
