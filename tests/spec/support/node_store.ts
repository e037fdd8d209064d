// A node's view of a store in memory that several nodes share, as of a database: each call can be
// delayed before it has its effect, and after it.

import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import type { RecordKey, RecordStore } from "../../../src/store/record_store.ts";
import type { TopicStore } from "../../../src/store/topic_store.ts";

/** A store in memory that its nodes do not close. */
export class SharedMemory extends MemoryStore {
  override async close(): Promise<void> {}

  /** Closes it. */
  async end(): Promise<void> {
    await super.close();
  }
}

/** A call of a store: the key is that of a record, or the name of a log. */
export interface StoreCall {
  readonly method: string;
  readonly key: RecordKey;
}

/** Called before each call has its effect, and before its answer. */
export type CallHook = (call: StoreCall, moment: "before" | "after") => Promise<void>;

/** Makes the store of one node. It takes part in transactions, each of which commits in the call. */
export function nodeStore(shared: SharedMemory, hook: CallHook): TopicStore {
  async function through<Result>(
    method: string,
    key: RecordKey,
    call: () => Promise<Result>,
  ): Promise<Result> {
    await hook({ method, key }, "before");
    const result = await call();
    await hook({ method, key }, "after");
    return result;
  }
  return {
    capabilities: shared.capabilities,
    bounds: (log) => through("bounds", [log.name], () => shared.bounds(log)),
    append: (log, messages, options) => through("append", [log.name], () => shared.append(log, messages, options)),
    appendIn: async (_transaction, log, message) => void await shared.append(log, [message]),
    read: (log, after, limits) => through("read", [log.name], () => shared.read(log, after, limits)),
    seek: (log, time) => through("seek", [log.name], () => shared.seek(log, time)),
    watch: (log, onChange) => shared.watch(log, onChange),
    openRecords: async (): Promise<RecordStore> => {
      const records = await shared.openRecords();
      return {
        get: (key) => through("get", key, () => records.get(key)),
        set: (key, value, options) => through("set", key, () => records.set(key, value, options)),
        delete: (key, options) => through("delete", key, () => records.delete(key, options)),
        async *list(prefix) {
          await hook({ method: "list", key: prefix }, "before");
          for await (const record of records.list(prefix)) {
            yield record;
            await hook({ method: "list", key: prefix }, "after");
          }
        },
      };
    },
    close: async () => {},
  };
}
