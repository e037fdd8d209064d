// Multipart forms: how they are cut into parts, and the headers of the parts.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/base/errors.ts";
import { boundaryOf, type PartHead, readMultipartForm, readPartHead } from "../../../src/http/forms/multipart.ts";
import { UploadStorage, UploadWriter } from "../../../src/http/forms/uploads.ts";
import { DEFAULT_LIMITS, type ResolvedLimits } from "../../../src/http/limits.ts";
import { Random } from "../support/random.ts";
import { bodyOf, BOUNDARY, field, file, fromLatin1, latin1, streamOf, utf8 } from "./support/multipart_body.ts";
import { ticks } from "../../spec/support/ticks.ts";

type Part = readonly [name: string, file: string | undefined, content: string];

const UNLIMITED: ResolvedLimits = { ...DEFAULT_LIMITS, body: Infinity, multipart: Infinity };

/** Keeps files by a writer of the test's own. */
class TestStorage extends UploadStorage {
  readonly #makeWriter: () => UploadWriter;

  constructor(makeWriter: (storage: UploadStorage) => UploadWriter) {
    super();
    this.#makeWriter = () => makeWriter(this);
  }

  override receive(): UploadWriter {
    return this.#makeWriter();
  }
}

/** Reads a body in chunks. Returns its parts, or the status of the refusal. */
async function read(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  limits: ResolvedLimits = UNLIMITED,
): Promise<Part[] | number> {
  const storage = new UploadStorage();
  try {
    const entries = await readMultipartForm(streamOf(chunks), BOUNDARY, limits, storage);
    const parts: Part[] = [];
    for (const [name, value] of entries) {
      if (typeof value === "string") parts.push([name, undefined, value]);
      else parts.push([name, value.name, fromLatin1(await value.bytes())]);
    }
    return parts;
  } catch (error) {
    assert(error instanceof HTTPError, String(error));
    return error.status;
  } finally {
    await storage.remove();
  }
}

function readText(body: string): Promise<Part[] | number> {
  return read([latin1(body)]);
}

/** Contents that resemble boundaries. */
const TRICKY: readonly Part[] = [
  ["a", undefined, "x"],
  ["dashes", undefined, "--"],
  ["nearly", "f", `\r\n--${BOUNDARY.slice(0, -1)}`],
  ["broken", "g", `\r\n-${BOUNDARY}\r\n--${BOUNDARY.toUpperCase()}--\r\n`],
  ["no line", undefined, `x--${BOUNDARY}--`],
  ["bare", "h", `\n--${BOUNDARY}\n--${BOUNDARY}--\n`],
  ["breaks", undefined, "\r\n\r\n\r\n"],
  ["empty", undefined, ""],
  ["empty file", "i", ""],
  ["binary", "j", String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte))],
];
const TRICKY_BODY = bodyOf(
  ...TRICKY.map(([name, fileName, content]) => fileName ? file(name, fileName, content) : field(name, content)),
);

Deno.test("The parts do not depend on how the body is cut into chunks", async () => {
  const bytes = latin1(TRICKY_BODY);
  assertEquals(await read([...bytes].map((byte) => new Uint8Array([byte]))), [...TRICKY]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    assertEquals(await read([bytes.slice(0, cut), bytes.slice(cut)]), [...TRICKY], `cut at ${cut}`);
  }
});

Deno.test("Random parts in random chunks are read as they were sent", async () => {
  const random = new Random(21);
  const pieces = ["\r", "\n", "-", "--", "b", BOUNDARY, `\r\n--${BOUNDARY.slice(1)}`, "x", "\0", utf8("é")];
  for (let round = 0; round < 300; round++) {
    const parts = random.list(5, (): Part => {
      const content = random.list(8, () => random.pick(pieces)).join("").replaceAll(`\r\n--${BOUNDARY}`, "");
      return [`n${random.below(3)}`, random.oneIn(2) ? "f" : undefined, content];
    });
    if (parts.some(([, , content]) => content.startsWith(`--${BOUNDARY}`))) continue;
    if (parts.length === 0) continue;
    const bytes = latin1(
      bodyOf(...parts.map(([name, fileName, content]) => fileName ? file(name, "f", content) : field(name, content))),
    );
    const cuts = [0, ...random.list(6, () => random.below(bytes.length)).toSorted((a, b) => a - b), bytes.length];
    const chunks = cuts.slice(1).map((end, index) => bytes.slice(cuts[index], end));
    const expected = parts.map(([name, fileName, content]): Part => {
      return [name, fileName, fileName ? content : new TextDecoder().decode(latin1(content))];
    });
    assertEquals(await read(chunks), expected);
  }
});

