/** The database file, and the connections that are lent to requests. */
import { dependency, stateType } from "@webfw/core";
import { Connection } from "./connection.ts";
import { seed } from "./seed.ts";
import { createTables } from "./tables.ts";

/** A database file with its connections. */
export class Database {
  readonly #file: string;
  readonly #idle: Connection[] = [];

  /** Opens the file; a new one gets its tables, and something to sell. */
  constructor(file: string) {
    this.#file = file;
    using db = this.lend();
    db.transaction(() => {
      if (createTables(db)) seed(db);
    });
  }

  /** Lends a connection. Disposing of it returns it. */
  lend(): Connection {
    return this.#idle.pop() ?? new Connection(this.#file, (returned) => this.#idle.push(returned));
  }

  /** Closes the connections. */
  close(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }
}

/** The value of the application's lifespan. Requests see it as `state`. */
export interface State {
  readonly database: Database;
}

/** The same as a value, for declarations. */
export const state = stateType<State>();

/** A connection for one request. It is given back after the last byte of the reply. */
export const connection = dependency({ state }, async function* (request) {
  using db = request.state.database.lend();
  yield db;
});
