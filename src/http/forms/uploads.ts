/** Keeps uploaded files until their request ends; sweeps folders that crashed processes left. */
import { describeError, log } from "../../log/log.ts";
import { nodePath, readVariable } from "../../base/runtime.ts";
import { ByteStore } from "../body_buffer.ts";
import { DiskBlob } from "../files/disk_blob.ts";

/** In bytes, for all files of one form together. */
const MEMORY = 1024 * 1024;

/** The same without the permission to write temporary files. */
const MEMORY_WITHOUT_DISK = 32 * 1024 * 1024;

const PREFIX = "webfw-upload-";
const LOCK = "lock";
/** Mode bits of the group and of others. */
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

  /** Reserves memory, if enough is left. A negative number releases memory. */
  reserve(bytes: number): boolean {
    if (bytes > this.#freeMemory) return false;
    this.#freeMemory -= bytes;
    return true;
  }

  /** Undefined without the permission to write temporary files; more memory is allowed then. */
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

  closeFile(file: Deno.FsFile): void {
    if (this.#open.delete(file)) file.close();
  }

  /** Removes all files from the disk; idempotent. */
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

/** Writes one file of a form: to memory, then to disk when the memory is used up. */
export class UploadWriter {
  readonly #storage: UploadStorage;
  #memory = new ByteStore();
  #disk: DiskFile | undefined;

  constructor(storage: UploadStorage) {
    this.#storage = storage;
  }

  /** Copies the chunk. Throws if there is no space for it. */
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
        `Cannot keep the files of a form: they need more than ${MEMORY_WITHOUT_DISK} bytes of memory, allow the program to read and write "${temporaryFolder()}"`,
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

/** The disk may be full, so the message names the folder and how to choose another. */
function cannotKeep(cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  throw new Error(
    `Cannot keep the files of a form in "${temporaryFolder()}": ${reason}; set TMPDIR to a folder with enough space`,
    { cause },
  );
}

const inUse = new Set<UploadFolder>();
let sweeping: Promise<void> | undefined;

/**
 * A temporary folder that other users cannot enter. Its files have the usual permissions, because
 * the application may move them. The process holds a lock on a file in it, which the system
 * releases when the process ends: so a later process recognizes a folder that was left.
 */
class UploadFolder {
  readonly path: string;
  readonly #lock: Deno.FsFile;

  private constructor(path: string, lock: Deno.FsFile) {
    this.path = path;
    this.#lock = lock;
  }

  /** Undefined without the permission to write temporary files. */
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

  /** Synchronous, because a process that exits waits for no promise. */
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
    // Some file systems have no locks. Their lock file stays empty, and the folder is never swept.
    if (await lock.tryLock(true).catch(() => false)) await lock.write(new Uint8Array(1));
    return lock;
  } catch (error) {
    await Deno.remove(folder, { recursive: true });
    throw error;
  }
}

/** Removes the folders of ended processes, once per process. Never rejects. */
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

/** Another user may have chosen the name on purpose: only our own folders are removed. */
async function sweepOne(path: string, owner: number | null): Promise<void> {
  const { isDirectory, uid, mode } = await Deno.lstat(path);
  if (!isDirectory || uid !== owner || ((mode ?? 0) & PERMISSIONS_OF_OTHERS) !== 0) return;
  using lock = await Deno.open(nodePath().join(path, LOCK), { read: true, write: true });
  // The process of an empty file may be about to lock it.
  const { size } = await lock.stat();
  if (size > 0 && await lock.tryLock(true)) await Deno.remove(path, { recursive: true });
}

/** Whether no other user can replace an entry of the folder between two calls. */
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
