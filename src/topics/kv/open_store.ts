/** Opens Deno KV: a file by the client of Deno or that of npm, a database on the network by one of the store's own. */
import type { DatabaseLocation, KvLocation } from "../location.ts";
import { cannotOpen, clientMissing } from "./cannot_open.ts";
import { ConnectClient } from "./connect_client.ts";
import { type KvEngine, toEngine } from "./engine.ts";
import { KvStore } from "./kv_store.ts";
import { hasOwnClient, openFile, pathOf } from "./open_file.ts";
import { hostOf, missingPermissions, tellMissing } from "./permissions.ts";

const TOKEN = "DENO_KV_ACCESS_TOKEN";

/** How often a file is looked at for what other processes have written, in milliseconds. */
const FILE_INTERVAL = 50;
/** The longest that a timer runs, in milliseconds: 25 days. */
const LONGEST = 2 ** 31 - 1;
/** How often a database is looked at, which is watched, too. */
const WATCHED_INTERVAL = 1_000;

/**
 * Makes a store. Nothing is opened before it is used.
 *
 * @param location Where it is.
 * @param now The time in milliseconds since 1970, in place of that of the database.
 */
export function openStore(location: KvLocation, now?: () => number): KvStore {
  const time = now && { now };
  if ("path" in location) {
    const path = pathOf(location);
    // Another one in memory is another database.
    const deadline = path === ":memory:" ? { deadline: LONGEST } : {};
    return new KvStore({ name: path, interval: FILE_INTERVAL, ...time, open: () => openFile(location), ...deadline });
  }
  if ("url" in location) {
    const open = (signal: AbortSignal): Promise<KvEngine> => openDatabase(location, signal);
    return new KvStore({ name: nameOf(location.url), interval: WATCHED_INTERVAL, ...time, open, openWatching: open });
  }
  return new KvStore({
    name: "Deno Deploy",
    interval: WATCHED_INTERVAL,
    ...time,
    open: openAttached,
    openWatching: openAttached,
  });
}

async function openDatabase({ url, token }: DatabaseLocation, signal: AbortSignal): Promise<KvEngine> {
  const name = nameOf(url);
  const missing = await missingPermissions([
    { name: "net", host: hostOf(url) },
    ...(token === undefined ? [{ name: "env", variable: TOKEN } as const] : []),
  ]);
  if (missing.length > 0) throw cannotOpen(name, tellMissing(missing));
  const given = token ?? Deno.env.get(TOKEN);
  if (!given) throw cannotOpen(name, `it has no token, set ${TOKEN} or give topics as { url, token }`);
  return await ConnectClient.open(url, given, signal);
}

async function openAttached(): Promise<KvEngine> {
  if (!hasOwnClient()) throw clientMissing("Deno Deploy");
  return toEngine(await Deno.openKv());
}

/** Without a user, a password or a query, which may be secrets. */
function nameOf({ origin, pathname }: URL): string {
  return origin + pathname;
}
