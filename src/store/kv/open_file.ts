/** Opens files by Deno's client, or by npm's where Deno has none. */
import { loadingCommand, nodePath } from "../../base/runtime.ts";
import type { FileLocation } from "../location.ts";
import { StoreMissingError } from "../topic_store.ts";
import {
  cannotOpen,
  clientMissing,
  isBusyFile,
  isGranted,
  missingPermissions,
  type NeededPermission,
  permissionsReason,
  reasonOf,
  toFlag,
} from "../cannot_open.ts";
import { type KvEngine, toEngine } from "./engine.ts";
import { INCARNATION_KEY } from "./keys.ts";
import { ClientMissingError, openNpmFile, toNpmEngine } from "./npm_client.ts";

const UNSEEN = "topics in memory cannot be seen from another process";

const ACCESS = ["read", "write"] as const;

/** A database in memory, which belongs to one connection. */
export const IN_MEMORY = ":memory:";

export function pathOf({ path, folder }: FileLocation): string {
  return path === IN_MEMORY || isPlainPath(path) ? path : nodePath().resolve(folder, path);
}

function folderOf(path: string): string {
  return isPlainPath(path) ? path.slice(0, Math.max(1, path.lastIndexOf("/"))) : nodePath().dirname(path);
}

/** Whether a path needs no `node:path`, which takes longer to load than the client of files. */
function isPlainPath(path: string): boolean {
  return Deno.build.os !== "windows" && path.startsWith("/") && !path.endsWith("/");
}

/** @throws {CannotOpenError} If the file cannot be opened. It does not load the store. */
export async function checkFile(location: FileLocation): Promise<void> {
  try {
    (await openFile(location)).close();
  } catch (error) {
    // A file that another process is using can be opened.
    if (!isBusyFile(error)) throw error;
  }
}

/**
 * Opens or creates a file.
 *
 * @throws {CannotOpenError} If that will never work.
 */
export async function openFile(location: FileLocation): Promise<KvEngine> {
  const path = pathOf(location);
  const isFile = path !== IN_MEMORY;
  const readOnly = loadingCommand()?.readsOnly === true;
  if (readOnly && !isFile) throw cannotOpen(path, `${UNSEEN}, name a file`);
  if (readOnly && await isMissing(path)) {
    const cure = "start the application with its durable topics once, or name another file in WEBFW_TOPICS";
    throw new StoreMissingError(cannotOpen(path, `there is no such file, ${cure}; ${UNSEEN}`).message);
  }
  const hasClient = hasOwnClient();
  // The addon of npm's client prompts for no permissions.
  if (isFile && hasClient) await checkPermissions(path, location);
  try {
    if (isFile && !readOnly) await makeFolder(path);
    return await firstRead(hasClient ? toEngine(await Deno.openKv(path)) : toNpmEngine(await openNpmFile(path)));
  } catch (cause) {
    if (cause instanceof ClientMissingError) {
      const needed = isFile ? await neededPermissions(path) : [];
      throw clientMissing(path, cause, (await missingPermissions(needed)).map(toFlag));
    }
    // A busy file is free again after a few milliseconds. Other faults are permanent.
    throw isBusyFile(cause) ? cause : cannotOpen(path, reasonOfFile(cause));
  }
}

/** Deno's client needs a flag. */
export function hasOwnClient(): boolean {
  return typeof Deno.openKv === "function";
}

async function checkPermissions(path: string, { unread }: FileLocation): Promise<void> {
  const missing = await missingPermissions(await neededPermissions(path));
  if (missing.length === 0) return;
  const hint = unread === undefined ? "" : `, and with --allow-env=${unread} where that names another place`;
  throw cannotOpen(path, permissionsReason(missing) + hint);
}

/** The file, or its folder if that must be created or cannot be seen. */
async function neededPermissions(path: string): Promise<readonly NeededPermission[]> {
  const folder = folderOf(path);
  const isVisible = await isGranted({ name: "read", path: folder });
  const [ofFile, ofFolder] = [path, folder].map((path) => ACCESS.map((name) => ({ name, path })));
  if (isVisible) return await isMissing(folder) ? ofFolder! : ofFile!;
  return (await Promise.all(ofFile!.map(isGranted))).every(Boolean) ? ofFile! : ofFolder!;
}

/** npm's client reports what is wrong with a file only when it reads. */
async function firstRead(engine: KvEngine): Promise<KvEngine> {
  try {
    await engine.get([INCARNATION_KEY]);
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
    // Opening the file reports any other fault.
    return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(folderOf(path), { recursive: true });
  } catch (error) {
    // If the folder exists, the permission for the file alone is enough.
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
  }
}

function reasonOfFile(error: unknown): string {
  const reason = reasonOf(error);
  if (reason.includes("is not a database")) return "it is no database, name another file";
  if (reason.includes("readonly database")) return "this user may not write it, change its owner or name another file";
  if (error instanceof Deno.errors.PermissionDenied) {
    return `${reason}; name a file in a folder that this user may write`;
  }
  if (!reason.startsWith("unable to open database file")) return reason;
  return "it cannot be read and written, name a file in a folder that can";
}
