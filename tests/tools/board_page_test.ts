// The page of the board that is shipped is that of its source, and small.

import { assert, assertEquals } from "@std/assert";
import { compressedSize, MAX_COMPRESSED, PAGE_JSON, pageJson } from "../../dev/tools/board.ts";

Deno.test("src/board/page.json is what `deno task board` writes", async () => {
  assertEquals(await Deno.readTextFile(PAGE_JSON) === await pageJson(), true, "run deno task board");
});

Deno.test(`the page of the board has at most ${MAX_COMPRESSED} bytes, compressed`, async () => {
  const size = await compressedSize(await Deno.readTextFile(PAGE_JSON));
  assert(size <= MAX_COMPRESSED, `it has ${size}`);
});
