/** Opens Deno KV: a file by the client of Deno or that of npm, a database on the network by one of the store's own. */
import { dirname, resolve } from "node:path";
import type { DatabaseLocation, KvLocation } from "../location.ts";
import { ConnectClient } from "./connect_client.ts";
import { CannotOpenError } from "./connection.ts";
import { type KvEngine, toEngine } from "./engine.ts";
import { KvStore } from "./kv_store.ts";
import { ClientMissingError, openNpmFile } from "./npm_client.ts";

const TOKEN = "DENO_KV_ACCESS_TOKEN";
const CURES =
  'start the program with "webfw run", give Deno the flag --unstable-kv, or put "unstable": ["kv"] into deno.json';

/** How often a file is looked at for what other processes have written, in milliseconds. */
const FILE_INTERVAL = 50;
/** How often a database is looked at, which is watched, too. */
const WATCHED_INTERVAL = 1_000;

/**
 * Makes a store. Nothing is opened before it is used.
 *
 * @param location Where it is.
 * @param now The time in milliseconds since 1970.
 */
export function openStore(location: KvLocation, now: () => number = Date.now): KvStore {
  if ("path" in location) {
    const path = location.path === ":memory:" ? location.path : resolve(location.folder, location.path);
    return new KvStore({ name: path, interval: FILE_INTERVAL, now, open: () => openFile(path) });
  }
  if ("url" in location) {
    const open = (signal: AbortSignal): Promise<KvEngine> => openDatabase(location, signal);
    return new KvStore({ name: nameOf(location.url), interval: WATCHED_INTERVAL, now, open, openWatching: open });
  }
  return new KvStore({
    name: "Deno Deploy",
    interval: WATCHED_INTERVAL,
    now,
    open: openAttached,
    openWatching: openAttached,
  });
}

async function openFile(path: string): Promise<KvEngine> {
  if (path !== ":memory:") await makeFolder(path);
  if (hasOwnClient()) return toEngine(await Deno.openKv(path));
  try {
    return toEngine(await openNpmFile(path));
  } catch (cause) {
    throw cause instanceof ClientMissingError ? clientMissing(path, cause) : cause;
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
  } catch (cause) {
    throw new CannotOpenError(`Cannot open the store of topics "${path}": its folder cannot be made`, { cause });
  }
}

async function openDatabase(
  { url, token = Deno.env.get(TOKEN) }: DatabaseLocation,
  signal: AbortSignal,
): Promise<KvEngine> {
  if (token === undefined) {
    throw new CannotOpenError(
      `Cannot open the store of topics "${
        nameOf(url)
      }": it has no token, set ${TOKEN} or give topics as { url, token }`,
    );
  }
  return await ConnectClient.open(url, token, signal);
}

async function openAttached(): Promise<KvEngine> {
  if (!hasOwnClient()) throw clientMissing("Deno Deploy", undefined);
  return toEngine(await Deno.openKv());
}

/** Whether Deno was told to bring its own. */
function hasOwnClient(): boolean {
  return typeof Deno.openKv === "function";
}

function clientMissing(name: string, cause: unknown): CannotOpenError {
  const message =
    `Cannot open the store of topics "${name}": this Deno has no KV client, and npm's cannot be loaded, ${CURES}`;
  return new CannotOpenError(message, { cause });
}

/** Without a user, a password or a query, which may be secrets. */
function nameOf({ origin, pathname }: URL): string {
  return origin + pathname;
}
