/** Keeps the files of a form until its request is over: in memory as long as they are small, beyond that on disk. */
import { nodePath } from "../../node.ts";
import { DiskBlob } from "../files/disk_blob.ts";
import { temporaryFolder, UploadFolder } from "../upload_folder.ts";

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
