import { openStore } from "../../src/store/kv/kv_store.ts";
import type { TopicStore } from "../../src/store/topic_store.ts";
import type { StoreKind } from "../contract/store_fixture.ts";
import { Denokv } from "./denokv.ts";

/** A database that nodes share, by the real server. */
export const DATABASE: StoreKind = {
  name: "a denokv",
  prepare: async (now) => {
    const server = await Denokv.start();
    const stores: TopicStore[] = [];
    return {
      open: () => {
        const store = openStore({ url: new URL(server.url), token: server.token }, now);
        stores.push(store);
        return store;
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all(stores.map((store) => store.close()));
        await server[Symbol.asyncDispose]();
      },
    };
  },
};
