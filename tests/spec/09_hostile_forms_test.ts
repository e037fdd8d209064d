// Section 9 of the contract, as a hostile client tries it: whatever a form says, it costs a
// constant, reaches no prototype, and is no error of the server's.

import { assert, assertEquals } from "@std/assert";
import { App, Form, UploadFile } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { bodyOf, BOUNDARY, field, file, latin1, utf8 } from "../unit/http/support/multipart_body.ts";
import { Random } from "../unit/support/random.ts";
import { CapturedLog } from "./support/captured_log.ts";

const MULTIPART = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
const URLENCODED = { "content-type": "application/x-www-form-urlencoded" };

/** A schema with something of every kind. */
interface Tree {
  name?: string | undefined;
  children?: Tree[] | undefined;
}
const Tree: v.GenericSchema<Tree> = v.object({
  name: v.optional(v.string()),
  children: v.optional(v.array(v.lazy(() => Tree))),
});
const Everything = v.object({
  a: v.optional(v.union([v.string(), v.array(v.string()), v.looseObject({})])),
  n: v.optional(v.number()),
  list: v.optional(v.array(v.object({ x: v.optional(v.string()) }))),
  record: v.optional(v.record(v.string(), v.unknown())),
  any: v.optional(v.any()),
  file: v.optional(UploadFile),
  files: v.optional(v.array(UploadFile)),
  tree: v.optional(Tree),
});

/** An app that accepts everything, and what it received. */
class Target implements AsyncDisposable {
  readonly client: TestClient;
  taken: v.InferOutput<typeof Everything> | undefined;

  constructor() {
    const app = new App();
    app.post("/", { form: Form(Everything) }, async (_request, { form }) => {
      this.taken = form;
      return "taken";
    });
    this.client = new TestClient(app);
  }

  async multipart(body: string | Uint8Array<ArrayBuffer>, headers: HeadersInit = MULTIPART): Promise<number> {
    return (await this.client.post("/", { body: typeof body === "string" ? latin1(body) : body, headers })).status;
  }

  async urlencoded(body: string): Promise<number> {
    return (await this.client.post("/", { body, headers: URLENCODED })).status;
  }

