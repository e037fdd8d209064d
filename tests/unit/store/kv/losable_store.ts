// Two stores, of which the database of one is lost.

import { SimulatedDatabase } from "../../../../dev/faults/simulation/database.ts";
import type { KvEngine, KvWrite } from "../../../../src/store/kv/engine.ts";
import { KvStore } from "../../../../src/store/kv/kv_store.ts";
import { Random } from "../../support/random.ts";

/** Two stores, and their databases. */
export interface Losable {
  readonly lost: KvEngine;
  /** It gives the same versions as the other one. */
  readonly anew: KvEngine;
  /** A store over the first database, until it is lost. */
  readonly store: KvStore;
  /** A store over the second one. */
  readonly elsewhere: KvStore;
  /** From now on both are over the second one. */
  readonly lose: () => void;
}

/**
 * A store whose database can be lost, and another store over the new database, which counts from
 * the beginning.
 */
export function losableStore(beforeWrite: (write: KvWrite) => Promise<void> = () => Promise.resolve()): Losable {
  const [lost, anew] = [newEngine(), newEngine()];
  let engine = lost;
  const options = { name: "simulated", interval: 50 };
  const store = new KvStore({
    ...options,
    open: () =>
      Promise.resolve({
        ...lost,
        get: (keys) => engine.get(keys),
        list: (from, to, limit) => engine.list(from, to, limit),
        write: async (write) => {
          await beforeWrite(write);
          return await engine.write(write);
        },
      }),
  });
  const elsewhere = new KvStore({ ...options, open: () => Promise.resolve(anew) });
  return { lost, anew, store, elsewhere, lose: () => void (engine = anew) };
}

/** A database of which each gives the same versions. */
function newEngine(): KvEngine {
  const database = new SimulatedDatabase(new Random(1));
  return {
    get: async (keys) => await database.get(keys),
    list: async (from, to, limit) => await database.list(from, to, limit),
    write: async (write) => await database.write(write),
    watch: async function* () {},
    close: () => {},
  };
}
