/** The bookshop as its users start it: by the command line, over a socket. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { Webfw } from "../cli/webfw.ts";
import { ADA, GRACE, MIDDLEMARCH } from "./temporary_bookshop.ts";

const BOOKSHOP = join(import.meta.dirname!, "..", "..", "examples", "bookshop");

Deno.test("the command line serves the bookshop, which needs no permission but those that it names", async () => {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "bookshop_" }));
  const file = join(folder, "shop.sqlite");
  {
    await using webfw = await Webfw.start([
      "run",
      "main.ts:app",
      "--port=0",
      "--no-prompt",
      "--allow-net=127.0.0.1",
      "--allow-env=BOOKSHOP_DATABASE",
      `--allow-read=${file}`,
      `--allow-write=${file}`,
    ], {
      cwd: BOOKSHOP,
      env: { BOOKSHOP_DATABASE: file, WEBFW_CONFIG: Deno.env.get("WEBFW_CONFIG") ?? "" },
    });
    const books = `${await webfw.origin()}/shops/corner/books`;

    const found = await fetch(`${books}/${MIDDLEMARCH}`);
    assertEquals((await found.json()).title, "Middlemarch");

    const ordered = await fetch(books.replace("books", "orders"), {
      method: "POST",
      headers: { ...ADA, "content-type": "application/json" },
      body: JSON.stringify({
        lines: [{ isbn: MIDDLEMARCH, quantity: 1 }],
        address: { street: "12 High Street", postcode: "CV1 1AA", city: "Coventry" },
      }),
    });
    assertEquals(ordered.status, 201);
    assertEquals((await ordered.json()).total, 1099);

    const removed = await fetch(`${books}/${MIDDLEMARCH}`, { method: "DELETE", headers: GRACE });
    assertEquals([removed.status, await removed.text()], [204, ""]);
    const gone = await fetch(`${books}/${MIDDLEMARCH}`);
    assertEquals([gone.status, gone.headers.get("content-type")], [404, "application/problem+json"]);
    await gone.body?.cancel();

    await webfw.stderr.next(new RegExp(`GET /shops/corner/books/${MIDDLEMARCH} 404`));
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 0);
  }
  assertEquals((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name), ["shop.sqlite"]);
  await Deno.remove(folder, { recursive: true });
});
