import { assertEquals, assertRejects } from "@std/assert";
import { CannotOpenError } from "../../../../src/topics/topic_errors.ts";
import { openStore } from "../../../../src/topics/kv/open_store.ts";
import { logOf } from "../../../contract/store_fixture.ts";

Deno.test("What is wrong with a file is told at once, also where its client opens it all the same", async () => {
  let closed = 0;
  const kv = {
    getMany: () => Promise.reject(new Error("unable to open database file\n\nCaused by: ...")),
    close: () => closed++,
  };
  const original = Object.getOwnPropertyDescriptor(Deno, "openKv")!;
  // As npm's client does with a file that cannot be written.
  Object.defineProperty(Deno, "openKv", { ...original, get: () => () => Promise.resolve(kv) });
  const folder = await Deno.makeTempDir({ prefix: "webfw_topics_" });
  const store = openStore({ path: "topics.sqlite", folder });
  try {
    const cure = "it cannot be read and written, name a file in a folder that can";
    await assertRejects(() => store.bounds(logOf("orders")), CannotOpenError, cure);
    assertEquals(closed, 1);
  } finally {
    Object.defineProperty(Deno, "openKv", original);
    await store.close();
    await Deno.remove(folder, { recursive: true });
  }
});