Deno.test("A body that ends before its last boundary is a 400", async () => {
  const bytes = latin1(TRICKY_BODY);
  const end = TRICKY_BODY.lastIndexOf(`${BOUNDARY}--`) + BOUNDARY.length + 2;
  for (let length = 0; length < end; length++) {
    assertEquals(await read([bytes.slice(0, length)]), 400, `${length} bytes`);
  }
  assertEquals(await read([bytes.slice(0, end)]), [...TRICKY]);
});

Deno.test("Bytes before the first boundary and after the last one are ignored", async () => {
  const body = bodyOf(field("a", "1"));
  const expected: Part[] = [["a", undefined, "1"]];
  for (const preamble of ["", "\r\n", "preamble\r\n", `--other\r\n\r\nx\r\n`, "x".repeat(100_000) + "\r\n"]) {
    for (const epilogue of ["", "\r\n", "epilogue", bodyOf(field("b", "2")), "x".repeat(100_000)]) {
      assertEquals(await readText(preamble + body + epilogue), expected, preamble.slice(0, 20) + epilogue.slice(0, 20));
      assertEquals(await read([preamble, body, epilogue].map(latin1)), expected);
    }
  }
});

Deno.test("A line that begins with the boundary ends a part (RFC 2046)", async () => {
  const body = bodyOf(field("a", `1\r\n--${BOUNDARY}more\r\n${field("b", "2")}`));
  assertEquals(await readText(body), 400);
});

Deno.test("A part without the name of its field is a 400", async () => {
  const heads = [
    "",
    "\r\n",
    "Content-Type: text/plain\r\n",
    "Content-Disposition\r\n",
    "Content-Disposition:\r\n",
    "Content-Disposition: form-data\r\n",
    "Content-Disposition: attachment; name=a\r\n",
    "Content-Disposition: form-data; filename=a\r\n",
    'Content-Disposition: form-data; name="a\r\n',
    'Content-Disposition: form-data; name="a"b\r\n',
    'Content-Disposition: form-data; name="a" filename="b"\r\n',
    "Content-Disposition: form-data; name\r\n",
    "Content-Disposition: form-data; name=a; name=b\r\n",
    "Content-Disposition: form-data; name=a; NAME=b\r\n",
    "Content-Disposition: form-data; name=a; filename*=latin1'%E9\r\n",
    "Content-Disposition: form-data; name=a; filename*=utf-8''%FF\r\n",
    "Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b\r\n",
    "Content-Disposition: form-data; name=a\r\ncontent-disposition: form-data; name=a\r\n",
  ];
  for (const head of heads) {
    for (const body of [bodyOf(`${head}\r\nx`), bodyOf(field("z", "1"), `${head}\r\nx`, field("z", "1"))]) {
      assertEquals(await readText(body), 400, JSON.stringify(body));
    }
  }
});

Deno.test("The headers of a part have a limit", async () => {
  const long = (size: number) => `X-Long: ${"x".repeat(size)}\r\n${field("a", "1")}`;
  assertEquals(await readText(bodyOf(long(7 * 1024))), [["a", undefined, "1"]]);
  for (const size of [9 * 1024, 100 * 1024, 1024 * 1024]) {
    assertEquals(await readText(bodyOf(long(size))), 400, String(size));
    assertEquals(await readText(bodyOf(`${field("a", "1").replace("\r\n\r\n", "")}\r\n${long(size)}`)), 400);
    // No end of the headers at all.
    assertEquals(await readText(`--${BOUNDARY}\r\nX-Long: ${"x".repeat(size)}`), 400);
  }
  const many = "X: 1\r\n".repeat(10_000);
  assertEquals(await readText(bodyOf(many + field("a", "1"))), 400);
  assertEquals(await readText(bodyOf(`Content-Disposition: form-data; name=a\r\n${many}\r\n1`)), 400);
});

