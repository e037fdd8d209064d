/** Opens Deno KV: a file by the client of Deno or that of npm, a database on the network by one of the store's own. */
import { dirname, resolve } from "node:path";
import { CannotOpenError } from "../cannot_open_error.ts";
import type { DatabaseLocation, KvLocation } from "../location.ts";
import { ConnectClient } from "./connect_client.ts";
import { isBusyFile, reasonOf } from "./connection.ts";
import { type KvEngine, toEngine } from "./engine.ts";
import { EPOCH_KEY } from "./keys.ts";
import { KvStore } from "./kv_store.ts";
import { ClientMissingError, openNpmFile } from "./npm_client.ts";

const TOKEN = "DENO_KV_ACCESS_TOKEN";
const CURES =
  'start the program with "webfw run", give Deno the flag --unstable-kv, or put "unstable": ["kv"] into deno.json';

/** Where the command line says that the program only looks at stores: one that is not there is not made. */
const ONLY_LOOKS: unique symbol = Symbol.for("webfw.onlyLooks");

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
    const path = location.path === ":memory:" ? location.path : resolve(location.folder, location.path);
    // Another one in memory is another database.
    const deadline = path === ":memory:" ? { deadline: LONGEST } : {};
    return new KvStore({ name: path, interval: FILE_INTERVAL, ...time, open: () => openFile(path), ...deadline });
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

async function openFile(path: string): Promise<KvEngine> {
  const isFile = path !== ":memory:";
  const onlyLooks = Reflect.get(globalThis, ONLY_LOOKS) === true;
  if (isFile && onlyLooks && await isMissing(path)) {
    throw cannotOpen(path, "there is none, name the file of the application, which makes it when it first uses it");
  }
  try {
    if (isFile && !onlyLooks) await makeFolder(path);
    return await firstRead(toEngine(await (hasOwnClient() ? Deno.openKv(path) : openNpmFile(path))));
  } catch (cause) {
    if (cause instanceof ClientMissingError) throw clientMissing(path, cause);
    // Another process holds it for a few milliseconds. What else is wrong with a file is so the next time.
    throw isBusyFile(cause) ? cause : cannotOpen(path, reasonOfFile(cause), cause);
  }
}

/** Reads something: what is wrong with a file, npm's client tells only then. */
async function firstRead(engine: KvEngine): Promise<KvEngine> {
  try {
    await engine.get([EPOCH_KEY]);
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return false;
  } catch (error) {
    // What else is wrong, opening it tells.
    return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
  } catch (error) {
    // Where the folder is there, the permission for the file alone will do.
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
  }
}

function reasonOfFile(error: unknown): string {
  const reason = reasonOf(error);
  if (reason.includes("is not a database")) return "it is no database, name another file";
  if (!reason.startsWith("unable to open database file")) return reason;
  return "it cannot be read and written, name a file in a folder that can";
}

async function openDatabase({ url, token }: DatabaseLocation, signal: AbortSignal): Promise<KvEngine> {
  const name = nameOf(url);
  try {
    const given = token ?? Deno.env.get(TOKEN);
    if (given !== undefined) return await ConnectClient.open(url, given, signal);
  } catch (cause) {
    throw cause instanceof Deno.errors.NotCapable ? cannotOpen(name, cause.message, cause) : cause;
  }
  throw cannotOpen(name, `it has no token, set ${TOKEN} or give topics as { url, token }`);
}

async function openAttached(): Promise<KvEngine> {
  if (!hasOwnClient()) throw clientMissing("Deno Deploy");
  return toEngine(await Deno.openKv());
}

/** Whether Deno was told to bring its own. */
function hasOwnClient(): boolean {
  return typeof Deno.openKv === "function";
}

function clientMissing(name: string, cause?: unknown): CannotOpenError {
  return cannotOpen(name, `this Deno has no KV client, and npm's cannot be loaded, ${CURES}`, cause);
}

function cannotOpen(name: string, reason: string, cause?: unknown): CannotOpenError {
  return new CannotOpenError(
    `Cannot open the store of topics "${name}": ${reason}`,
    cause === undefined ? {} : { cause },
  );
}

/** Without a user, a password or a query, which may be secrets. */
function nameOf({ origin, pathname }: URL): string {
  return origin + pathname;
}
