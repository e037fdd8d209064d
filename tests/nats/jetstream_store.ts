import { openJetStream } from "../../src/store/jetstream/jetstream_store.ts";
import { type JetStreamLocation, toLocation } from "../../src/store/location.ts";
import type { TopicStore } from "../../src/store/topic_store.ts";
import type { StoreFixture, StoreKind } from "../contract/store_fixture.ts";

/** Opens stores over servers, each like another process. */
export class Stores implements StoreFixture {
  readonly #url: string;
  /** What the names of streams and subjects begin with. */
  readonly prefix: string;
  readonly #stores: TopicStore[] = [];

  /** Without a prefix, the stores share nothing with others of these servers. */
  constructor(url: string, prefix = `test-${crypto.randomUUID().slice(0, 8)}`) {
    this.#url = url;
    this.prefix = prefix;
  }

  open(): TopicStore {
    const store = openJetStream(toLocation({ url: this.#url, prefix: this.prefix }) as JetStreamLocation);
    this.#stores.push(store);
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }
}

/** Stores over servers that a module of tests has started. */
export function storesOver(name: string, servers: () => { readonly url: string }): StoreKind {
  return { name, hasOwnClock: true, countsMore: true, prepare: async () => new Stores(servers().url) };
}
