/** Opens a database of PostgreSQL, or says why it cannot be used. */
import { cannotOpen, innermostReason, missingPermissions, packageMissing, permissionsReason } from "../cannot_open.ts";
import type { PostgresLocation } from "../location.ts";
import { StoreClock } from "../store_connection.ts";
import { CannotOpenError } from "../topic_store.ts";
import { codeOf } from "./engine.ts";
import { PACKAGE, type PgConfig, PgConnection, PgMissingError, pgPackage } from "./pg_client.ts";
import { PostgresEngine } from "./postgres_engine.ts";

const VARIABLE = "PGPASSWORD";
const OLDEST_VERSION = 14;

/**
 * The database, the role or the application may have others by default. Times are in milliseconds.
 */
const SETTINGS = {
  default_transaction_isolation: "read committed",
  default_transaction_read_only: "off",
  synchronous_commit: "on",
  // A plan for each call would cost as much as the call.
  plan_cache_mode: "force_generic_plan",
  // It is made while the tables are small, and kept when they have grown.
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  // A scan that is necessary nevertheless has a cost from which a plan would be compiled each time.
  jit: "off",
  // A function of another schema could replace one that a statement calls.
  search_path: "pg_catalog",
  client_min_messages: "warning",
  // A request is abandoned after 3 s. It must not be carried out much later.
  statement_timeout: "2500",
  lock_timeout: "2000",
  // A process that stands still in its transaction must not block others.
  idle_in_transaction_session_timeout: "5000",
};

const CHECK = `SELECT current_setting('server_version_num')::int / 10000 AS version,
  current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS "isStandby", current_setting('plan_cache_mode') = '${SETTINGS.plan_cache_mode}' AS "isSet"`;

export function nameOfPostgres({ postgres: { host, port, database } }: PostgresLocation): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}/${database}`;
}

/** What is known of the database is kept between two engines. */
export function postgresOpener(location: PostgresLocation): (signal: AbortSignal) => Promise<PostgresEngine> {
  const clock = new StoreClock();
  let isPooled = false;
  return async (signal) => {
    for (;;) {
      try {
        return await openEngine(location, { clock, isPooled }, signal);
      } catch (error) {
        if (!(error instanceof PooledError)) throw error;
        isPooled = true;
      }
    }
  };
}

interface KnownServer {
  readonly clock: StoreClock;
  readonly isPooled: boolean;
}

/** The settings were refused or ignored, as poolers do. */
class PooledError extends Error {}

async function openEngine(
  location: PostgresLocation,
  { clock, isPooled }: KnownServer,
  signal: AbortSignal,
): Promise<PostgresEngine> {
  const { postgres: { host, port, user, database, tls }, schema } = location;
  const name = nameOfPostgres(location);
  const missing = await missingPermissions([{ name: "net", host: `${host}:${port}` }]);
  if (missing.length > 0) throw cannotOpen(name, permissionsReason(missing));
  const pg = await pgPackage.use().catch((error) => {
    throw error instanceof PgMissingError ? packageMissing(name, "the client of PostgreSQL", error, PACKAGE) : error;
  });
  const config: PgConfig = {
    host,
    port,
    user,
    database,
    password: () => findPassword(location),
    ssl: tls ? { rejectUnauthorized: tls.isVerified, ...(tls.ca !== undefined && { ca: tls.ca }) } : false,
    settings: isPooled ? undefined : SETTINGS,
  };
  const connect = async (signal: AbortSignal) => {
    const connection = await PgConnection.open(pg, config, signal).catch((error) => {
      throw toFinal(error, location) ?? error;
    });
    const abandon = () => connection.destroy();
    signal.addEventListener("abort", abandon);
    try {
      signal.throwIfAborted();
      await check(connection, name, isPooled);
      signal.throwIfAborted();
      return connection;
    } catch (error) {
      connection.end();
      throw error;
    } finally {
      signal.removeEventListener("abort", abandon);
    }
  };
  const first = await connect(signal);
  const engine = new PostgresEngine({ connect, isPooled, channel: schema, clock }, first);
  const close = () => engine.close();
  signal.addEventListener("abort", close);
  try {
    await engine.refreshClock();
    signal.throwIfAborted();
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

async function check(connection: PgConnection, name: string, isPooled: boolean): Promise<void> {
  const { version, encoding, isStandby, isSet } = (await connection.query(CHECK)).rows[0]!;
  if (Number(version) < OLDEST_VERSION) {
    throw cannotOpen(name, `the server has version ${version}, use ${OLDEST_VERSION} or later`);
  }
  if (encoding !== "UTF8") {
    throw cannotOpen(name, `the database has the encoding ${encoding}, create one with ENCODING 'UTF8'`);
  }
  // A name may lead to another server soon.
  if (isStandby) throw new Error("The server is a standby, which takes no writes");
  if (!isSet && !isPooled) throw new PooledError();
}

/** Only servers that require a password need the permission. */
async function findPassword(location: PostgresLocation): Promise<string> {
  const { password } = location.postgres;
  if (password !== undefined) return password;
  const name = nameOfPostgres(location);
  const missing = await missingPermissions([{ name: "env", variable: VARIABLE }]);
  if (missing.length > 0) throw cannotOpen(name, permissionsReason(missing));
  const given = Deno.env.get(VARIABLE);
  if (given) return given;
  throw cannotOpen(name, `the server requires a password, set ${VARIABLE} or give topics as { url, password }`);
}

/** The error of a server that can never be used like this; undefined for an outage. */
function toFinal(error: unknown, location: PostgresLocation): Error | undefined {
  if (!(error instanceof Error) || error instanceof CannotOpenError) return undefined;
  const name = nameOfPostgres(location);
  const { user, tls } = location.postgres;
  switch (codeOf(error)) {
    case "08P01":
      return /startup parameter/.test(error.message) ? new PooledError() : undefined;
    case "28P01":
      return cannotOpen(name, `the server refuses the password of ${user}, give it in ${VARIABLE} or topics`);
    case "28000": {
      const cure = /no encryption/.test(error.message) && !tls
        ? "add ?sslmode=verify-full to the URL"
        : "let it connect in pg_hba.conf, or name another role in the URL";
      return cannotOpen(name, `the server refuses the role (${error.message}), ${cure}`);
    }
    case "3D000":
      return cannotOpen(name, `${error.message}, create it or correct the URL`);
    case "42501":
      return cannotOpen(name, `${error.message}, grant CONNECT on it to ${user}`);
  }
  if (/does not support SSL/.test(error.message)) {
    return cannotOpen(name, "the server has no TLS, enable it there or remove sslmode and tls");
  }
  const reason = innermostReason(error);
  if (tls?.isVerified && /certificate/i.test(reason)) {
    const cure = /does not match/.test(reason) ? "use a name that it has" : "give topics as { url, tls: { ca } }";
    return cannotOpen(name, `the certificate of the server is not accepted (${reason}), ${cure}`);
  }
  return undefined;
}
