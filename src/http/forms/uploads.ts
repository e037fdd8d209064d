/**
 * Keeps the files of forms until their requests are over: small files in memory, others in
 * temporary folders. Removes folders that ended processes left behind.
 */
import { describeError, log } from "../../log/log.ts";
import { nodePath, readVariable } from "../../base/runtime.ts";
import { ByteStore } from "../body_buffer.ts";
import { DiskBlob } from "../files/disk_blob.ts";

/** The memory for all files of one form together, in bytes. */
const MEMORY = 1024 * 1024;

/** The same for a program that may not write temporary files. */
const MEMORY_WITHOUT_DISK = 32 * 1024 * 1024;

const PREFIX = "webfw-upload-";
const LOCK = "lock";
/** The mode bits for the permissions of the group and of others. */
const PERMISSIONS_OF_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
/** In a folder with this mode bit, users can move and remove only their own files. */
const STICKY = 0o1000;

interface DiskFile {
  readonly path: string;
  readonly file: Deno.FsFile;
}

export class UploadStorage {
  #freeMemory = MEMORY;
  #folder: Promise<UploadFolder | undefined> | undefined;
  #fileCount = 0;
  #isOver = false;
  readonly #opening = new Set<Promise<unknown>>();
  readonly #open = new Set<Deno.FsFile>();

  receive(): UploadWriter {
    return new UploadWriter(this);
  }

