import { type PostgresLocation, toLocation } from "../../src/store/location.ts";
import { openSqlStore } from "../../src/store/sql/sql_store.ts";
import type { TopicStore } from "../../src/store/topic_store.ts";
import type { StoreFixture, StoreKind } from "../contract/store_fixture.ts";
import type { PostgresServer } from "./postgres_server.ts";

export interface StoresOptions {
  /** By default that of the server. */
  readonly url?: string;
  readonly schema?: string;
  readonly now?: () => number;
}

/** Opens stores over a server, each like another process, in a schema of their own. */
export class Stores implements StoreFixture {
  readonly schema: string;
  readonly #server: PostgresServer;
  readonly #location: PostgresLocation;
  readonly #now: (() => number) | undefined;
  readonly #stores: TopicStore[] = [];

  constructor(server: PostgresServer, { url = server.url, schema = newSchema(), now }: StoresOptions = {}) {
    this.#server = server;
    this.#location = toLocation({ url, schema }) as PostgresLocation;
    this.schema = schema;
    this.#now = now;
  }

  open(): TopicStore {
    const store = openSqlStore(this.#location, this.#now);
    this.#stores.push(store);
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await this.#server.query(`DROP SCHEMA IF EXISTS ${this.schema} CASCADE`);
  }
}

/** A schema that no other test of the server has. */
export function newSchema(): string {
  return `test_${crypto.randomUUID().slice(0, 8)}`;
}

/** Stores over a server that a module of tests has started. */
export function storesOver(name: string, server: () => PostgresServer): StoreKind {
  return { name, prepare: async (now) => new Stores(server(), { now }) };
}