  /** A name with a value, sent in both ways. */
  async named(name: string): Promise<number[]> {
    const escaped = name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
    return [
      await this.urlencoded(`${encodeURIComponent(name.toWellFormed())}=x`),
      await this.multipart(bodyOf(field(utf8(escaped.toWellFormed()), "x"))),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

Deno.test("Ten thousand parts are 413 after the first thousand, whether empty, texts or files", async () => {
  await using target = new Target();
  for (const part of [field("a", ""), field("a", "x"), file("files", "f", ""), file("files", "", "")]) {
    const parts = `${part}\r\n--${BOUNDARY}\r\n`.repeat(9_999) + part;
    assertEquals(await target.multipart(bodyOf(parts)), 413);
  }
  assertEquals(await target.urlencoded("a=&".repeat(100_000)), 413);
  assertEquals(await target.urlencoded("&".repeat(1_000_000)), 200);
});

Deno.test("As many parts as there may be, each with headers as long as they may be, are taken", async () => {
  await using target = new Target();
  const padded = `X-Padding: ${"x".repeat(8_000)}\r\n${field("record[k]", "x")}`;
  assertEquals(await target.multipart(bodyOf(...Array.from({ length: 1_000 }, () => padded))), 200);
});

Deno.test("A thousand small files that together are too large for the memory are taken", async () => {
  await using target = new Target();
  const part = file("files", "f", "x".repeat(3_000));
  assertEquals(await target.multipart(bodyOf(...Array.from({ length: 1_000 }, () => part))), 200);
  assertEquals(target.taken?.files?.length, 1_000);
});

Deno.test("Names nest to a depth that no form has, and no further", async () => {
  await using target = new Target();
  assertEquals(await target.named(`any${"[b]".repeat(31)}`), [200, 200]);
  assertEquals(await target.named(`any${"[b]".repeat(32)}`), [400, 400]);
  assertEquals(await target.urlencoded(`any${"[b]".repeat(300_000)}=x`), 400);
  assertEquals(await target.urlencoded(`any${"[b]".repeat(300_000)}[=x`), 422);
  assertEquals(await target.urlencoded(`any${"[".repeat(500_000)}${"]".repeat(500_000)}=x`), 422);
  const depth = (count: number) => `tree${"[children][0]".repeat(count)}[name]=x`;
  assertEquals([await target.urlencoded(depth(15)), await target.urlencoded(depth(16))], [200, 400]);
});

Deno.test("A thousand names that nest as deeply as they may are taken", async () => {
  await using target = new Target();
  const names = Array.from({ length: 1_000 }, (_, index) => `any${`[${index}]`.repeat(31)}=x`);
  assertEquals(await target.urlencoded(names.join("&")), 200);
});

Deno.test("A place in a list makes no list of that length", async () => {
  await using target = new Target();
  assertEquals(await target.urlencoded("list[999999999][x]=b&list[0][x]=a"), 200);
  assertEquals(target.taken?.list, [{ x: "a" }, { x: "b" }]);
  for (const place of ["4294967296", "1e9", "-1", "0x1", "01", "9".repeat(100), "length", ""]) {
    const status = await target.urlencoded(`list[${place}][x]=a`);
    assert(status === 422 || status === 200, `${place} ${status}`);
    assert((target.taken?.list?.length ?? 0) <= 2);
  }
});

Deno.test("Names of members of prototypes are names like any other", async () => {
  await using target = new Target();
  const names = [
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "valueOf",
    "then",
    "toJSON",
    "length",
  ];
  for (const name of names) {
    const nested = [
      name,
      `${name}[polluted]`,
      `${name}[prototype][polluted]`,
      `any[${name}]`,
      `any[${name}][polluted]`,
    ];
    nested.push(
      `record[${name}]`,
      `record[${name}][polluted]`,
      `a[${name}][polluted]`,
      `list[0][${name}]`,
      `list[${name}]`,
    );
    for (const path of nested) {
      for (const status of await target.named(path)) assert(status === 200 || status === 422, `${path} ${status}`);
      assertEquals(await target.multipart(bodyOf(file(path, "f", "x"))) < 500, true, path);
      assertEquals(({} as Record<string, unknown>).polluted, undefined, path);
      assertEquals(Object.getPrototypeOf(target.taken ?? {}), Object.prototype, path);
    }
  }
});

Deno.test("Malformed names are taken literally, or refused", async () => {
  await using target = new Target();
  const names = [
    "",
    "[",
    "]",
    "[]",
    "[a]",
    "a[",
    "a]",
    "a[]]",
    "a[][]",
    "a[b]c",
    "a[[b]]",
    "a[]b",
    "a.b",
    "a[b",
    "\0",
    '"',
    "\r\n",
  ];
  names.push("a\r\nb", "x".repeat(7_000), "\ud800", "é".repeat(3_000), ";", 'a"; filename="b', "%", "%5B%5D", "a[\0]");
  for (const name of names) {
    for (const status of await target.named(name)) {
      assert(status === 200 || status === 422, `${JSON.stringify(name)} ${status}`);
    }
  }
  assertEquals(await target.multipart(bodyOf(field("x".repeat(10_000), "x"))), 400);
  assertEquals(await target.urlencoded(`${"x".repeat(1_000_000)}=x`), 200);
});

Deno.test("A field that is both a value and an object, or a text and a file, is a 422", async () => {
  await using target = new Target();
  for (
    const body of ["n=1&n[x]=2", "n=1&n=2", "list=x", "list[0]=x", "file=x", "files=x", "tree=x", "tree[children]=x"]
  ) {
    assertEquals(await target.urlencoded(body), 422, body);
  }
  assertEquals(await target.multipart(bodyOf(file("n", "f", "1"))), 422);
  assertEquals(await target.multipart(bodyOf(field("file", "x"), file("file", "f", "x"))), 422);
});

Deno.test("A boundary of any kind is taken, or a 400", async () => {
  await using target = new Target();
  const boundaries = [
    "b",
    "'()+_,-./:=?",
    "a b",
    "-".repeat(70),
    "--",
    "b".repeat(70),
    "b".repeat(71),
    "b".repeat(60_000),
    "é",
    "\\",
    "%0d%0a",
    "$&",
    ".*",
    "[",
  ];
  for (const boundary of boundaries) {
    const body = bodyOf(field("a", "x")).replaceAll(BOUNDARY, () => boundary);
    const status = await target.multipart(body, { "content-type": `multipart/form-data; boundary="${boundary}"` });
    assert(status === 200 || status === 400, `${boundary} ${status}`);
  }
  const twice = [
    `boundary=${BOUNDARY}; boundary=other`,
    `boundary=other; boundary=${BOUNDARY}`,
    `boundary*=utf-8''${BOUNDARY}`,
  ];
  const statuses = [];
  for (const parameters of twice) {
    statuses.push(
      await target.multipart(bodyOf(field("a", "x")), { "content-type": `multipart/form-data; ${parameters}` }),
    );
  }
  assertEquals(statuses, [200, 400, 400]);
});

Deno.test("Texts are UTF-8 whatever charset a part declares", async () => {
  await using target = new Target();
  const typed = (header: string, value: string) =>
    `Content-Disposition: form-data; name="a"\r\n${header}\r\n\r\n${value}`;
  const table: [part: string, value: string][] = [
    [typed("Content-Type: text/plain; charset=utf-16le", "x\0"), "x\0"],
    [typed("Content-Type: text/plain; charset=shift_jis", "x"), "x"],
    [typed("Content-Transfer-Encoding: base64", "eA=="), "eA=="],
    [typed("Content-Transfer-Encoding: quoted-printable", "=41"), "=41"],
    [typed("Content-Encoding: gzip", "\x1f"), "\x1f"],
    [
      typed("Content-Type: multipart/mixed; boundary=inner", "--inner\r\n\r\nx\r\n--inner--"),
      "--inner\r\n\r\nx\r\n--inner--",
    ],
    [typed("Content-Length: 999999", "x"), "x"],
  ];
  for (const [part, value] of table) {
    assertEquals(await target.multipart(bodyOf(field("_charset_", "utf-7"), part)), 200, part);
    assertEquals(target.taken?.a, value, part);
  }
  for (const [header, value] of [["charset=shift_jis", "\x83\x5c"], ["charset=iso-8859-1", "\xe9"]] as const) {
    assertEquals(await target.multipart(bodyOf(typed(`Content-Type: text/plain; ${header}`, value))), 400, header);
  }
});

Deno.test("Bodies that are broken at random are 200, 400 or 422, and never an error of the server's", async () => {
  using log = new CapturedLog();
  await using target = new Target();
  const random = new Random(99);
  const pieces = [
    "\r\n",
    "--",
    BOUNDARY,
    `\r\n--${BOUNDARY}`,
    `--${BOUNDARY}--`,
    ":",
    ";",
    '"',
    "\\",
    "[",
    "]",
    "\0",
    "\xff",
    "name=",
    'filename="',
    "Content-Disposition: form-data; ",
    "%0d",
    "=",
    " ",
  ];
  const valid = bodyOf(
    field("a", "1"),
    file("file", "f", "content"),
    field("any[x][y]", "2"),
    file("files", "g", ""),
    field("n", "5"),
  );
  const seen = new Set<number>();
  for (let round = 0; round < 200; round++) {
    let body = valid;
    for (let change = 0; change <= random.below(4); change++) {
      const [place, length] = [random.below(body.length), random.oneIn(2) ? random.below(20) : 0];
      body = body.slice(0, place) + (random.oneIn(4) ? "" : random.pick(pieces)) + body.slice(place + length);
    }
    const status = await target.multipart(body);
    seen.add(status);
    assert([200, 400, 422].includes(status), `${status} for ${JSON.stringify(body)}`);
  }
  assertEquals(seen.size, 3);
  assertEquals(log.text, "");
});
