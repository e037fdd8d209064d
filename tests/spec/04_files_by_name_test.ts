// Section 4 of the contract: a file whose name a client chooses is a file of one folder.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { App, file } from "@webfw/core";
import { CapturedLog } from "./support/captured_log.ts";
import { exchange } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";

/** Requests the result of a handler. */
async function ask(give: () => Promise<unknown>): Promise<{ status: number; body: string }> {
  const app = new App();
  app.get("/", async () => await give());
  const response = await app.fetch(new Request("http://localhost/"));
  return { status: response.status, body: await response.text() };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

Deno.test("What is not a file is 404: nothing, a folder, an invalid path", async () => {
  await using folder = await TemporaryFolder.make();
  await Deno.mkdir(folder.within("folder.txt"));
  await folder.write("a.txt", "x");
  for (const name of ["none", "folder.txt", "a.txt/b", "x".repeat(300), "a\0b", `${"x/".repeat(3_000)}y`]) {
    assertEquals((await ask(() => file(folder.within(name)))).status, 404, name.slice(0, 20));
  }
});

Deno.test("A folder that is not there has no files: 404, and a line in the log names it", async () => {
  await using folder = await TemporaryFolder.make();
  const root = folder.within("pictures");
  using log = new CapturedLog();
  assertEquals((await ask(() => file("a.png", { root }))).status, 404);
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, `WARN The folder of file() does not exist root=${root}`);
  await Deno.mkdir(root);
  await folder.write("pictures/a.png", "x");
  assertEquals((await ask(() => file("a.png", { root }))).status, 200);
});

Deno.test("A client can name files of a folder and none outside of it", async () => {
  await using outer = await TemporaryFolder.make();
  const root = outer.within("root");
  await Deno.mkdir(`${root}/deep`, { recursive: true });
  await Deno.mkdir(`${outer.path}/root-beside`);
  await outer.write("secret.txt", "secret");
  await outer.write("root-beside/secret.txt", "secret");
  await outer.write("root/a b.txt", "served");
  await outer.write("root/deep/é.txt", "served");
  await outer.write("root/...txt", "hidden");
  await outer.write("root/.env", "hidden");
  await Deno.mkdir(`${root}/.git`);
  await outer.write("root/.git/config", "hidden");
  const app = new App();
  app.get("/{path...}", async (_request, { path }) => await file(path, { root }));
  await using serving = await Serving.start(app);
  const get = async (path: string) => await exchange(serving.port, `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  for (const path of ["a%20b.txt", "deep/%C3%A9.txt", "deep%2F%C3%A9.txt"]) {
    assertEquals((await get(path)).body, "served", path);
  }
  const hostile = [
    "../secret.txt",
    "..%2Fsecret.txt",
    "%2e%2e/secret.txt",
    "%2e%2e%2fsecret.txt",
    "deep/../../secret.txt",
    "deep%2F..%2F..%2Fsecret.txt",
    "..%2Froot-beside%2Fsecret.txt",
    "%2Fetc%2Fpasswd",
    "//etc/passwd",
    "..%5Csecret.txt",
    "..\\secret.txt",
    "%252e%252e%252fsecret.txt",
    "a%20b.txt%00",
    "%00",
    "a%20b.txt/",
    "a%20b.txt%2F.",
    "./a%20b.txt",
    "deep",
    "deep/",
    ".env",
    ".git/config",
    "...txt",
    "x".repeat(1_000),
    "x/".repeat(5_000),
    "%c0%ae%c0%ae/secret.txt",
    "file:%2F%2F%2Fetc%2Fpasswd",
    "CON",
    "C:%5Csecret.txt",
    "~root",
  ];
  using log = new CapturedLog();
  for (const path of hostile) {
    const { status, body } = await get(path);
    assert(status === 404 || status === 400, `${path} ${status}`);
    assert(!body.includes("secret") && !body.includes("hidden"), path);
    // The router itself refuses some of these paths. File names may also come from elsewhere.
    for (const name of [path, decoded(path)]) assertEquals((await ask(() => file(name, { root }))).status, 404, name);
  }
  assertEquals(log.text, "");
});

Deno.test(
  "A link leads to files of the folder, and to none outside of it",
  { ignore: Deno.build.os === "windows" },
  async () => {
    await using outer = await TemporaryFolder.make();
    await Deno.mkdir(outer.within("root"));
    await outer.write("secret.txt", "secret");
    await outer.write("root/a.txt", "served");
    await Deno.symlink("a.txt", outer.within("root/inside.txt"));
    await Deno.symlink("../secret.txt", outer.within("root/outside.txt"));
    await Deno.symlink("..", outer.within("root/up"));
    await Deno.symlink("loop", outer.within("root/loop"));
    await Deno.symlink("nothing", outer.within("root/dangling"));
    await Deno.symlink("root", outer.within("linked"));
    for (const root of [outer.within("root"), outer.within("linked"), new URL(`file://${outer.path}/root/`)]) {
      assertEquals((await ask(() => file("inside.txt", { root }))).body, "served");
      for (const name of ["outside.txt", "up/secret.txt", "up/root/a.txt", "loop", "dangling"]) {
        const expected = name === "up/root/a.txt" ? 200 : 404;
        assertEquals((await ask(() => file(name, { root }))).status, expected, name);
      }
    }
  },
);

Deno.test("Special files are not opened", { ignore: Deno.build.os === "windows" }, async () => {
  await using folder = await TemporaryFolder.make();
  await new Deno.Command("mkfifo", { args: [folder.within("pipe")] }).output();
  assertEquals((await ask(() => file("pipe", { root: folder.path }))).status, 404);
  assertEquals((await ask(() => file("/dev/zero"))).status, 404);
});
