// The async context of code, without Node.js's module.

import { assertEquals, assertRejects } from "@std/assert";
import { AsyncLocalStorage } from "node:async_hooks";
import { captureContext, deferred, load, outsideRequests } from "../../../src/base/async_context.ts";
import { load as loadByClient } from "../../../src/client/sender.ts";

const store = new AsyncLocalStorage<string>();

Deno.test("what is outside of requests has no store, also where it runs more of that, and its result comes back", async () => {
  const seen = await store.run(
    "request",
    () => outsideRequests(async () => [store.getStore(), await load(async () => store.getStore())]),
  );
  assertEquals(seen, [undefined, undefined]);
});

Deno.test("a function that throws rejects its promise, and the next one runs", async () => {
  await assertRejects(
    () =>
      outsideRequests(() => {
        throw new Error("x");
      }),
    Error,
    "x",
  );
  assertEquals(await Promise.all([outsideRequests(() => 1), outsideRequests(() => 2)]), [1, 2]);
});

Deno.test("a context is kept, for one call or for several", async () => {
  const run = store.run("request", captureContext);
  const once = store.run("request", () => deferred((text: string) => `${text} ${store.getStore()}`));
  assertEquals([await run(() => store.getStore()), await run(() => store.getStore())], ["request", "request"]);
  assertEquals([await once("a"), await once("b")], ["a request", "a request"]);
});

Deno.test("a client that a handler uses loads its parts without the store, too", async () => {
  assertEquals(await store.run("request", () => loadByClient(async () => store.getStore())), undefined);
});
