import { join } from "node:path";
import { type KvEngine, toEngine } from "../../../src/store/kv/engine.ts";
import { KvStore } from "../../../src/store/kv/kv_store.ts";
import { openNpmFile, toNpmEngine } from "../../../src/store/kv/npm_client.ts";
import type { StoreKind } from "../store_fixture.ts";

/** Opens a file. */
type OpenFile = (path: string) => Promise<KvEngine>;

/** A file, by the client that Deno brings. */
export const FILE: StoreKind = fileStore("a file", async (path) => toEngine(await Deno.openKv(path)));

/** A file, by the client of npm. */
export const NPM_FILE: StoreKind = fileStore(
  "a file by npm's client",
  async (path) => toNpmEngine(await openNpmFile(path)),
);

function fileStore(name: string, openFile: OpenFile): StoreKind {
  return {
    name,
    prepare: async (now) => {
      const folder = await Deno.makeTempDir({ prefix: "webfw_topics_" });
      const path = join(folder, "topics.sqlite");
      const stores: KvStore[] = [];
      return {
        open: () => {
          const store = new KvStore({ name: path, interval: 50, now, open: () => openFile(path) });
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
}
