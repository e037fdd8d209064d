import { nodePath, readVariable } from "../../runtime.ts";
import { DiskBlob } from "../files/disk_blob.ts";
import { describeError, log } from "../../log.ts";

/**
 * Temporary folders of uploaded files. Each has a lock file, which its process keeps locked. The
 * system releases the lock when the process ends, in whatever way: so a later process knows which
 * folders are left behind.
 */

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

/** Keeps the files of a form until its request is over: in memory as long as they are small, beyond that on disk. */

type Bytes = Uint8Array<ArrayBuffer>;

/** How many bytes the files of one form take of the memory, all together. */
const MEMORY = 1024 * 1024;

/** The same where the program may not write to the folder of temporary files. */
const MEMORY_WITHOUT_DISK = 32 * 1024 * 1024;

/** A file on disk that is written. */
interface DiskFile {
  readonly path: string;
  readonly file: Deno.FsFile;
}

/** The files of one form. */
export class UploadStorage {
  #free = MEMORY;
  #folder: Promise<UploadFolder | undefined> | undefined;
  #files = 0;
  #isOver = false;
  readonly #opening = new Set<Promise<unknown>>();
  readonly #open = new Set<Deno.FsFile>();

  /** Takes up a file. */
  receive(): StoredUpload {
    return new StoredUpload(this);
  }

  /** Takes memory for so many bytes, if there is enough. A negative number gives it back. */
  reserve(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  /** Opens a file on disk; gives none where the program may not, and there is more memory in its stead. */
  async openFile(): Promise<DiskFile | undefined> {
    if (this.#isOver) throw new Error("Cannot keep the files of a form: the request is over");
    const opening = this.#makeFile();
    this.#opening.add(opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(opening);
    }
  }

  /** Closes a file that was opened. */
  closeFile(file: Deno.FsFile): void {
    if (this.#open.delete(file)) file.close();
  }

  /** Removes what lies on disk. Does nothing when it has been done. */
  async remove(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#opening);
    for (const file of this.#open) this.closeFile(file);
    const folder = await this.#folder?.catch(() => undefined);
    this.#folder = undefined;
    await folder?.remove();
  }

  async #makeFile(): Promise<DiskFile | undefined> {
    const folder = await (this.#folder ??= this.#makeFolder());
    if (folder === undefined) return undefined;
    const path = nodePath().join(folder.path, String(this.#files++));
    const file = await Deno.open(path, { write: true, createNew: true });
    this.#open.add(file);
    return { path, file };
  }

  async #makeFolder(): Promise<UploadFolder | undefined> {
    const folder = await UploadFolder.make();
    if (!folder) this.#free += MEMORY_WITHOUT_DISK - MEMORY;
    return folder;
  }
}

/** One file of a form, while it is received. */
export class StoredUpload {
  readonly #storage: UploadStorage;
  #chunks: Bytes[] = [];
  #inMemory = 0;
  #disk: DiskFile | undefined;

  constructor(storage: UploadStorage) {
    this.#storage = storage;
  }

  /**
   * Takes the next bytes, of which it keeps a copy.
   *
   * @throws {Error} When there is no room for them.
   */
  write(chunk: Uint8Array): void | Promise<void> {
    if (this.#disk) return writeAll(this.#disk.file, chunk);
    if (!this.#storage.reserve(chunk.length)) return this.#moveToDisk(chunk);
    this.#keep(chunk);
  }

  /** What was received, when all of it has been. */
  async finish(): Promise<Blob> {
    if (!this.#disk) return new Blob(this.#chunks);
    const { path, file } = this.#disk;
    const version = await file.stat();
    this.#storage.closeFile(file);
    return new DiskBlob(path, version);
  }

  #keep(chunk: Uint8Array): void {
    // A part of a chunk would keep the whole of it.
    this.#chunks.push(chunk.slice());
    this.#inMemory += chunk.length;
  }

  async #moveToDisk(next: Uint8Array): Promise<void> {
    this.#disk = await this.#storage.openFile();
    if (!this.#disk) {
      if (this.#storage.reserve(next.length)) return this.#keep(next);
      throw new Error(
        `Cannot keep the files of a form: they take more than ${MEMORY_WITHOUT_DISK} bytes of memory, allow the program to read and write "${temporaryFolder()}"`,
      );
    }
    for (const chunk of this.#chunks) await writeAll(this.#disk.file, chunk);
    await writeAll(this.#disk.file, next);
    this.#chunks = [];
    this.#storage.reserve(-this.#inMemory);
  }
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
}