  /** Reserves memory if there is enough of it. A negative number releases memory. */
  reserve(bytes: number): boolean {
    if (bytes > this.#freeMemory) return false;
    this.#freeMemory -= bytes;
    return true;
  }

  /** Opens a file on disk; undefined without the permission. There is more memory then. */
  async openFile(): Promise<DiskFile | undefined> {
    if (this.#isOver) throw new Error("Cannot keep the files of a form: the request is over");
    const opening = this.#makeFile().catch(cannotKeep);
    this.#opening.add(opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(opening);
    }
  }

  /** Closes a file once; a second call does nothing. */
  closeFile(file: Deno.FsFile): void {
    if (this.#open.delete(file)) file.close();
  }

  /** Removes all files from the disk. A second call does nothing. */
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
    const path = nodePath().join(folder.path, String(this.#fileCount++));
    const file = await Deno.open(path, { write: true, createNew: true });
    this.#open.add(file);
    return { path, file };
  }

  async #makeFolder(): Promise<UploadFolder | undefined> {
    const folder = await UploadFolder.make();
    if (!folder) this.#freeMemory += MEMORY_WITHOUT_DISK - MEMORY;
    return folder;
  }
}

/** Writes one file of a form: to memory, and to disk when there is no memory left. */
export class UploadWriter {
  readonly #storage: UploadStorage;
  #memory = new ByteStore();
  #disk: DiskFile | undefined;

  constructor(storage: UploadStorage) {
    this.#storage = storage;
  }

  /**
   * Writes a copy of the chunk.
   *
   * @throws {Error} If there is no room for it.
   */
  write(chunk: Uint8Array): void | Promise<void> {
    if (this.#disk) return writeAll(this.#disk.file, chunk);
    if (!this.#storage.reserve(chunk.length)) return this.#moveToDisk(chunk);
    this.#memory.append(chunk);
  }

  async finish(): Promise<Blob> {
    if (!this.#disk) return new Blob(this.#memory.parts());
    const { path, file } = this.#disk;
    const version = await file.stat();
    this.#storage.closeFile(file);
    return new DiskBlob(path, version);
  }

  async #moveToDisk(next: Uint8Array): Promise<void> {
    this.#disk = await this.#storage.openFile();
    if (!this.#disk) {
      if (this.#storage.reserve(next.length)) return this.#memory.append(next);
      throw new Error(
        `Cannot keep the files of a form: they take more than ${MEMORY_WITHOUT_DISK} bytes of memory, allow the program to read and write "${temporaryFolder()}"`,
      );
    }
    for (const chunk of [...this.#memory.parts(), next]) await writeAll(this.#disk.file, chunk);
    this.#storage.reserve(-this.#memory.size);
    this.#memory = new ByteStore();
  }
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await file.write(bytes.subarray(written)).catch(cannotKeep);
  }
}

/** Names the folder, and how to choose another one: the disk may be full. */
function cannotKeep(cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  throw new Error(
    `Cannot keep the files of a form in "${temporaryFolder()}": ${reason}; set TMPDIR to a folder with enough room`,
    { cause },
  );
}

const inUse = new Set<UploadFolder>();
let sweeping: Promise<void> | undefined;

/**
 * A temporary folder that no other user can enter. Its files have the usual permissions, because
 * the application may move them elsewhere.
 *
 * The process keeps a file in the folder locked. The system releases the lock when the process ends
 * in any way. By that, a later process recognizes folders that were left behind.
 */
class UploadFolder {
  readonly path: string;
  readonly #lock: Deno.FsFile;

  private constructor(path: string, lock: Deno.FsFile) {
    this.path = path;
    this.#lock = lock;
  }

  /** Makes a folder; undefined without the permission for temporary files. */
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

  /** Removes the folder synchronously: a process that ends waits for no promise. */
  removeNow(): void {
    this.#forget();
    try {
      Deno.removeSync(this.path, { recursive: true });
    } catch {
      // The next process sweeps it.
    }
  }

  #forget(): void {
    inUse.delete(this);
    if (inUse.size === 0) removeEventListener("unload", removeAll);
  }
}

function removeAll(): void {
  for (const folder of [...inUse]) folder.removeNow();
}

async function makeLock(folder: string): Promise<Deno.FsFile> {
  try {
    const lock = await Deno.open(nodePath().join(folder, LOCK), { write: true, createNew: true, mode: 0o600 });
    // Some file systems have no locks. The lock file stays empty there, and nobody sweeps the
    // folder.
    if (await lock.tryLock(true).catch(() => false)) await lock.write(new Uint8Array(1));
    return lock;
  } catch (error) {
    await Deno.remove(folder, { recursive: true });
    throw error;
  }
}

/** Removes the folders of ended processes. It runs once per process and never fails. */
export function sweepUploads(): Promise<void> {
  return sweeping ??= sweep(temporaryFolder()).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return;
    log("warn", "Cannot look for temporary files of earlier processes", { error: describeError(error) });
  });
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
 * Removes a folder if its process has ended. A folder that belongs to another user stays: that user
 * may have chosen the name on purpose.
 */
async function sweepOne(path: string, owner: number | null): Promise<void> {
  const { isDirectory, uid, mode } = await Deno.lstat(path);
  if (!isDirectory || uid !== owner || ((mode ?? 0) & PERMISSIONS_OF_OTHERS) !== 0) return;
  using lock = await Deno.open(nodePath().join(path, LOCK), { read: true, write: true });
  // The process of an empty file may be about to lock it.
  const { size } = await lock.stat();
  if (size > 0 && await lock.tryLock(true)) await Deno.remove(path, { recursive: true });
}

/** Whether other users cannot replace an entry of the folder between two calls. */
function isSafe({ mode }: Deno.FileInfo): boolean {
  return mode === null || (mode & STICKY) !== 0 || (mode & WRITABLE_BY_OTHERS) === 0;
}

/** The user of this process, taken from a new file: `Deno.uid()` needs a permission. */
async function ownUser(dir: string): Promise<number | null> {
  const probe = await Deno.makeTempFile({ dir, prefix: "webfw-" });
  try {
    return (await Deno.lstat(probe)).uid;
  } finally {
    await Deno.remove(probe);
  }
}

function temporaryFolder(): string {
  for (const variable of ["TMPDIR", "TMP", "TEMP"]) {
    const folder = readVariable(variable);
    if (folder) return folder;
  }
  return Deno.build.os === "windows" ? "C:\\Windows\\Temp" : "/tmp";
}

async function mayUse(path: string): Promise<boolean> {
  const states = await Promise.all(
    (["read", "write"] as const).map((name) => Deno.permissions.query({ name, path })),
  );
  return states.every(({ state }) => state === "granted");
}
