import { type SqlLocation, toLocation } from "../../src/store/location.ts";
import { openSqlStore } from "../../src/store/sql/sql_store.ts";
import type { TopicStore } from "../../src/store/topic_store.ts";
import type { StoreKind } from "../contract/store_fixture.ts";
import type { PostgresServer } from "./postgres_server.ts";

/** Stores over a server that a module of tests has started. Each test has a schema of its own. */
export function storesOver(name: string, server: () => PostgresServer): StoreKind {
  return {
    name,
    prepare: (now) => {
      const schema = `test_${crypto.randomUUID().slice(0, 8)}`;
      const location = toLocation({ url: server().url, schema }) as SqlLocation;
      const stores: TopicStore[] = [];
      return Promise.resolve({
        open: () => {
          const store = openSqlStore(location, now);
          stores.push(store);
          return store;
        },
        [Symbol.asyncDispose]: async () => {
          await Promise.all(stores.map((store) => store.close()));
          await server().query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
        },
      });
    },
  };
}
