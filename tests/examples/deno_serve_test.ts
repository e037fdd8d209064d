// The programs that the documents show, served by `deno serve`.

import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { freePorts } from "../support/free_ports.ts";
import { inFolder, programs, startDeno, writeFiles } from "./readme.ts";

const EXAMPLES = join(import.meta.dirname!, "..", "..", "examples");

/** Serves a folder's `main.ts` at a port, gets a path of it, and stops it. */
async function serveAndStop(path: string, cwd: string, env: Record<string, string> = {}): Promise<void> {
  const port = freePorts(1)[0]!;
  await using program = await startDeno(["serve", "-A", "--port", `${port}`, "main.ts"], cwd, env);
  const line = await program.stderr.next(/Listening on http:\/\/[^:]+:(\d+)/);
  assertEquals(Number(line[1]), port, program.stderr.text);
  const url = `http://127.0.0.1:${port}${path}`;
  const reply = await fetch(url);
  await reply.body?.cancel();
  assertEquals(reply.status, 200);
  program.signal("SIGTERM");
  await program.end();
  await assertRejects(() => fetch(url), TypeError);
}

Deno.test("deno serve serves main.ts of the README on the given port, and SIGTERM ends it", () =>
  inFolder(async (folder) => {
    await writeFiles(folder, programs());
    await serveAndStop("/books/1", folder);
  }));

for (
  const [example, path] of [["bookshop", "/shops/corner/books"], ["chat", "/"], ["orders", "/orders/events"]] as const
) {
  Deno.test(`deno serve serves main.ts of the example ${example} on the given port, and SIGTERM ends it`, () =>
    inFolder((folder) =>
      serveAndStop(path, join(EXAMPLES, example), {
        BOOKSHOP_DATABASE: join(folder, "bookshop.sqlite"),
        CHAT_PICTURES: join(folder, "pictures"),
        WEBFW_TOPICS: join(folder, "topics.sqlite"),
      })
    ));
}
