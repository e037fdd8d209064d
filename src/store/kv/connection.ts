/** A connection to a database of Deno KV. */
import { isBusyFile } from "../cannot_open.ts";
import { StoreConnection, type StoreConnectionOptions } from "../store_connection.ts";
import type { KvEngine } from "./engine.ts";
import { INCARNATION_KEY } from "./keys.ts";

/** How a connection is kept up. */
export type ConnectionOptions = Omit<StoreConnectionOptions<KvEngine>, "probe" | "isBusy">;

/** A connection to a database. */
export class Connection extends StoreConnection<KvEngine> {
  /** Opens nothing yet. */
  constructor(options: ConnectionOptions) {
    super({ ...options, probe: (engine) => engine.get([INCARNATION_KEY]), isBusy: isBusyFile });
  }
}
