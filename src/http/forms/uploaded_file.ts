/** The value of an uploaded file. */
import { nodePath, nodeUrl } from "../../base/runtime.ts";
import { BlobSlice, DiskBlob } from "../files/disk_blob.ts";

/**
 * A file that a client has uploaded. It is a `File` like any other. A large one is on disk, and can
 * be read until the request is over: until the last byte of the reply has gone, and the tasks of
 * `request.after()` are done.
 *
 * The client chooses name and type. The name has no folders and no control characters. Choose a
 * name of your own all the same where it becomes part of a path.
 *
 * @category Routes
 */
export class UploadedFile extends File {
  readonly #content: Blob;
  /** Whether `save` has linked the file. A second link would be the same file under two names. */
  #isLinked = false;

  /**
   * Makes a file of a content.
   *
   * @param content The bytes.
   * @param name The name of the file.
   * @param type The media type.
   */
  constructor(content: Blob, name: string, type: string) {
    super([content], name, { type });
    this.#content = content;
  }

  /** The bytes as a stream. */
  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#content.stream();
  }

  /** A part of the file, from one byte to another. */
  override slice(start?: number, end?: number, type?: string): Blob {
    return new BlobSlice(this.#content, start, end, type);
  }

  /**
   * Saves the file, and replaces an existing one; nobody sees a half-written file. A large file is
   * linked, or copied by the system, without reading it. Missing folders are made.
   *
   * @param path The path to save it at. Never use the file's name in it unchecked.
   * @throws {Deno.errors.NotCapable} If the program may not write and read there.
   */
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