Deno.test("A multipart body within a part is text", async () => {
  const inner = `--inner\r\nContent-Disposition: file; filename="x"\r\n\r\ncontent\r\n--inner--`;
  const part = `Content-Disposition: form-data; name="files"\r\nContent-Type: multipart/mixed; boundary=inner\r\n\r\n`;
  assertEquals(await readText(bodyOf(part + inner)), [["files", undefined, inner]]);
});

Deno.test("A body over its limit is refused with 413 at once", async () => {
  const bytes = latin1(bodyOf(file("a", "f", "x".repeat(1000))));
  assertEquals(await read([bytes], { ...UNLIMITED, multipart: bytes.length }), [["a", "f", "x".repeat(1000)]]);
  assertEquals(await read([bytes], { ...UNLIMITED, multipart: bytes.length - 1 }), 413);
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      controller.enqueue(pulled++ === 0 ? latin1(`--${BOUNDARY}\r\n${file("a", "f", "")}`) : new Uint8Array(1000));
    },
  }, { highWaterMark: 0 });
  const storage = new UploadStorage();
  const reading = readMultipartForm(endless, BOUNDARY, { ...UNLIMITED, multipart: 50_000 }, storage);
  assertEquals((await assertRejects(() => reading, HTTPError)).status, 413);
  assert(pulled <= 52, String(pulled));
});

Deno.test("A failure to store a file ends the reading at once and cancels the body", async () => {
  class FailsAtOnce extends UploadWriter {
    override write(): void {
      throw new RangeError("broken");
    }
  }
  class FailsLater extends UploadWriter {
    override write(): Promise<void> {
      return Promise.reject(new RangeError("broken"));
    }
  }
  const failures: Record<string, (storage: UploadStorage) => UploadWriter> = {
    receiving: () => {
      throw new RangeError("broken");
    },
    writing: (storage) => new FailsAtOnce(storage),
    "writing later": (storage) => new FailsLater(storage),
  };
  for (const [name, makeWriter] of Object.entries(failures)) {
    let isLetGo = false;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      // Then nothing more: a client that has stopped sending.
      start: (controller) => controller.enqueue(latin1(`--${BOUNDARY}\r\n${file("a", "f", "x".repeat(100_000))}`)),
      cancel: () => void (isLetGo = true),
    });
    const storage = new TestStorage(makeWriter);
    await assertRejects(() => readMultipartForm(body, BOUNDARY, UNLIMITED, storage), RangeError);
    assert(isLetGo, name);
  }
});

Deno.test("A failure ends the reading, no matter when the next chunk arrives", async () => {
  for (let turns = 0; turns < 30; turns++) {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        for (let turn = 0; turn < turns; turn++) await undefined;
        controller.enqueue(pulled++ === 0 ? latin1(`--${BOUNDARY}\r\n${file("a", "f", "")}`) : new Uint8Array(65_536));
      },
    }, { highWaterMark: 0 });
    const storage = new UploadStorage();
    const reading = readMultipartForm(body, BOUNDARY, { ...UNLIMITED, file: 200_000 }, storage);
    assertEquals((await assertRejects(() => reading, HTTPError)).status, 413);
  }
});

Deno.test("A body that breaks off fails with its own error, and its file is not finished", async () => {
  let isFinished = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      controller.enqueue(latin1(`--${BOUNDARY}\r\n${file("a", "f", "x")}`));
      controller.error(new RangeError("gone"));
    },
  });
  class NotingWriter extends UploadWriter {
    override async finish(): Promise<Blob> {
      isFinished = true;
      return await super.finish();
    }
  }
  const storage = new TestStorage((storage) => new NotingWriter(storage));
  await assertRejects(() => readMultipartForm(body, BOUNDARY, UNLIMITED, storage), RangeError, "gone");
  assertEquals(isFinished, false);
});

