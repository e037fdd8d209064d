/** Parts of blobs whose content is a blob of another kind, as one on disk is. */

/** A part that streams its content itself: Deno (2.9) does not pass `cancel()` on to the content of a blob. */
class BlobPart extends Blob {
  readonly #content: Blob;

  constructor(content: Blob, options: BlobPropertyBag) {
    super([content], options);
    this.#content = content;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#content.stream();
  }
}

/**
 * What `slice()` gives, of a content that is read through its own stream.
 *
 * @param content What is cut.
 * @param start The first byte; a negative one is counted from the end.
 * @param end The byte after the last, likewise.
 * @param type The media type.
 */
export function partOf(content: Blob, start = 0, end: number = content.size, type = ""): Blob {
  const [first, last] = [placeIn(content.size, start), placeIn(content.size, end)];
  return new BlobPart(content.slice(first, Math.max(first, last)), { type });
}

function placeIn(size: number, place: number): number {
  const whole = Math.round(place) || 0;
  return whole < 0 ? Math.max(0, size + whole) : Math.min(whole, size);
}

/** Bytes of a file on disk as a blob: read when they are asked for, in parts, and never held whole. */

/** How much is read at once. */
const CHUNK_SIZE = 64 * 1024;

/** What tells that a file is still the one that was looked at. */
export interface FileVersion {
  readonly size: number;
  readonly mtime: Date | null;
}

/**
 * A range of a file. Wrap it in a `File` or `Blob` before it is given away: the platform reads one through this class's `stream()`
 * and `slice()`, where its own `text()` would find nothing.
 */
export class DiskBlob extends Blob {
  /** Where the file is. */
  readonly path: string;
  readonly #version: FileVersion;
  readonly #start: number;

  /**
   * Takes a file that is there.
   *
   * @param path Where it is.
   * @param version What it was when its size was told.
   * @param start The first byte.
   * @param end Where it ends; the byte there is none of it.
   */
  constructor(path: string, version: FileVersion, start = 0, end: number = version.size) {
    super();
    this.path = path;
    this.#version = version;
    this.#start = start;
    // The platform reads it when a blob is made of this one.
    Object.defineProperty(this, "size", { value: end - start });
  }

  /** The bytes from one place to another, which the platform has brought within bounds. */
  override slice(start = 0, end: number = this.size): DiskBlob {
    return new DiskBlob(this.path, this.#version, this.#start + start, this.#start + end);
  }

  /** Opens the file when the first bytes are asked for, and closes it with the last, or when the reader goes. */
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
          // A reader with a buffer of its own waits for it to be given back.
          controller.byobRequest?.respond(0);
        } catch (error) {
          close();
          throw error;
        }
      },
      cancel: close,
    });
  }

  /** A length was promised, and a tag: another file in its place must not be taken for it. */
  async #open(): Promise<Deno.FsFile> {
    const file = await Deno.open(this.path);
    try {
      const { size, mtime } = await file.stat();
      const { size: expected, mtime: time } = this.#version;
      if (size !== expected || mtime?.getTime() !== time?.getTime()) throw changed();
      if (this.#start > 0) await file.seek(this.#start, Deno.SeekMode.Start);
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }
}

function changed(): Error {
  return new Error("Cannot read the file: it was changed after its size was told");
}
