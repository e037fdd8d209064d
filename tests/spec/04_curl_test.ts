// Forms and files as curl sends and takes them.

import { assertEquals } from "@std/assert";
import { App, file, Form, Stream, UploadFile } from "@webfw/core";
import * as v from "valibot";
import { Serving } from "./support/serving.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";

/** Runs curl, and returns its output, or undefined if it is not installed. */
async function curl(...args: string[]): Promise<string | undefined> {
  try {
    const { code, stdout, stderr } = await new Deno.Command("curl", { args: ["-sS", ...args] }).output();
    assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
    return new TextDecoder().decode(stdout);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound) || Deno.env.get("WEBFW_REQUIRE_ALL") === "1") throw error;
    console.warn("Left out: this machine has no curl");
    return undefined;
  }
}

function serving(folder: TemporaryFolder): App {
  const app = new App();
  const Book = v.object({
    title: v.string(),
    tags: v.optional(v.array(v.string()), []),
    cover: v.optional(UploadFile),
  });
  app.post("/books", { form: Form(Book) }, async (_request, { form: { title, tags, cover } }) => [
    title,
    tags,
    cover ? [cover.name, cover.type, cover.size] : null,
  ]);
  app.put("/objects/{key}", { body: Stream() }, async (_request, { key, body }) => {
    let size = 0;
    for await (const chunk of body) size += chunk.length;
    return [key, size];
  });
  app.post("/small", { form: Form(Book), limits: { multipart: 100_000 } }, async () => 1);
  app.get("/files/{name...}", async (_request, { name }) => await file(name, { root: folder.path }));
  return app;
}

Deno.test("curl sends forms with -F and -d, files with -T, and stops when they are refused", async () => {
  await using folder = await TemporaryFolder.make();
  const large = folder.within('a "large" é.bin');
  await Deno.writeFile(large, new Uint8Array(3_000_000));
  await using server = await Serving.start(serving(folder));
  const { origin } = server;
  const table: [args: string[], printed: string][] = [
    [["-F", "title=Emma", "-F", "tags=a", "-F", "tags=b"], '["Emma",["a","b"],null]'],
    [
      ["--form-string", "title=É ü;x", "-F", `cover=@"${large.replaceAll('"', '\\"')}";type=image/png`],
      '["É ü;x",[],["a \\"large\\" é.bin","image/png",3000000]]',
    ],
    [["-F", "title=x", "-F", "cover=@-;filename=../../piped"], '["x",[],["piped","application/octet-stream",0]]'],
    [["-d", "title=Emma&tags=a", "--data-urlencode", "tags=b c&d"], '["Emma",["a","b c&d"],null]'],
    [
      [
        "-H",
        "Transfer-Encoding: chunked",
        "-F",
        "title=x",
        "-F",
        `cover=@"${large.replaceAll('"', '\\"')}";filename=c`,
      ],
      '["x",[],["c","application/octet-stream",3000000]]',
    ],
  ];
  for (const [args, printed] of table) assertEquals(await curl(...args, `${origin}/books`) ?? printed, printed);
  assertEquals(await curl("-T", large, `${origin}/objects/a`) ?? '["a",3000000]', '["a",3000000]');
  const refused = ["-w", "%{http_code} %{size_upload}", "-o", folder.within("reply"), "-F", "title=x"];
  const sent = await curl(...refused, "-F", `cover=@"${large.replaceAll('"', '\\"')}"`, `${origin}/small`) ?? "413 0";
  assertEquals(sent.split(" ")[0], "413");
});

Deno.test("curl resumes an interrupted transfer, and asks whether a file has changed", async () => {
  await using folder = await TemporaryFolder.make();
  await folder.write("a.txt", "0123456789");
  await using server = await Serving.start(serving(folder));
  const url = `${server.origin}/files/a.txt`;
  const target = await folder.write("partial", "0123");
  if (await curl("-C", "-", "-o", target, url) === undefined) return;
  assertEquals(await Deno.readTextFile(target), "0123456789");
  assertEquals(await curl("-r", "2-4", url), "234");
  assertEquals(await curl("-I", "-o", target, "-w", "%{http_code} %header{content-length}", url), "200 10");
  const etags = folder.within("etags");
  const status = ["-o", target, "-w", "%{http_code}", "--etag-save", etags];
  assertEquals(await curl(...status, url), "200");
  assertEquals(await curl(...status, "--etag-compare", etags, url), "304");
});
