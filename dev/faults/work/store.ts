// The stores that nodes share in runs of consumers and crons, and what can be done to them.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Denokv, hasDenokv } from "../../../tests/denokv/denokv.ts";
import { hasNats, NatsServer } from "../../../tests/nats/nats_server.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "../../../tests/postgres/postgres_server.ts";
import { Relay, type WireState } from "../../../tests/support/relay.ts";

/** Where a store is, for the application of a node. */
export type Location = string | { readonly url: string; readonly token: string };

/** What holds a store: a server, or a file, which cannot be killed. */
export interface Holder {
  freeze(): void;
  thaw(): void;
  kill?(): Promise<void>;
  startAgain?(): Promise<void>;
}

/** A store that several nodes share. */
export interface SharedStore extends AsyncDisposable {
  readonly name: string;
  readonly holders: readonly Holder[];
  /** The ports of its servers. */
  readonly ports: readonly number[];
  /** How long nodes may need to use it again after all is well, in milliseconds. */
  readonly recovery: number;
  /** How exactly nodes know its time, in milliseconds. */
  readonly precision: number;
  /** Where it is, if its servers are reached at these ports. */
  locate(ports: readonly number[]): Location;
}

/** A kind of store. */
export interface StoreKind {
  readonly name: string;
  /** Why it cannot be used on this machine. */
  readonly missing: string | undefined;
  start(folder: string): Promise<SharedStore>;
}

/** All kinds of stores. */
export const STORES: readonly StoreKind[] = [
  {
    name: "file",
    missing: undefined,
    start: async (folder) => {
      const path = join(folder, "topics.sqlite");
      const file = new LockableFile(path);
      return {
        // Deno waits longer and longer for the right to write.
        ...{ name: "file", holders: [file], ports: [], recovery: 4_000, precision: 50, locate: () => path },
        [Symbol.asyncDispose]: async () => file.close(),
      };
    },
  },
  {
    name: "denokv",
    missing: hasDenokv ? undefined : 'there is no denokv, run "deno task denokv:install"',
    start: async () => {
      const server = await Denokv.start();
      return {
        // Its replies tell whole seconds, which may be two seconds old.
        ...{ name: "denokv", holders: [server], ports: [server.port], recovery: 4_000, precision: 2_100 },
        locate: ([port]) => ({ url: `http://127.0.0.1:${port}`, token: server.token }),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: "nats",
    missing: hasNats ? undefined : 'there is no nats-server, run "deno task nats:install"',
    start: async () => {
      const cluster = await NatsServer.startCluster();
      return {
        // The servers elect another leader after 4 to 9 seconds.
        ...{ name: "nats", holders: cluster.servers, ports: cluster.servers.map(({ port }) => port) },
        // A busy machine replies late.
        ...{ recovery: 15_000, precision: 500 },
        locate: (ports) => ports.map((port) => `nats://127.0.0.1:${port}`).join(","),
        [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: "postgres",
    missing: hasPostgres ? undefined : POSTGRES_MISSING,
    start: async () => {
      const server = await PostgresServer.start();
      return {
        // A connection that was cut shows after the 3 seconds of a request.
        ...{ name: "postgres", holders: [server], ports: [server.port], recovery: 5_000, precision: 500 },
        locate: ([port]) => `postgres://postgres@127.0.0.1:${port}/postgres`,
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: "sqlite",
    missing: undefined,
    start: async (folder) => {
      const path = join(folder, "shop.sqlite");
      const file = new LockableFile(path);
      return {
        ...{ name: "sqlite", holders: [file], ports: [], recovery: 4_000, precision: 50 },
        locate: () => `sqlite:${path}`,
        [Symbol.asyncDispose]: async () => file.close(),
      };
    },
  },
];

/** The file of a store, to which another program may keep the right to write. */
class LockableFile implements Holder {
  readonly #path: string;
  #database: DatabaseSync | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Blocks all writes. */
  freeze(): void {
    this.#database = new DatabaseSync(this.#path);
    this.#database.exec("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE");
  }

  thaw(): void {
    this.close();
  }

  close(): void {
    this.#database?.close();
    this.#database = undefined;
  }
}

/** How a node's way to its store can be broken. */
export type Break = Exclude<WireState, "whole">;

/** The way of one node to its store. */
export class Wire implements Disposable {
  /** Where the node finds the store. */
  readonly location: Location;
  readonly #relays: readonly Relay[];

  constructor({ ports, locate }: SharedStore) {
    this.#relays = ports.map((port) => new Relay(port));
    this.location = locate(this.#relays.map(({ port }) => port));
  }

  /** Breaks it until it is mended. */
  break(state: Break): void {
    for (const relay of this.#relays) relay.set(state);
  }

  mend(): void {
    for (const relay of this.#relays) {
      // What a connection has lost cannot come later: it must not go on with what comes next.
      if (relay.state === "lossy") relay.cutOpen();
      relay.set("whole");
    }
  }

  [Symbol.dispose](): void {
    for (const relay of this.#relays) relay[Symbol.dispose]();
  }
}
