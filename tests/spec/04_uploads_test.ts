// Sections 4 and 13 of the contract: "name type size stream() bytes() text() arrayBuffer()
// save(path), usable where a File is".

import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { App, Form, type HttpRequest, UploadFile } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { Buffer } from "node:buffer";
import * as v from "valibot";
import { BOUNDARY, latin1, utf8 } from "../unit/http/support/multipart_body.ts";
import { CapturedLog } from "./support/captured_log.ts";
import { Serving } from "./support/serving.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";

const MEBIBYTE = 1024 * 1024;

/** One in memory, and one that is too large for it. */
const SIZES = [10, 2 * MEBIBYTE];

function bytesOf(size: number): Uint8Array<ArrayBuffer> {
  const content = new Uint8Array(size);
  for (let index = 0; index < size; index++) content[index] = (index * 7 + (index >> 8)) % 251;
  return content;
}

/** Compares without printing millions of bytes. */
function assertBytes(actual: Uint8Array, expected: Uint8Array): void {
  assertEquals(actual.length, expected.length);
  assert(Buffer.from(actual).equals(expected), "the bytes differ");
}

/** A form with one file, and a handler for it. */
function taking(handle: (file: UploadFile, request: HttpRequest) => Promise<unknown>): App {
  const app = new App();
  app.post(
    "/",
    { form: Form(v.object({ f: UploadFile })) },
    async (request, { form }) => await handle(form.f, request),
  );
  return app;
}

function formOf(content: Uint8Array<ArrayBuffer>): FormData {
  const form = new FormData();
  form.append("f", new File([content], "a.bin", { type: "image/png" }));
  return form;
}

Deno.test("The value of an UploadFile field has a name, a type, a size, and its content in every way", async () => {
  for (const size of SIZES) {
    const content = bytesOf(size);
    await using folder = await TemporaryFolder.make();
    const seen: unknown[] = [];
    const app = taking(async (file) => {
      seen.push(file.name, file.type, file.size);
      for (const way of [file.bytes(), file.arrayBuffer(), new Response(file.stream()).bytes()]) {
        assertBytes(new Uint8Array(await way), content);
      }
      assert(await file.text() === new TextDecoder().decode(content));
      await file.save(folder.within("saved"));
      await file.save(new URL(`file://${folder.path}/again`));
    });
    await using serving = await Serving.start(app);
    assertEquals((await fetch(serving.origin, { method: "POST", body: formOf(content) })).status, 204);
    assertEquals(seen, ["a.bin", "image/png", size]);
    assertBytes(await Deno.readFile(folder.within("saved")), content);
    assertBytes(await Deno.readFile(folder.within("again")), content);
  }
});

Deno.test("save() makes the folders on its way, in every form of the path", async () => {
  for (const size of SIZES) {
    const content = bytesOf(size);
    await using folder = await TemporaryFolder.make();
    const app = taking(async (file) => {
      await file.save(folder.within("pictures/new/saved"));
      await file.save(new URL(`file://${folder.path}/pictures/other/saved`));
    });
    const response = await app.fetch(new Request("http://localhost/", { method: "POST", body: formOf(content) }));
    assertEquals(response.status, 204);
    for (const name of ["new", "other"]) {
      assertBytes(await Deno.readFile(folder.within(`pictures/${name}/saved`)), content);
    }
    await app.stop();
  }
});

Deno.test("It can be used where a File can: passed on in a form, as a body, sliced, sent back", async () => {
  for (const size of SIZES) {
    const content = bytesOf(size);
    const target = taking(async (file) => [file.name, file.type, file.size]);
    await using other = await Serving.start(target);
    const app = taking(async (file) => {
      assertInstanceOf(file, File);
      const form = new FormData();
      form.append("f", file);
      const reply = await fetch(other.origin, { method: "POST", body: form });
      assertEquals(await reply.json(), ["a.bin", "image/png", size]);
      assertEquals(await file.slice(3, 6).bytes(), content.slice(3, 6));
      assertBytes(await new Blob(["<", file, ">"]).slice(1, -1).bytes(), content);
      return file;
    });
    await using serving = await Serving.start(app);
    const response = await fetch(serving.origin, { method: "POST", body: formOf(content) });
    assertEquals([response.status, response.headers.get("content-length")], [200, String(size)]);
    assertBytes(await response.bytes(), content);
  }
});

Deno.test("Files may be optional, in lists, nested and among texts, and valibot's checks apply", async () => {
  const app = new App();
  const Picture = v.pipe(UploadFile, v.mimeType(["image/png"]), v.maxSize(5));
  const form = Form(v.object({
    title: v.string(),
    cover: v.optional(Picture),
    pictures: v.optional(v.array(Picture), []),
    chapters: v.optional(v.array(v.object({ name: v.string(), text: UploadFile })), []),
  }));
  app.post("/", { form }, async (_request, { form: { title, cover, pictures, chapters } }) => [
    title,
    cover?.name ?? null,
    pictures.map(({ name }) => name),
    await Promise.all(chapters.map(async ({ name, text }) => [name, await text.text()])),
  ]);
  await using client = new TestClient(app);
  const png = (name: string, content = "x") => new File([content], name, { type: "image/png" });
  const send = (fields: [name: string, value: string | File][]) => {
    const body = new FormData();
    for (const [name, value] of fields) typeof value === "string" ? body.append(name, value) : body.append(name, value);
    return client.post("/", { body });
  };
  assertEquals(await send([["title", "t"]]).json<unknown>(), ["t", null, [], []]);
  const all: [string, string | File][] = [
    ["title", "t"],
    ["cover", png("c")],
    ["pictures", png("1")],
    ["pictures", png("2")],
    ["chapters[0][name]", "one"],
    ["chapters[0][text]", new File(["first"], "1.txt")],
    ["chapters[1][name]", "two"],
    ["chapters[1][text]", new File(["second"], "2.txt")],
  ];
  assertEquals(await send(all).json<unknown>(), ["t", "c", ["1", "2"], [["one", "first"], ["two", "second"]]]);
  const { errors } = await send([
    ["title", new File(["x"], "x")],
    ["cover", png("c", "too large")],
    ["pictures", png("1")],
    ["pictures", new File(["x"], "2", { type: "image/gif" })],
    ["chapters[0][name]", "one"],
    ["chapters[0][text]", "no file"],
  ]).problem(422);
  assertEquals(errors.map(({ path }) => path.join(".")), ["title", "cover", "pictures.1", "chapters.0.text"]);
  assert(!JSON.stringify(errors).includes("no file"));
});