Deno.test("The reader waits for a slow storage", async () => {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (pulled++ === 0) controller.enqueue(latin1(`--${BOUNDARY}\r\n${file("a", "f", "")}`));
      else if (pulled <= 200) controller.enqueue(new Uint8Array(64 * 1024));
      else {
        controller.enqueue(latin1(`\r\n--${BOUNDARY}--`));
        controller.close();
      }
    },
  }, { highWaterMark: 0 });
  let taken = 0;
  let ahead = 0;
  class SlowWriter extends UploadWriter {
    override async write(chunk: Uint8Array): Promise<void> {
      await ticks(1);
      taken += chunk.length;
      ahead = Math.max(ahead, pulled * 64 * 1024 - taken);
    }
  }
  const storage = new TestStorage((storage) => new SlowWriter(storage));
  await readMultipartForm(body, BOUNDARY, UNLIMITED, storage);
  assertEquals(taken, 199 * 64 * 1024);
  assert(ahead <= 512 * 1024, `${ahead} bytes were read ahead`);
});

Deno.test("A large part is read to its end, also when that is in one chunk with the next part", async () => {
  const large = "x".repeat(300_000);
  const bodies = [
    [file("a", "f", large)],
    [file("a", "f", large), field("b", "1")],
    [field("b", "1"), file("a", "f", large)],
    [file("a", "f", large), file("b", "g", large), file("c", "h", "")],
  ];
  for (const parts of bodies) {
    const expected = parts.length;
    for (const epilogue of ["", "epilogue", "x".repeat(200_000)]) {
      const body = latin1(bodyOf(...parts));
      for (
        const chunks of [[body, latin1(epilogue)], [latin1(bodyOf(...parts) + epilogue)], [
          body.slice(0, 70_000),
          body.slice(70_000),
          latin1(epilogue),
        ]]
      ) {
        assertEquals((await read(chunks) as Part[]).length, expected);
      }
    }
  }
});

Deno.test("The content type names the boundary, with or without quotes", () => {
  const table: [string, string | undefined][] = [
    ["multipart/form-data; boundary=abc", "abc"],
    ["multipart/form-data;boundary=abc; charset=utf-8", "abc"],
    ['multipart/form-data; charset=utf-8; BOUNDARY="a b;c"', "a b;c"],
    ["multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW", "----WebKitFormBoundary7MA4YWxkTrZu0gW"],
    ["multipart/form-data", undefined],
    [`multipart/form-data; boundary=${"b".repeat(70)}`, "b".repeat(70)],
    [`multipart/form-data; boundary=${"b".repeat(71)}`, undefined],
    [`multipart/form-data; boundary="${"b".repeat(60_000)}"`, undefined],
    [`multipart/form-data; ${"boundary ".repeat(7_000)}`, undefined],
    [`multipart/form-data; ${";".repeat(60_000)}`, undefined],
    [`multipart/form-data${";boundary".repeat(7_000)}`, undefined],
    [`multipart/form-data;${" ".repeat(60_000)}boundary`, undefined],
    ["multipart/form-data; boundary=", undefined],
    ['multipart/form-data; boundary=""', undefined],
    ["multipart/form-data; xboundary=a", undefined],
    ['multipart/form-data; x="; boundary=Z"; boundary=B', "B"],
    ['multipart/form-data; charset=utf-8;boundary="a;b"', "a;b"],
  ];
  for (const [contentType, boundary] of table) assertEquals(boundaryOf(contentType), boundary, contentType);
});

function headOf(disposition: string, type?: string): PartHead {
  return readPartHead({
    "content-disposition": [`form-data; ${disposition}`],
    ...(type === undefined ? {} : { "content-type": [type] }),
  });
}

Deno.test("The name of a field is decoded as UTF-8", () => {
  const table: [sent: string, name: string][] = [
    ['name="a"', "a"],
    ["name=a", "a"],
    ['name=""', ""],
    ['NAME="a"', "a"],
    ['name="a b"', "a b"],
    ['name="a;b"', "a;b"],
    ["name = a", "a"],
    [`name="${utf8("é€😀")}"`, "é€😀"],
    ['name="a%22b%0D%0Ac%20"', 'a"b\r\nc%20'],
    ['name="a\\"b\\\\c\\d"', 'a"b\\c\\d'],
    ['name="__proto__"', "__proto__"],
    ['name="a[b][c]"', "a[b][c]"],
    ["name=a;", "a"],
  ];
  for (const [sent, name] of table) assertEquals(headOf(sent), { name, file: undefined }, sent);
});

