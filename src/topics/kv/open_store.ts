/** Opens Deno KV: by Deno itself, or for a file by the client of npm. */
import { dirname } from "node:path";
import type { DatabaseLocation, KvLocation } from "../location.ts";
import type { TopicStore } from "../store.ts";
import { CannotOpenError } from "./connection.ts";
import { type KvEngine, toEngine } from "./engine.ts";
import { KvStore } from "./kv_store.ts";
import { openNpmKv } from "./npm_client.ts";

const TOKEN = "DENO_KV_ACCESS_TOKEN";
const CURES =
  'start the program with "webfw run", give Deno the flag --unstable-kv, or put "unstable": ["kv"] into deno.json';

/** Makes a store. Nothing is opened before it is used. */
export function openStore(location: KvLocation): TopicStore {
  if ("path" in location) {
    const { path } = location;
    return new KvStore({ name: `"${path}"`, isShared: false, open: () => openFile(path) });
  }
  if ("url" in location) {
    const name = `"${location.url.origin}${location.url.pathname}"`;
    return new KvStore({ name, isShared: true, open: () => openDatabase(location, name) });
  }
  return new KvStore({ name: "of Deno Deploy", isShared: true, open: openAttached });
}

async function openFile(path: string): Promise<KvEngine> {
  if (path !== ":memory:") await makeFolder(path);
  if (hasOwnClient()) return toEngine(await Deno.openKv(path));
  try {
    return toEngine(await openNpmKv(path));
  } catch (cause) {
    throw new CannotOpenError(
      `Cannot open the store of topics "${path}": this Deno has no KV client, and npm's could not be loaded, ${CURES}`,
      { cause },
    );
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
  } catch (cause) {
    throw new CannotOpenError(`Cannot open the store of topics "${path}": its folder cannot be made`, { cause });
  }
}

/** One after the other, since Deno reads the token from the environment while it opens a database. */
let opening: Promise<unknown> = Promise.resolve();

async function openDatabase({ url, token }: DatabaseLocation, name: string): Promise<KvEngine> {
  if (!hasOwnClient()) {
    throw new CannotOpenError(`Cannot open the store of topics ${name}: this Deno has no KV client, ${CURES}`);
  }
  const result = opening.then(async () => {
    const before = Deno.env.get(TOKEN);
    if (token !== undefined) Deno.env.set(TOKEN, token);
    try {
      return toEngine(await Deno.openKv(url.href));
    } catch (cause) {
      throw isRefusal(cause)
        ? new CannotOpenError(`Cannot open the store of topics ${name}: it refuses`, { cause })
        : cause;
    } finally {
      if (before === undefined) Deno.env.delete(TOKEN);
      else Deno.env.set(TOKEN, before);
    }
  });
  opening = result.catch(() => {});
  return await result;
}

async function openAttached(): Promise<KvEngine> {
  if (!hasOwnClient()) {
    throw new CannotOpenError(`Cannot open the store of topics of Deno Deploy: Deno has no KV client, ${CURES}`);
  }
  return toEngine(await Deno.openKv());
}

/** Whether Deno was told to bring its own. */
function hasOwnClient(): boolean {
  return typeof Deno.openKv === "function";
}

/** Whether the token is missing or wrong: trying again would change nothing. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && /status 40[013]|DENO_KV_ACCESS_TOKEN/.test(error.message);
}
