/** Files on disk as blobs, whose bytes are read in chunks when they are needed; uploaded files. */
import { nodePath, nodeUrl } from "../../base/runtime.ts";

const CHUNK_SIZE = 64 * 1024;

type FileVersion = Pick<Deno.FileInfo, "size" | "mtime" | "ino" | "dev">;

/**
 * A range of a file. Applications must not get it directly: its own `text()` would find nothing.
 * Wrap it in a `File` or `Blob`, which reads it through `stream()` and `slice()`.
 */
export class DiskBlob extends Blob {
  readonly path: string;
  readonly #version: FileVersion;
  readonly #start: number;

  /**
   * Opens nothing.
   *
   * @param version The version of the file when its size was announced.
   */
  constructor(path: string, version: FileVersion, start = 0, end: number = version.size) {
    super();
    this.path = path;
    this.#version = version;
    this.#start = start;
    // The platform reads it when it wraps this blob.
    Object.defineProperty(this, "size", { value: end - start });
  }

  /** A part of the range. The platform has clamped both indexes already. */
  override slice(start = 0, end: number = this.size): DiskBlob {
    return new DiskBlob(this.path, this.#version, this.#start + start, this.#start + end);
  }

  /** Opens the file with the first read, and closes it at the end, or when the reader cancels. */
  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    let file: Deno.FsFile | undefined;
    let left = this.size;
    const close = () => {
      file?.close();
      file = undefined;
    };
    return new ReadableStream({
      type: "bytes",
      pull: async (controller) => {
        try {
          if (left > 0) {
            file ??= await this.#open();
            const chunk = new Uint8Array(Math.min(left, CHUNK_SIZE));
            const size = await file.read(chunk);
            if (size === null) throw changed();
            left -= size;
            controller.enqueue(chunk.subarray(0, size));
          }
          if (left > 0) return;
          close();
          controller.close();
          // A reader that passed its own buffer waits until it gets the buffer back.
          controller.byobRequest?.respond(0);
        } catch (error) {
          close();
          throw error;
        }
      },
      cancel: close,
    });
  }

  /** Refuses a file that has changed: its length and entity tag were announced already. */
  async #open(): Promise<Deno.FsFile> {
    const file = await Deno.open(this.path);
    try {
      const { size, mtime, ino, dev } = await file.stat();
      const expected = this.#version;
      // Another file may have come to this path, or a link that leads out of the folder.
      const isSame = size === expected.size && ino === expected.ino && dev === expected.dev;
      if (!isSame || mtime?.getTime() !== expected.mtime?.getTime()) throw changed();
      if (this.#start > 0) await file.seek(this.#start, Deno.SeekMode.Start);
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }
}

/**
 * A part of a blob, like `Blob.slice()`. Its stream is that of its content: Deno 2.9 does not
 * cancel the streams of a blob's parts, which would leave a {@linkcode DiskBlob}'s file open.
 */
export class BlobSlice extends Blob {
  readonly #content: Blob;

  constructor(content: Blob, start = 0, end: number = content.size, type = "") {
    const first = clamp(start, content.size);
    const part = content.slice(first, Math.max(first, clamp(end, content.size)));
    super([part], { type });
    this.#content = part;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#content.stream();
  }

  override slice(start?: number, end?: number, type?: string): Blob {
    return new BlobSlice(this.#content, start, end, type);
  }
}

/** The index within a size; a negative index counts from the end. */
function clamp(index: number, size: number): number {
  const whole = Math.round(index) || 0;
  return whole < 0 ? Math.max(0, size + whole) : Math.min(whole, size);
}

function changed(): Error {
  return new Error("Cannot read the file: it was changed after its size was sent");
}

/** The `UploadFile` of a handler: its content is in memory or on disk. */
export class UploadedFile extends File {
  readonly #content: Blob;
  /** Whether `save` has linked the file. A second link would be the same file under two names. */
  #isLinked = false;

  constructor(content: Blob, name: string, type: string) {
    super([content], name, { type });
    this.#content = content;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#content.stream();
  }

  override slice(start?: number, end?: number, type?: string): Blob {
    return new BlobSlice(this.#content, start, end, type);
  }

  async save(path: string | URL): Promise<void> {
    const target = path instanceof URL ? nodeUrl().fileURLToPath(path) : path;
    const { dirname, join } = nodePath();
    const folder = dirname(target);
    await Deno.mkdir(folder, { recursive: true });
    const draft = join(folder, `.webfw-${crypto.randomUUID()}`);
    try {
      await this.#writeTo(draft);
      await Deno.rename(draft, target);
    } catch (error) {
      await Deno.remove(draft).catch(() => {});
      throw error;
    }
  }

  async #writeTo(path: string): Promise<void> {
    if (!(this.#content instanceof DiskBlob)) return await Deno.writeFile(path, this.#content.stream());
    const mayLink = !this.#isLinked;
    this.#isLinked = true;
    if (!mayLink || !await link(this.#content.path, path)) await Deno.copyFile(this.#content.path, path);
  }
}

/** Links a file. That fails on another disk, and on file systems without links. */
async function link(from: string, to: string): Promise<boolean> {
  try {
    await Deno.link(from, to);
    return true;
  } catch {
    return false;
  }
}
