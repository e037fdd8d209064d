/**
 * Temporary folders of uploaded files. Each has a lock file, which its process keeps locked. The
 * system releases the lock when the process ends, in whatever way: so a later process knows which
 * folders are left behind.
 */
import { readVariable } from "../environment.ts";
import { describeError, log } from "../log.ts";
import { nodePath } from "../node.ts";

const PREFIX = "webfw-upload-";
const LOCK = "lock";
/** Rights of the group and of others. */
const RIGHTS_OF_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
/** In a folder with this bit, users can move and remove only their own files. */
const STICKY = 0o1000;

const inUse = new Set<UploadFolder>();
let sweeping: Promise<void> | undefined;

/**
 * A folder that no other user can enter. The files in it have the usual rights of the program's
 * files, since the application may move them out.
 */
export class UploadFolder {
  /** Where it is. */
  readonly path: string;
  readonly #lock: Deno.FsFile;

  private constructor(path: string, lock: Deno.FsFile) {
    this.path = path;
    this.#lock = lock;
  }

  /** Makes a folder; undefined if the program has no permission for temporary files. */
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

  /** Removes the folder and its files. */
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

  /** The same, synchronously: a process that ends waits for no promise. */
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

/** Removes the folders that ended processes left behind. It runs once and never fails. */
export function sweepUploads(): Promise<void> {
  return sweeping ??= sweep(temporaryFolder()).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return;
    log("warn", "Cannot look for temporary files of earlier processes", { error: describeError(error) });
  });
}

/** The system's folder of temporary files. */
export function temporaryFolder(): string {
  for (const variable of ["TMPDIR", "TMP", "TEMP"]) {
    const folder = readVariable(variable);
    if (folder) return folder;
  }
  return Deno.build.os === "windows" ? "C:\\Windows\\Temp" : "/tmp";
}

async function makeLock(folder: string): Promise<Deno.FsFile> {
  try {
    const lock = await Deno.open(nodePath().join(folder, LOCK), { write: true, createNew: true, mode: 0o600 });
    // Some file systems have no locks. A lock file that stays empty says that nobody may sweep.
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
 * Removes one folder if its process has ended. Another user can make a folder of such a name, but
 * it does not belong to the program's user, so it is left alone.
 */
async function sweepOne(path: string, owner: number | null): Promise<void> {
  const { isDirectory, uid, mode } = await Deno.lstat(path);
  if (!isDirectory || uid !== owner || ((mode ?? 0) & RIGHTS_OF_OTHERS) !== 0) return;
  using lock = await Deno.open(nodePath().join(path, LOCK), { read: true, write: true });
  // An empty file may be one that its process is about to lock.
  const { size } = await lock.stat();
  if (size > 0 && await lock.tryLock(true)) await Deno.remove(path, { recursive: true });
}

/** Whether other users cannot replace an entry of a folder between two looks at it. */
function isSafe({ mode }: Deno.FileInfo): boolean {
  return mode === null || (mode & STICKY) !== 0 || (mode & WRITABLE_BY_OTHERS) === 0;
}

/** The user of this process, read off a file that it makes: `Deno.uid()` needs a permission. */
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
