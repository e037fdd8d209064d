/** Opens files of Deno KV, by the client of Deno or that of npm. */
import { nodePath } from "../../runtime.ts";
import type { FileLocation } from "../location.ts";
import { cannotOpen, clientMissing, isBusyFile, reasonOf } from "./cannot_open.ts";
import { type KvEngine, toEngine } from "./engine.ts";
import { EPOCH_KEY } from "./keys.ts";
import { ClientMissingError, openNpmFile } from "./npm_client.ts";
import { isGranted, missingPermissions, type NeededPermission, tellMissing, toFlag } from "./permissions.ts";

/** The command line sets this global where the program only reads stores: none is made then. */
const ONLY_LOOKS: unique symbol = Symbol.for("webfw.onlyLooks");

/** What a file is used for. */
const WAYS = ["read", "write"] as const;

/** Stands for a file that is in memory, and in no other connection. */
const IN_MEMORY = ":memory:";

/** The absolute path of a file, or `:memory:`. */
export function pathOf({ path, folder }: FileLocation): string {
  return path === IN_MEMORY || isPlainPath(path) ? path : nodePath().resolve(folder, path);
}

/** The folder of a file. */
function folderOf(path: string): string {
  return isPlainPath(path) ? path.slice(0, Math.max(1, path.lastIndexOf("/"))) : nodePath().dirname(path);
}

/**
 * Whether a path can be used as it is. `node:path` takes longer to load than the client of files.
 */
function isPlainPath(path: string): boolean {
  return Deno.build.os !== "windows" && path.startsWith("/") && !path.endsWith("/");
}

/**
 * Makes sure that a file can be opened: it is opened and closed again. An application that starts
 * need not load the store for that.
 *
 * @throws {CannotOpenError} When it cannot.
 */
export async function checkFile(location: FileLocation): Promise<void> {
  try {
    (await openFile(location)).close();
  } catch (error) {
    // Another process uses the file, so it can be opened.
    if (!isBusyFile(error)) throw error;
  }
}

/**
 * Opens a file, and makes it where there is none.
 *
 * @throws {CannotOpenError} When it cannot be opened, now or ever.
 */
export async function openFile(location: FileLocation): Promise<KvEngine> {
  const path = pathOf(location);
  const isFile = path !== IN_MEMORY;
  const onlyLooks = Reflect.get(globalThis, ONLY_LOOKS) === true;
  if (isFile && onlyLooks && await isMissing(path)) {
    throw cannotOpen(
      path,
      "there is no such file, start the application with its durable topics once, or name another file in WEBFW_TOPICS",
    );
  }
  const hasClient = hasOwnClient();
  // The addon of npm's client asks nobody for permissions.
  if (isFile && hasClient) await checkPermissions(path, location);
  try {
    if (isFile && !onlyLooks) await makeFolder(path);
    return await firstRead(toEngine(await (hasClient ? Deno.openKv(path) : openNpmFile(path))));
  } catch (cause) {
    if (cause instanceof ClientMissingError) {
      const needed = isFile ? await neededPermissions(path) : [];
      throw clientMissing(path, cause, (await missingPermissions(needed)).map(toFlag));
    }
    // A busy file is free again after a few milliseconds. Other faults stay.
    throw isBusyFile(cause) ? cause : cannotOpen(path, reasonOfFile(cause));
  }
}

/** Whether Deno was told to bring a client of its own. */
export function hasOwnClient(): boolean {
  return typeof Deno.openKv === "function";
}

async function checkPermissions(path: string, { unread }: FileLocation): Promise<void> {
  const missing = await missingPermissions(await neededPermissions(path));
  if (missing.length === 0) return;
  const hint = unread === undefined ? "" : `, and with --allow-env=${unread} where that names another place`;
  throw cannotOpen(path, tellMissing(missing) + hint);
}

/** The permissions for a file; for its folder where that is to be made, or may have to be. */
async function neededPermissions(path: string): Promise<readonly NeededPermission[]> {
  const folder = folderOf(path);
  const isVisible = await isGranted({ name: "read", path: folder });
  const [ofFile, ofFolder] = [path, folder].map((path) => WAYS.map((name) => ({ name, path })));
  if (isVisible) return await isMissing(folder) ? ofFolder! : ofFile!;
  return (await Promise.all(ofFile!.map(isGranted))).every(Boolean) ? ofFile! : ofFolder!;
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
    await Deno.mkdir(folderOf(path), { recursive: true });
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