Deno.test("Text, names of fields and names of files that are not UTF-8 are a 400", async () => {
  for (const sent of ['name="\xe9"', 'name="f"; filename="\xe9t\xe9.txt"', 'name="\xf0\x9f\x98"']) {
    assertEquals(assertThrows(() => headOf(sent), HTTPError).status, 400, sent);
  }
  for (const text of ["a\xffb", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\x80"]) {
    assertEquals(await readText(bodyOf(field("a", text))), 400, text);
    assertEquals(await readText(bodyOf(file("a", "f", text))), [["a", "f", text]], text);
  }
  assertEquals(await readText(bodyOf(field("a", utf8("\ufffd")))), [["a", undefined, "\ufffd"]]);
});

Deno.test("The name of a file loses folders, control characters and text direction marks", () => {
  const table: [sent: string, name: string][] = [
    ["cat.png", "cat.png"],
    ["", ""],
    ["../../etc/passwd", "passwd"],
    ["/etc/passwd", "passwd"],
    ["C:\\Users\\me\\cat.png", "cat.png"],
    ["..\\..\\cat.png", "cat.png"],
    ["..", ""],
    [".", ""],
    ["../", ""],
    ["a/..", ""],
    ["...", "..."],
    [".htaccess", ".htaccess"],
    ["cat.png\0.exe", "cat.png.exe"],
    ["a%0D%0Ab", "ab"],
    ["\x01\x1b[31mred\x7f", "[31mred"],
    [utf8("\u202ecod.exe"), "cod.exe"],
    [utf8("\u0085x\u2066y"), "xy"],
    [utf8("Ünïcødé 😀.txt"), "Ünïcødé 😀.txt"],
    [" a .txt ", "a .txt"],
    ["a%2Fb", "a%2Fb"],
    ["a%22b", 'a"b'],
    ["CON", "CON"],
  ];
  for (const [sent, name] of table) {
    assertEquals(headOf(`name="f"; filename="${sent}"`).file?.name, name, JSON.stringify(sent));
  }
});

Deno.test("A part is a file if it has a file name, whatever its type", () => {
  assertEquals(headOf("name=a", "application/octet-stream").file, undefined);
  assertEquals(headOf('name=a; filename=""').file, { name: "", type: "application/octet-stream" });
  assertEquals(headOf("name=a; filename=b", "image/png").file, { name: "b", type: "image/png" });
});

Deno.test("The type of a file is its media type without parameters", () => {
  const table: [sent: string, type: string][] = [
    ["text/plain", "text/plain"],
    [" Text/HTML; charset=utf-8 ", "text/html"],
    ["image/svg+xml", "image/svg+xml"],
    ["", "application/octet-stream"],
    ["text", "application/octet-stream"],
    ["/", "application/octet-stream"],
    ["<script>/x", "application/octet-stream"],
  ];
  for (const [sent, type] of table) assertEquals(headOf("name=a; filename=b", sent).file?.type, type, sent);
});

Deno.test("A file name in the notation of RFC 8187 counts if there is no other", () => {
  assertEquals(headOf("name=a; filename*=utf-8''%e2%82%ac%20rates.txt").file?.name, "€ rates.txt");
  assertEquals(headOf("name=a; filename*=UTF-8'en'..%2F..%2Fetc%2Fpasswd").file?.name, "passwd");
  assertEquals(headOf("name=a; filename=plain; filename*=utf-8''other").file?.name, "plain");
  assertThrows(() => headOf("name=a; filename*=utf-8''%e2%82"), HTTPError);
});

Deno.test("A header that makes patterns backtrack is refused quickly", () => {
  const hostile = ['"', "\\", '\\"', "; ", ";a=", ';a="', " ", "\t", "=", "%22", "''"];
  for (const piece of hostile) {
    assertThrows(() => headOf(`name=a; filename="${piece.repeat(8_000 / piece.length)}`), HTTPError);
  }
});
