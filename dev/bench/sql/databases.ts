// A database for the measurement: a real server of PostgreSQL, or a file of SQLite.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "npm:pg@8.23.1";
import type { TopicsLocation } from "../../../src/store/location.ts";
import type { SqlTransaction } from "../../../src/store/topic_store.ts";
import { PostgresServer } from "../../../tests/postgres/postgres_server.ts";

const INSERT = "INSERT INTO plain (data) VALUES ($1)";
const CONNECTIONS = 64;

/** Where topics are, and what a program would do without them. */
export interface Database extends AsyncDisposable {
  readonly name: string;
  readonly topics: TopicsLocation;
  /** Writes a row of its own, and waits for the disk. */
  insert(data: string): Promise<unknown>;
  /** Writes a row in a transaction, and whatever the action does with the transaction. */
  transaction(data: string, action?: (transaction: SqlTransaction) => Promise<unknown>): Promise<unknown>;
}

/** A server that waits for the disk with each commit. */
export async function openPostgres(): Promise<Database> {
  const server = await PostgresServer.start({ settings: ["fsync=on"] });
  await server.query("CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data text)");
  const pool = new pg.Pool({ connectionString: server.url, max: CONNECTIONS });
  pool.on("connect", (client: pg.PoolClient) => client.on("error", () => {}));
  const insert = (client: Pick<pg.Pool, "query">, data: string) =>
    client.query({ name: "plain", text: INSERT, values: [data] });
  return {
    name: "PostgreSQL",
    topics: server.url,
    insert: (data) => insert(pool, data),
    transaction: async (data, action) => {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        await insert(client as never, data);
        await action?.(client);
        await client.query("COMMIT");
      } finally {
        client.release();
      }
    },
    [Symbol.asyncDispose]: async () => {
      await pool.end();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A file whose writes wait for the disk. */
export async function openSqlite(): Promise<Database> {
  const folder = await Deno.makeTempDir({ prefix: "webfw_bench_" });
  const path = join(folder, "shop.sqlite");
  // The program of a user waits for the writes of the store.
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  database.exec("CREATE TABLE plain (id integer PRIMARY KEY, data text)");
  const insert = database.prepare(INSERT.replace("$1", "?"));
  return {
    name: "SQLite",
    topics: { sqlite: path },
    insert: (data) => Promise.resolve(insert.run(data)),
    transaction: async (data, action) => {
      database.exec("BEGIN IMMEDIATE");
      insert.run(data);
      await action?.(database);
      database.exec("COMMIT");
    },
    [Symbol.asyncDispose]: async () => {
      database.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
