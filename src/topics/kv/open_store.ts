/** Opens Deno KV: by Deno's own client or by that of npm. */
import { dirname } from "node:path";
import type { DatabaseLocation, KvLocation } from "../location.ts";
import { CannotOpenError } from "./connection.ts";
import { type KvEngine, toEngine } from "./engine.ts";
import { KvStore } from "./kv_store.ts";
import { ClientMissingError, openNpmDatabase, openNpmFile } from "./npm_client.ts";

const TOKEN = "DENO_KV_ACCESS_TOKEN";
const CURES =
  'start the program with "webfw run", give Deno the flag --unstable-kv, or put "unstable": ["kv"] into deno.json';

/** How often a file is looked at for what other processes have written, in milliseconds. */
const FILE_INTERVAL = 50;
/** How often a database on the network is looked at, which cannot be watched without Deno's own client. */
const DATABASE_INTERVAL = 100;
/** How often a database is looked at that is watched, too. */
const WATCHED_INTERVAL = 1_000;

/**
 * Makes a store. Nothing is opened before it is used.
 *
 * @param location Where it is.
 * @param now The time in milliseconds since 1970.
 */
export function openStore(location: KvLocation, now: () => number = Date.now): KvStore {
  if ("path" in location) {
    const { path } = location;
    return new KvStore({ name: path, interval: FILE_INTERVAL, now, open: () => openFile(path) });
  }
  if ("url" in location) {
    const name = `${location.url.origin}${location.url.pathname}`;
    return new KvStore({
      name,
      now,
      open: () => openDatabase(location, name),
      ...hasOwnClient()
        ? { interval: WATCHED_INTERVAL, openWatching: () => openOwnDatabase(location, name) }
        : { interval: DATABASE_INTERVAL },
    });
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

async function openDatabase(location: DatabaseLocation, name: string): Promise<KvEngine> {
  const { url, token = Deno.env.get(TOKEN) } = location;
  if (token === undefined) {
    throw new CannotOpenError(
      `Cannot open the store of topics "${name}": it has no token, set ${TOKEN} or give topics as { url, token }`,
    );
  }
  try {
    return toEngine(await openNpmDatabase(url, token));
  } catch (cause) {
    if (!(cause instanceof ClientMissingError)) throw refusalOr(cause, name);
    if (!hasOwnClient()) throw clientMissing(name, cause);
    return await openOwnDatabase(location, name);
  }
}

/** One after the other, since Deno reads the token from the environment while it opens a database. */
let opening: Promise<unknown> = Promise.resolve();

async function openOwnDatabase({ url, token }: DatabaseLocation, name: string): Promise<KvEngine> {
  const result = opening.then(async () => {
    const before = Deno.env.get(TOKEN);
    if (token !== undefined) Deno.env.set(TOKEN, token);
    try {
      return toEngine(await Deno.openKv(url.href));
    } catch (cause) {
      throw refusalOr(cause, name);
    } finally {
      if (token !== undefined && before === undefined) Deno.env.delete(TOKEN);
      else if (token !== undefined && before !== undefined) Deno.env.set(TOKEN, before);
    }
  });
  opening = result.catch(() => {});
  return await result;
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

/** Where the token is refused, trying again would change nothing. */
function refusalOr(error: unknown, name: string): unknown {
  if (!(error instanceof Error) || !/status:? 40[013]/.test(error.message)) return error;
  return new CannotOpenError(`Cannot open the store of topics "${name}": it refuses the token`, { cause: error });
}