Deno.test("A form with files that comes urlencoded lacks the files, which is a 422 and no other fault", async () => {
  await using client = new TestClient(taking(async () => 1));
  const { errors } = await client.post("/", { body: new URLSearchParams({ f: "path/of/a.png" }) }).problem(422);
  assertEquals(errors.map(({ path }) => path), [["f"]]);
});

Deno.test("Names of files are harmless: without folders, control characters and characters that reverse text", async () => {
  const app = taking(async (file) => file.name);
  const table: [disposition: string, name: string][] = [
    ['filename="../../etc/passwd"', "passwd"],
    ['filename="C:\\fakepath\\cat.png"', "cat.png"],
    ['filename="/abs/olute"', "olute"],
    ['filename=".."', ""],
    ['filename="a\0b.txt"', "ab.txt"],
    ['filename="a%0D%0ASet-Cookie: x=y"', "aSet-Cookie: x=y"],
    ['filename="a\x1b[2Jb"', "a[2Jb"],
    [`filename="${utf8("\u202egnp.exe")}"`, "gnp.exe"],
    [`filename="${utf8("Grüße 日本 😀.txt")}"`, "Grüße 日本 😀.txt"],
    ["filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt", "Grüße.txt"],
    ["filename*=UTF-8''..%2F..%2Fx%00y", "xy"],
    ['filename="__proto__"', "__proto__"],
    [`filename="${"n".repeat(4_000)}"`, "n".repeat(4_000)],
  ];
  for (const [disposition, name] of table) {
    const body = latin1(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="f"; ${disposition}\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
    );
    const headers = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
    const response = await app.fetch(new Request("http://localhost/", { method: "POST", body, headers }));
    // An unnamed file of one byte is a file. Only the empty one that browsers send counts as no
    // file.
    assertEquals([response.status, await response.json()], [200, name], disposition);
  }
});

Deno.test("formData() reads the form again, files and all, and so does another call", async () => {
  for (const size of SIZES) {
    const content = bytesOf(size);
    const app = taking(async (bound, request) => {
      for (let turn = 0; turn < 2; turn++) {
        const file = (await request.formData()).get("f");
        assertInstanceOf(file, File);
        assertEquals([file.name, file.type, file.size], [bound.name, bound.type, bound.size]);
        assertBytes(await file.bytes(), content);
      }
      return bound.size;
    });
    await using serving = await Serving.start(app);
    const reply = await fetch(serving.origin, { method: "POST", body: formOf(content) });
    assertEquals([reply.status, await reply.json()], [200, size]);
  }
});

Deno.test("The body of a small form can be read as bytes as well, that of a larger one is 413 then", async () => {
  const app = taking(async (file, request) => [file.size, (await request.bytes()).length > file.size]);
  await using client = new TestClient(app);
  assertEquals(await client.post("/", { body: formOf(bytesOf(10)) }).json<unknown>(), [10, true]);
  assertEquals((await client.post("/", { body: formOf(bytesOf(2 * MEBIBYTE)) })).status, 413);
});

Deno.test("More files than parts are allowed is 413; so is a file over its limit, and a form over its own", async () => {
  const app = new App({ limits: { parts: 3, file: 1_000, multipart: 5_000 } });
  app.post("/", { form: Form(v.object({ f: v.array(UploadFile) })) }, async (_request, { form }) => form.f.length);
  await using client = new TestClient(app);
  const send = async (...sizes: number[]): Promise<number> => {
    const body = new FormData();
    for (const size of sizes) body.append("f", new File([bytesOf(size)], "a"));
    return (await client.post("/", { body })).status;
  };
  assertEquals([await send(1, 2, 3), await send(1, 2, 3, 4)], [200, 413]);
  assertEquals([await send(1_000, 1_000), await send(10, 1_001)], [200, 413]);
  assertEquals([await send(1_000, 1_000, 1_000), await send(1_000, 1_000, 1_000, 1_000, 1_000)], [200, 413]);
});

Deno.test("A file cannot be read when its request is over", async () => {
  const files: UploadFile[] = [];
  await using serving = await Serving.start(taking(async (file, request) => {
    files.push(file);
    request.after(async () => assertEquals((await file.bytes()).length, file.size));
  }));
  using log = new CapturedLog();
  await fetch(serving.origin, { method: "POST", body: formOf(bytesOf(2 * MEBIBYTE)) });
  await serving.stop();
  await assertRejects(() => files[0]!.bytes(), Deno.errors.NotFound);
  assertEquals(log.text, "");
});
