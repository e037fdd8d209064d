import { join } from "node:path";
import { openSqlStore } from "../../../src/store/sql/sql_store.ts";
import type { TopicStore } from "../../../src/store/topic_store.ts";
import type { StoreKind } from "../store_fixture.ts";

/** Tables in a file of SQLite. */
export const SQLITE: StoreKind = {
  name: "SQLite",
  prepare: async (now) => {
    const folder = await Deno.makeTempDir({ prefix: "webfw_sqlite_" });
    const stores: TopicStore[] = [];
    return {
      open: () => {
        const store = openSqlStore({ sqlite: join(folder, "shop.sqlite") }, now);
        stores.push(store);
        return store;
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all(stores.map((store) => store.close()));
        await Deno.remove(folder, { recursive: true });
      },
    };
  },
};
