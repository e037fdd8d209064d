/** Files on disk as blobs, which are read in chunks on demand, and uploaded files. */
import { nodePath, nodeUrl } from "../../base/runtime.ts";

const CHUNK_SIZE = 64 * 1024;

export function toPath(path: string | URL): string {
  return path instanceof URL ? nodeUrl().fileURLToPath(path) : path;
}

type FileVersion = Pick<Deno.FileInfo, "size" | "mtime" | "ino" | "dev">;

/**
 * A range of a file. Wrap it in a `File` or `Blob` for applications, which read it by `stream()`
 * and `slice()`: its own `text()` would find nothing.
 */
export class DiskBlob extends Blob {
  readonly path: string;
  readonly #version: FileVersion;
  readonly #start: number;

  /** Opens nothing. `version` is that of the announced size. */
  constructor(path: string, version: FileVersion, start = 0, end: number = version.size) {
    super();
    this.path = path;
    this.#version = version;
    this.#start = start;
    // The platform reads it when it wraps this blob.
    Object.defineProperty(this, "size", { value: end - start });
  }

  /** The platform has already clamped both indexes. */
  override slice(start = 0, end: number = this.size): DiskBlob {
    return new DiskBlob(this.path, this.#version, this.#start + start, this.#start + end);
  }

  /** Opens the file on the first read. Closes it at the end, or when the reader cancels. */
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
          // A reader that passed its own buffer waits until it gets it back.
          controller.byobRequest?.respond(0);
        } catch (error) {
          close();
          throw error;
        }
      },
      cancel: close,
    });
  }

  /** Refuses a changed file: its length and entity tag were already announced. */
  async #open(): Promise<Deno.FsFile> {
    const file = await Deno.open(this.path);
    try {
      const { size, mtime, ino, dev } = await file.stat();
      const expected = this.#version;
      // The path may now have another file, or a link that leads out of the folder.
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
 * cancel streams of a blob's parts, which would leave the file of a {@linkcode DiskBlob} open.
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

/** A negative index counts from the end. */
function clamp(index: number, size: number): number {
  const whole = Math.round(index) || 0;
  return whole < 0 ? Math.max(0, size + whole) : Math.min(whole, size);
}

function changed(): Error {
  return new Error("Cannot read the file: it was changed after its size was sent");
}

/** A handler's `UploadFile`, with its content in memory or on disk. */
export class UploadedFile extends File {
  readonly #content: Blob;
  /** Whether `save` has linked the file. A second link would be the same file. */
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
    const target = toPath(path);
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

/** Fails on another disk, and on file systems without links. */
async function link(from: string, to: string): Promise<boolean> {
  try {
    await Deno.link(from, to);
    return true;
  } catch {
    return false;
  }
}
