import { assertEquals, assertRejects } from "@std/assert";
import { CannotOpenError } from "../../../../src/store/topic_store.ts";
import { openStore } from "../../../../src/store/kv/kv_store.ts";
import { ChildProgram } from "../../../spec/support/child_program.ts";
import { logOf } from "../../../contract/store_fixture.ts";

Deno.test("A fault of a file is reported at once, also if the client opens the file", async () => {
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

Deno.test("Where npm's client cannot be loaded, a database on the network is an error with its cure", async () => {
  const access = { version: 3, databaseId: crypto.randomUUID(), token: "access", expiresAt: "2999-01-01T00:00:00Z" };
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    return Response.json({ ...access, endpoints: [{ url: "/", consistency: "strong" }] });
  });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const module = new URL("../../../../src/store/kv/kv_store.ts", import.meta.url).href;
  await using program = await ChildProgram.start(
    `
    import { openStore } from "${module}";
    const store = openStore({ url: new URL("${url}"), token: "a token of a test" });
    await store.list().catch(({ name, message }) => console.log(name, message));
    await store.close();
  `,
    { command: ["run", "--no-npm"] },
  );
  const { stdout, stderr } = await program.end();
  const message = `CannotOpenError Cannot open the store of topics "${url}": npm's KV client cannot be loaded ` +
    "(npm specifiers were requested; but --no-npm is specified), let Deno download it, or run " +
    '"deno cache npm:@deno/kv@0.14.0" where the program is built';
  assertEquals([stdout, stderr], [`${message}\n`, ""]);
});
