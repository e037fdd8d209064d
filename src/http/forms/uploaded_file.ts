/** The value of an uploaded file. */
import { nodePath, nodeUrl } from "../../runtime.ts";
import { DiskBlob, partOf } from "../files/disk_blob.ts";

/**
 * A file that a client has sent. It is a `File` like any other; a large one lies on disk and is read from there, as long as the
 * request lasts: until the last byte of the reply has gone, and the tasks of `request.after()` are done.
 *
 * Name and type are what the client says they are. The name is without folders and control characters; where it is to be a part
 * of a path, choose one yourself all the same.
 */
export class UploadedFile extends File {
  readonly #content: Blob;
  /** Whether it was saved by a second name. Another one would be the same file: what is written to one would be in the other. */
  #isLinked = false;

  /**
   * Names a content.
   *
   * @param content What was sent.
   * @param name The name of the file.
   * @param type The media type.
   */
  constructor(content: Blob, name: string, type: string) {
    super([content], name, { type });
    this.#content = content;
  }

  /** The bytes, as they are read. */
  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#content.stream();
  }

  /** A part of the file, from one byte to another. */
  override slice(start?: number, end?: number, type?: string): Blob {
    return partOf(this.#content, start, end, type);
  }

  /**
   * Writes the file to disk, in place of what is there, which nobody sees half written. A large one is not read for it: it gets a
   * second name, or is copied by the system. Folders that are missing on its way are made.
   *
   * @param path Where to. It has to be the application's own choice, never made of the file's name unchecked.
   * @throws {Deno.errors.NotCapable} When the program may not write there.
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

/** Gives a file a second name, where that can be: not on another disk, nor on one that has no second names. */
async function link(from: string, to: string): Promise<boolean> {
  try {
    await Deno.link(from, to);
    return true;
  } catch {
    return false;
  }
}
