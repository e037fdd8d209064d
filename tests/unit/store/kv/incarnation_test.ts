// Callers that wait for the incarnation of a database.

import { assertEquals, assertRejects } from "@std/assert";
import type { KvEngine } from "../../../../src/store/kv/engine.ts";
import { KvStore } from "../../../../src/store/kv/kv_store.ts";
import { append, logOf, messageOf } from "../../../contract/store_fixture.ts";

Deno.test("An abandoned append fails at once, also before the incarnation of the database is known", async () => {
  const asked = Promise.withResolvers<void>();
  const get = () => {
    asked.resolve();
    return new Promise<never>(() => {});
  };
  const engine = { get, close: () => {} } as Partial<KvEngine> as KvEngine;
  const store = new KvStore({ name: "silent", interval: 50, requestTimeout: 10, open: () => Promise.resolve(engine) });
  const giveUp = new AbortController();
  const options = { session: crypto.randomUUID(), sequence: 0, signal: giveUp.signal };
  const appending = append(store, logOf("orders"), [messageOf(1)], options);
  await asked.promise;
  const reason = new Error("enough");
  giveUp.abort(reason);
  assertEquals(await assertRejects(() => appending), reason);
  await store.close();
});
