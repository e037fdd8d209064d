// "Behind PgBouncer in transaction mode messages come by the poll (1 s)."

import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { App } from "@webfw/core";
import { pgPackage } from "../../src/store/sql/pg_client.ts";
import { takeData } from "../contract/reading.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { freePorts } from "../support/free_ports.ts";
import { until } from "../support/wait.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer, serverUser } from "./postgres_server.ts";
import { newSchema } from "./postgres_store.ts";

const PROGRAM = "/usr/sbin/pgbouncer";

/** A pooler in its own process. Disposing of it kills it. */
class PgBouncer implements AsyncDisposable {
  readonly url: string;
  readonly #folder: string;
  readonly #process: Deno.ChildProcess;

  private constructor(folder: string, process: Deno.ChildProcess, port: number) {
    this.#folder = folder;
    this.#process = process;
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  static async start(server: PostgresServer, mode: string, lines = ""): Promise<PgBouncer> {
    const folder = await Deno.makeTempDir({ prefix: "webfw_pgbouncer_" });
    await Deno.chmod(folder, 0o755);
    const [port] = freePorts(1);
    const path = join(folder, "pgbouncer.ini");
    // In session mode each client holds a connection of the server until it ends its own.
    const poolSize = mode === "session" ? 20 : 3;
    await Deno.writeTextFile(
      path,
      `[databases]
postgres = host=127.0.0.1 port=${server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${poolSize}
${lines}
`,
    );
    const process = new Deno.Command(PROGRAM, {
      args: [path],
      ...await serverUser(),
      cwd: "/",
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await until("the pooler listens", async () => {
      try {
        (await Deno.connect({ hostname: "127.0.0.1", port: port! })).close();
        return true;
      } catch {
        return false;
      }
    });
    return new PgBouncer(folder, process, port!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

async function hasPgBouncer(): Promise<boolean> {
  if (Deno.env.get("WEBFW_REQUIRE_ALL") === "1") return true;
  try {
    return (await Deno.stat(PROGRAM)).isFile;
  } catch {
    return false;
  }
}

const SETTINGS = `SELECT current_setting('statement_timeout') AS timeout,
  current_setting('default_transaction_isolation') AS isolation`;

const TITLE = "Topics behind PgBouncer";
if (!hasPostgres) Deno.test.ignore(`${TITLE}: ${POSTGRES_MISSING}`, () => {});
else if (!await hasPgBouncer()) Deno.test.ignore(`${TITLE}: there is no ${PROGRAM}, install it`, () => {});
else {
  const table: [mode: string, lines: string][] = [
    ["transaction", ""],
    // As its guide recommends for clients that send them.
    ["transaction", "ignore_startup_parameters = extra_float_digits,options"],
    ["session", ""],
  ];
  for (const [mode, lines] of table) {
    Deno.test(`${TITLE}: nodes publish, read and share records in ${mode} mode ${lines}`, async () => {
      using _log = new CapturedLog();
      await using server = await PostgresServer.start();
      await using pooler = await PgBouncer.start(server, mode, lines);
      // The sessions of the pooler are those of others, too.
      await server.query("ALTER ROLE postgres SET default_transaction_isolation = 'repeatable read'");
      const schema = newSchema();
      const apps = [0, 1].map(() => new App({ topics: { url: pooler.url, schema } }));
      const topics = apps.map((app) => app.topic<number>("news", { durable: true }));
      const handled: number[] = [];
      topics[1]!.consume("mail", { from: "earliest" }, ({ data }) => void handled.push(data));
      await Promise.all(apps.map((app) => app.start()));
      const subscription = topics[1]!.subscribe({ from: "earliest" });
      const numbers = Array.from({ length: 40 }, (_, number) => number);
      await Promise.all(numbers.map((number) => topics[number % 2]!.publish(number, { id: `${number}` })));
      assertEquals((await takeData(subscription, 40)).toSorted((one, other) => one - other), numbers);
      await until("all are handled", () => handled.length === 40);
      const version = await apps[0]!.records.set(["a"], 1);
      assertEquals(await apps[1]!.records.get(["a"]), { value: 1, version: version! });
      // Nothing that was set for a transaction stays.
      const { Client } = await pgPackage.use();
      const client = new Client({ connectionString: pooler.url });
      client.on("error", () => {});
      await client.connect();
      assertEquals((await client.query(SETTINGS)).rows, [{ timeout: "0", isolation: "repeatable read" }]);
      await client.end();
      await Promise.all(apps.map((app) => app.stop()));
    });
  }
}
