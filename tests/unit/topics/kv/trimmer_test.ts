// Trimming does not hold up whoever closes the store.

import { Connection } from "../../../../src/topics/kv/connection.ts";
import type { KvEngine } from "../../../../src/topics/kv/engine.ts";
import { Epoch } from "../../../../src/topics/kv/epoch.ts";
import { KvLogReader } from "../../../../src/topics/kv/log_reader.ts";
import { Trimmer } from "../../../../src/topics/kv/trimmer.ts";

Deno.test("A round of trimming ends when it is closed, also where the database does not answer", async () => {
  const asked = Promise.withResolvers<void>();
  const engine = {
    get: () => {
      asked.resolve();
      return new Promise<never>(() => {});
    },
    close: () => {},
  } as Partial<KvEngine> as KvEngine;
  const open = () => Promise.resolve(engine);
  const connection = new Connection({ name: "a silent one", open, deadline: 1, patience: Infinity });
  const reader = new KvLogReader(connection, new Epoch(connection), Date.now);
  const trimmer = new Trimmer({ connection, reader, interval: 1, now: Date.now });
  // The trimmer's own timer keeps no program alive.
  const keeping = setInterval(() => {}, 1_000);
  trimmer.start();
  await asked.promise;
  await trimmer.close();
  await trimmer.release();
  await connection.close();
  clearInterval(keeping);
});
