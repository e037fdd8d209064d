/**
 * Folders of files that were sent. Each holds a file that its process keeps locked: the system gives the lock back when the process
 * ends, however it ends, and that tells what is left behind from what is in use.
 */
import { describeError, log } from "../log.ts";
import { nodePath } from "../node.ts";

const PREFIX = "webfw-upload-";
const LOCK = "lock";
/** Rights of the group and of others. */
const RIGHTS_OF_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
/** In a folder with this bit, nobody can move or remove what belongs to others. */
const STICKY = 0o1000;

const inUse = new Set<UploadFolder>();
let sweeping: Promise<void> | undefined;

/** A folder that nobody else can enter: the files in it have the rights that others of the program have, and can be moved out. */
export class UploadFolder {
  /** Where it is. */
  readonly path: string;
  readonly #lock: Deno.FsFile;

  private constructor(path: string, lock: Deno.FsFile) {
    this.path = path;
    this.#lock = lock;
  }

  /** Makes a folder; none where the program may not use the folder of temporary files. */
  static async make(): Promise<UploadFolder | undefined> {
    const dir = temporaryFolder();
    if (!await mayUse(dir)) return undefined;
    await sweepUploads();
    const path = await Deno.makeTempDir({ dir, prefix: PREFIX });
    const folder = new UploadFolder(path, await makeLock(path));
    if (inUse.size === 0) addEventListener("unload", removeAll);
    inUse.add(folder);
    return folder;
  }

  /** Removes it with all that it holds. */
  async remove(): Promise<void> {
    this.#forget();
    try {
      await Deno.remove(this.path, { recursive: true });
    } catch (error) {
      log("error", "Removing temporary files failed", { folder: this.path, error: describeError(error) });
    } finally {
      this.#lock.close();
    }
  }

  /** The same, at once: nothing else is done any more when a process ends. */
  removeNow(): void {
    this.#forget();
    try {
      Deno.removeSync(this.path, { recursive: true });
    } catch {
      // The next start sweeps it.
    }
  }

  #forget(): void {
    inUse.delete(this);
    if (inUse.size === 0) removeEventListener("unload", removeAll);
  }
}

/** Removes the folders of processes that have ended without it, once a process. It never fails. */
export function sweepUploads(): Promise<void> {
  return sweeping ??= sweep(temporaryFolder()).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return;
    log("warn", "Cannot look for temporary files of earlier processes", { error: describeError(error) });
  });
}

/** Where the system has temporary files. Nobody is asked for a permission that the program has not. */
export function temporaryFolder(): string {
  for (const variable of ["TMPDIR", "TMP", "TEMP"]) {
    if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") continue;
    const folder = Deno.env.get(variable);
    if (folder) return folder;
  }
  return Deno.build.os === "windows" ? "C:\\Windows\\Temp" : "/tmp";
}

async function makeLock(folder: string): Promise<Deno.FsFile> {
  try {
    const lock = await Deno.open(nodePath().join(folder, LOCK), { write: true, createNew: true, mode: 0o600 });
    // What is not locked stays empty, and is taken for in use: there are file systems without locks.
    if (await lock.tryLock(true).catch(() => false)) await lock.write(new Uint8Array(1));
    return lock;
  } catch (error) {
    await Deno.remove(folder, { recursive: true });
    throw error;
  }
}

function removeAll(): void {
  for (const folder of [...inUse]) folder.removeNow();
}

async function sweep(dir: string): Promise<void> {
  if (!await mayUse(dir)) return;
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(dir)) {
    if (isDirectory && name.startsWith(PREFIX)) found.push(nodePath().join(dir, name));
  }
  if (found.length === 0 || !isSafe(await Deno.stat(dir))) return;
  const owner = await ownUser(dir);
  for (const path of found) {
    // Another process may sweep at the same time.
    await sweepOne(path, owner).catch(() => {});
  }
}

/**
 * Removes one folder if its process has ended. A user of the machine can make a folder of that name, but none that belongs to the
 * program's user: others can neither enter that one nor put another in its place.
 */
async function sweepOne(path: string, owner: number | null): Promise<void> {
  const { isDirectory, uid, mode } = await Deno.lstat(path);
  if (!isDirectory || uid !== owner || ((mode ?? 0) & RIGHTS_OF_OTHERS) !== 0) return;
  using lock = await Deno.open(nodePath().join(path, LOCK), { read: true, write: true });
  // An empty one may be about to be locked.
  const { size } = await lock.stat();
  if (size > 0 && await lock.tryLock(true)) await Deno.remove(path, { recursive: true });
}

/** Whether others cannot exchange what lies in a folder between two looks at it. */
function isSafe({ mode }: Deno.FileInfo): boolean {
  return mode === null || (mode & STICKY) !== 0 || (mode & WRITABLE_BY_OTHERS) === 0;
}

/** The user of this process: that of what it makes. To ask the system for it needs a permission more. */
async function ownUser(dir: string): Promise<number | null> {
  const probe = await Deno.makeTempFile({ dir, prefix: "webfw-" });
  try {
    return (await Deno.lstat(probe)).uid;
  } finally {
    await Deno.remove(probe);
  }
}

async function mayUse(path: string): Promise<boolean> {
  const ways = ["read", "write"] as const;
  const states = await Promise.all(ways.map((name) => Deno.permissions.query({ name, path })));
  return states.every(({ state }) => state === "granted");
}
