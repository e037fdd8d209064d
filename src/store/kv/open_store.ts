/** Opens a store in Deno KV: in a file, in a database on the network, or in that of Deno Deploy. */
import type { DatabaseLocation, KvLocation } from "../location.ts";
import {
  cannotOpen,
  clientMissing,
  hostOf,
  missingPermissions,
  networkClientMissing,
  permissionsReason,
} from "../cannot_open.ts";
import { type KvEngine, toEngine } from "./engine.ts";
import { KvStore } from "./kv_store.ts";
import { NetworkClient } from "./network_client.ts";
import { ClientMissingError, PACKAGE } from "./npm_client.ts";
import { hasOwnClient, IN_MEMORY, openFile, pathOf } from "./open_file.ts";
import { ProcessLock } from "./process_lock.ts";

const TOKEN = "DENO_KV_ACCESS_TOKEN";

/** How often a file is read for messages of other processes, in milliseconds. */
const FILE_INTERVAL = 50;
/** How often a database is read that is watched as well, in milliseconds. */
const WATCHED_INTERVAL = 1_000;
/** The longest time of a timer in milliseconds, 25 days. */
const LONGEST = 2 ** 31 - 1;

/**
 * Makes a store, which opens nothing before its first use.
 *
 * @param location Where it is.
 * @param now The time in milliseconds since 1970, in place of the database's.
 */
export function openStore(location: KvLocation, now?: () => number): KvStore {
  const time = now && { now };
  if ("path" in location) {
    const path = pathOf(location);
    // A database in memory would be empty when it is opened again.
    const ofFile = path === IN_MEMORY ? { requestTimeout: LONGEST } : { processLock: new ProcessLock(path) };
    return new KvStore({ name: path, interval: FILE_INTERVAL, ...time, open: () => openFile(location), ...ofFile });
  }
  const isAttached = "isAttached" in location;
  const open = isAttached ? openAttached : (signal: AbortSignal) => openDatabase(location, signal);
  const name = isAttached ? "Deno Deploy" : nameOf(location.url);
  return new KvStore({ name, interval: WATCHED_INTERVAL, ...time, open, openWatching: open });
}

async function openDatabase({ url, token }: DatabaseLocation, signal: AbortSignal): Promise<KvEngine> {
  const name = nameOf(url);
  const missing = await missingPermissions([
    { name: "net", host: hostOf(url) },
    ...(token === undefined ? [{ name: "env", variable: TOKEN } as const] : []),
  ]);
  if (missing.length > 0) throw cannotOpen(name, permissionsReason(missing));
  const given = token ?? Deno.env.get(TOKEN);
  if (!given) throw cannotOpen(name, `it has no token, set ${TOKEN} or give topics as { url, token }`);
  try {
    return await NetworkClient.open(url, given, signal);
  } catch (error) {
    throw error instanceof ClientMissingError ? networkClientMissing(name, error, PACKAGE) : error;
  }
}

async function openAttached(): Promise<KvEngine> {
  if (!hasOwnClient()) throw clientMissing("Deno Deploy");
  return toEngine(await Deno.openKv());
}

/** The address without a user, a password or a query, which may be secrets. */
function nameOf({ origin, pathname }: URL): string {
  return origin + pathname;
}
