import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { join } from "node:path";
import { ProcessLock } from "../../../src/store/process_lock.ts";
import { ChildProgram } from "../../spec/support/child_program.ts";
import { TemporaryFolder } from "../../spec/support/temporary_folder.ts";

const MODULE = new URL("../../../src/store/process_lock.ts", import.meta.url).href;

/** A program that locks its name and prints it. */
function holder(path: string, permissions?: readonly string[]): Promise<ChildProgram> {
  return ChildProgram.start(
    `import { ProcessLock } from "${MODULE}";
    const lock = new ProcessLock(${JSON.stringify(path)});
    console.log("name " + await lock.name());
    setInterval(() => {}, 1000);`,
    permissions && { permissions },
  );
}

Deno.test("a process has ended when it is killed, and not while it stands still", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("a.sqlite");
  await using program = await holder(path);
  const name = (await program.found(/^name (\S+)\n/m))[1]!;
  const lock = new ProcessLock(path);
  assertMatch((await lock.name())!, /^[0-9a-f]{8}$/);
  assertEquals(await lock.hasEnded(name), false);
  program.signal("SIGSTOP");
  assertEquals(await lock.hasEnded(name), false);
  program.signal("SIGKILL");
  await program.end();
  assertEquals(await lock.hasEnded(name), true);
  await lock.close();
});

Deno.test("two of one process have names of their own, and both live", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("a.sqlite");
  const [one, other] = [new ProcessLock(path), new ProcessLock(path)];
  const names = [await one.name(), await other.name()];
  assertNotEquals(names[0], names[1]);
  assertEquals([await one.hasEnded(names[1]!), await other.hasEnded(names[0]!), await one.hasEnded(names[0]!)], [
    false,
    false,
    false,
  ]);
  await one.close();
  // What was given back before nobody asks for. The file is gone, which proves nothing.
  assertEquals(await other.hasEnded(names[0]!), undefined);
  await other.close();
  assertEquals(await Array.fromAsync(Deno.readDir(`${path}.processes`)), []);
});

Deno.test("of a process without a file nobody knows whether it has ended, whatever the name is", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("a.sqlite");
  const lock = new ProcessLock(path);
  await lock.name();
  await Deno.writeTextFile(folder.within("victim"), "");
  for (const name of ["0123abcd", "", "../victim", "..", "0123abcd.new"]) {
    assertEquals(await lock.hasEnded(name), undefined, name);
  }
  await lock.close();
});

Deno.test("files of processes that ended long ago are removed, and others are kept", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("a.sqlite");
  const live = new ProcessLock(path);
  const name = (await live.name())!;
  const inFolder = (file: string) => join(`${path}.processes`, file);
  const old = new Date(Date.now() - 2 * 3_600_000);
  const filesAfterStart = async () => {
    for (const file of ["0000000a", name]) await Deno.utime(inFolder(file), old, old);
    const lock = new ProcessLock(path);
    const own = (await lock.name())!;
    const files = (await Array.fromAsync(Deno.readDir(`${path}.processes`))).map((entry) => entry.name);
    assert(await lock.hasEnded("0000000c"));
    await lock.close();
    return files.filter((file) => file !== own).sort();
  };
  for (const file of ["0000000a", "0000000b.new", "0000000c"]) await Deno.writeTextFile(inFolder(file), "");
  await Deno.utime(inFolder("0000000b.new"), old, old);
  // How long ago a process ended is not known before somebody has seen that it has.
  assertEquals(await filesAfterStart(), ["0000000a", "0000000c", name].sort());
  assertEquals(await filesAfterStart(), ["0000000c", name].sort());
  await live.close();
});

Deno.test("a process that was killed after days is known to have ended by whoever starts next", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("a.sqlite");
  await using program = await holder(path);
  const name = (await program.found(/^name (\S+)\n/m))[1]!;
  const old = new Date(Date.now() - 48 * 3_600_000);
  await Deno.utime(join(`${path}.processes`, name), old, old);
  program.signal("SIGKILL");
  await program.end();
  for (const lock of [new ProcessLock(path), new ProcessLock(path)]) {
    await lock.name();
    assert(await lock.hasEnded(name));
    await lock.close();
  }
});

Deno.test("without the permission for the folder, a process has no name, and is not asked", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("a.sqlite");
  await using program = await holder(path, [`--allow-read=${path}`, `--allow-write=${path}`, "--no-prompt"]);
  await program.printed("name undefined");
  assertEquals(await Array.fromAsync(Deno.readDir(join(path, ".."))), []);
});
