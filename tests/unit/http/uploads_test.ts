// The storage of uploaded files.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { dirname } from "node:path";
import { DiskBlob, UploadedFile } from "../../../src/http/files/disk_blob.ts";
import { UploadStorage } from "../../../src/http/forms/uploads.ts";
import { Random } from "../support/random.ts";

const MEBIBYTE = 1024 * 1024;

/** Keeps a content that comes in chunks of a size. */
async function keep(storage: UploadStorage, content: Uint8Array<ArrayBuffer>, chunkSize = 65_536): Promise<Blob> {
  const upload = storage.receive();
  for (let start = 0; start < content.length; start += chunkSize) {
    await upload.write(content.subarray(start, start + chunkSize));
  }
  return await upload.finish();
}

function bytes(size: number, seed = 1): Uint8Array<ArrayBuffer> {
  const random = new Random(seed);
  const content = new Uint8Array(size);
  for (let index = 0; index < size; index++) content[index] = random.below(256);
  return content;
}

function pathOf(blob: Blob): string | undefined {
  return blob instanceof DiskBlob ? blob.path : undefined;
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

Deno.test("Small files stay in memory, up to one mebibyte together", async () => {
  const storage = new UploadStorage();
  const content = bytes(400 * 1024);
  const blobs = [await keep(storage, content), await keep(storage, content), await keep(storage, content)];
  assertEquals(blobs.map((blob) => pathOf(blob) !== undefined), [false, false, true]);
  // The memory of the third file, before it went to disk, is free again.
  assertEquals(pathOf(await keep(storage, bytes(200 * 1024))), undefined);
  for (const blob of blobs) assertEquals(await new Blob([blob]).bytes(), content);
  await storage.remove();
});

Deno.test("A writer copies its chunks", async () => {
  const storage = new UploadStorage();
  const chunk = new Uint8Array([1, 2, 3]);
  const upload = storage.receive();
  await upload.write(chunk);
  chunk.fill(0);
  assertEquals([...await (await upload.finish()).bytes()], [1, 2, 3]);
  await storage.remove();
});

Deno.test("A file on disk has the bytes that were sent, as a whole and in parts", async () => {
  const storage = new UploadStorage();
  const content = bytes(MEBIBYTE + 12_345);
  for (const chunkSize of [1_000, 65_536, content.length]) {
    const file = new UploadedFile(await keep(storage, content, chunkSize), "a", "text/plain");
    assertEquals([file.size, file.name, file.type], [content.length, "a", "text/plain"]);
    assertEquals(await file.bytes(), content);
    assertEquals(new Uint8Array(await file.arrayBuffer()), content);
    assertEquals(await new Response(file.stream()).bytes(), content);
    assertEquals(await file.slice(70_000, 70_010).bytes(), content.slice(70_000, 70_010));
    assertEquals(await file.slice(-5).bytes(), content.slice(-5));
    assertEquals(await file.slice(100).slice(50, 60).bytes(), content.slice(150, 160));
    assertEquals((await file.slice(5, 5).bytes()).length, 0);
    // The platform's behaviour for its own files.
    const plain = new File([content.subarray(0, 300)], "a");
    const short = new UploadedFile(new Blob([content.subarray(0, 300)]), "a", "");
    for (const [start, end] of [[-10], [290, -2], [1.7, 3.2], [5, 2], [NaN, 4], [-999, 999], [400], [0, Infinity]]) {
      const [part, expected] = [short.slice(start, end, "x/y"), plain.slice(start, end, "x/y")];
      assertEquals(
        [part.size, part.type, await part.bytes()],
        [expected.size, expected.type, await expected.bytes()],
        `${start} ${end}`,
      );
    }
  }
  await storage.remove();
});

Deno.test("A file on disk works like any other file", async () => {
  const storage = new UploadStorage();
  const content = bytes(2 * MEBIBYTE);
  const file = new UploadedFile(await keep(storage, content), "a.bin", "application/x-a");
  assert(file instanceof File && file instanceof Blob);
  assertEquals(await new Response(file).bytes(), content);
  assertEquals(new Response(file).headers.get("content-type"), "application/x-a");
  assertEquals(await new Blob(["<", file]).slice(1).bytes(), content);
  assertEquals(await new Request("http://localhost", { method: "POST", body: file }).bytes(), content);
  const form = new FormData();
  form.append("a", file);
  const copy = (await new Response(form).formData()).get("a");
  assert(copy instanceof File);
  assertEquals([copy.name, copy.type], ["a.bin", "application/x-a"]);
  assertEquals(await copy.bytes(), content);
  await storage.remove();
});

Deno.test("Other users cannot enter the folder, and it is removed with the storage", async () => {
  const storage = new UploadStorage();
  const path = pathOf(await keep(storage, bytes(2 * MEBIBYTE)))!;
  const folder = dirname(path);
  if (Deno.build.os !== "windows") assertEquals((await Deno.stat(folder)).mode! & 0o777, 0o700);
  await storage.remove();
  assertEquals(await isThere(folder), false);
  await storage.remove();
});

Deno.test("A storage that is removed during an upload leaves nothing and accepts nothing more", async () => {
  const storage = new UploadStorage();
  const upload = storage.receive();
  await upload.write(bytes(MEBIBYTE));
  const writing = Promise.resolve(upload.write(bytes(MEBIBYTE))).catch(() => {});
  await storage.remove();
  await writing;
  await storage.remove();
  await assertRejects(async () => await keep(storage, bytes(2 * MEBIBYTE)), Error);
});

Deno.test("save() writes the file each time, and replaces an existing one", async () => {
  const folder = await Deno.makeTempDir();
  const contents = [bytes(10, 2), bytes(2 * MEBIBYTE, 3)];
  for (const [index, content] of contents.entries()) {
    const storage = new UploadStorage();
    const file = new UploadedFile(await keep(storage, content), "x", "text/plain");
    const [first, second] = [`${folder}/${index} a`, new URL(`file://${folder}/${index}%20b`)];
    await Deno.writeTextFile(first, "before");
    for (const path of [first, second, first, second]) await file.save(path);
    assertEquals(await file.bytes(), content);
    await storage.remove();
    assertEquals(await Deno.readFile(first), content);
    assertEquals(await Deno.readFile(second), content);
  }
  assertEquals((await Array.fromAsync(Deno.readDir(folder))).length, 4);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("Saved files are independent of each other, and replace others atomically", async () => {
  const folder = await Deno.makeTempDir();
  const storage = new UploadStorage();
  const content = bytes(2 * MEBIBYTE);
  const file = new UploadedFile(await keep(storage, content), "x", "text/plain");
  const [first, second] = [`${folder}/first`, `${folder}/second`];
  await Deno.writeTextFile(first, "before");
  using before = await Deno.open(first);
  await Promise.all([file.save(first), file.save(second), file.save(second)]);
  const read = new Uint8Array(10);
  assertEquals(new TextDecoder().decode(read.subarray(0, await before.read(read) ?? 0)), "before");
  await Deno.writeTextFile(second, "more", { append: true });
  await storage.remove();
  assertEquals(await Deno.readFile(first), content);
  await Deno.remove(folder, { recursive: true });
});

const hasRights = Deno.build.os !== "windows";

Deno.test("A saved file has the usual permissions of the program's files", { ignore: !hasRights }, async () => {
  const folder = await Deno.makeTempDir();
  const storage = new UploadStorage();
  await Deno.writeTextFile(`${folder}/other`, "");
  await new UploadedFile(await keep(storage, bytes(2 * MEBIBYTE)), "x", "text/plain").save(`${folder}/saved`);
  await storage.remove();
  assertEquals((await Deno.stat(`${folder}/saved`)).mode, (await Deno.stat(`${folder}/other`)).mode);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("save() that fails loses nothing and leaves nothing behind", async () => {
  const storage = new UploadStorage();
  for (const size of [10, 2 * MEBIBYTE]) {
    const file = new UploadedFile(await keep(storage, bytes(size)), "x", "text/plain");
    const folder = await Deno.makeTempDir();
    await Deno.mkdir(`${folder}/taken`);
    await Deno.writeTextFile(`${folder}/file`, "");
    await assertRejects(() => file.save(`${folder}/taken`));
    await assertRejects(() => file.save(`${folder}/file/x`));
    const left = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
    assertEquals(left.sort(), ["file", "taken"]);
    await Deno.remove(folder, { recursive: true });
    assertEquals((await file.bytes()).length, size);
  }
  await storage.remove();
});

Deno.test("A file that has changed since its size was announced is refused", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/a`;
  await Deno.writeTextFile(path, "first");
  const blob = new Blob([new DiskBlob(path, await Deno.stat(path))]);
  assertEquals(await blob.text(), "first");
  await Deno.writeTextFile(path, "second");
  await assertRejects(() => blob.text(), Error, "was changed");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("A reader that stops early closes the file", async () => {
  const storage = new UploadStorage();
  const file = new UploadedFile(await keep(storage, bytes(2 * MEBIBYTE)), "x", "text/plain");
  // The leak checker counts open files.
  const reader = file.stream().getReader();
  await reader.read();
  await reader.cancel();
  await file.stream().cancel();
  const part = file.slice(5).stream().getReader();
  await part.read();
  await part.cancel();
  await storage.remove();
});

Deno.test({
  name: "Without the permission to write, files stay in memory up to 32 MiB, and more is an error that says what to do",
  permissions: { read: "inherit", env: "inherit", write: false },
  async fn() {
    const storage = new UploadStorage();
    const chunk = new Uint8Array(MEBIBYTE);
    const upload = storage.receive();
    for (let count = 0; count < 32; count++) await upload.write(chunk);
    await assertRejects(
      async () => await upload.write(new Uint8Array(1)),
      Error,
      "allow the program to read and write",
    );
    const blob = await upload.finish();
    assertEquals([pathOf(blob), blob.size], [undefined, 32 * MEBIBYTE]);
    await storage.remove();
  },
});

Deno.test({
  name: "Without any permission, nobody is asked for one",
  permissions: "none",
  async fn() {
    const storage = new UploadStorage();
    const content = bytes(2 * MEBIBYTE);
    assertEquals(await new Blob([await keep(storage, content)]).bytes(), content);
    await storage.remove();
  },
});
