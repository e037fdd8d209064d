/** Files on disk as replies. */
import { HTTPError } from "../errors.ts";
import { nodePath, nodeUrl } from "../node.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { partOf } from "./blob_part.ts";
import { DiskBlob } from "./disk_blob.ts";
import { pathWithin, unlessAbsent } from "./path_within.ts";

/** How a file is sent. */
export interface FileOptions {
  /** The folder that the file has to be in. The path is then of any origin, also a client's, and is seen from there. */
  root?: string | URL;
  /** The media type. By the extension unless given; without one that is known `application/octet-stream`. */
  type?: string;
  /** Makes browsers save the file, under this name, where they would show it otherwise. */
  filename?: string;
}

const OPTIONS: OptionNames<FileOptions> = { root: true, type: true, filename: true };

/** A file on disk, as a reply has it. */
export class ServedFile extends File {
  readonly #content: DiskBlob;
  /** The name to save it under; undefined where it may be shown. */
  readonly savedAs: string | undefined;

  constructor(content: DiskBlob, name: string, options: FilePropertyBag & { savedAs: string | undefined }) {
    super([content], name, options);
    this.#content = content;
    this.savedAs = options.savedAs;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#content.stream();
  }

  override slice(start?: number, end?: number, type?: string): Blob {
    return partOf(this.#content, start, end, type);
  }
}

/**
 * A file on disk, to be returned by a handler. Its bytes are read while they are sent, and never held whole.
 *
 * The reply to a GET or HEAD tells its version (`ETag`, `Last-Modified`), and a GET may ask for a single `Range`. A client that has the
 * version gets a 304, one whose condition fails a 412, one whose range is beyond the end a 416. A broken-off transfer can go on
 * (`If-Range`) where the file has not been changed.
 *
 * With `root`, the path can come from a client: it stays within the folder whatever it says, also by way of links, and finds
 * nothing whose name begins with a dot. Without, the path has to be the application's own.
 *
 * It is a `File` rather than a `Response`, so that handlers can look at it, and that there is one way to send bytes: any other
 * `Blob` gets its range and conditions in the same way.
 *
 * @param path Where the file is.
 * @param options How it is sent.
 * @throws {TypeError} When an option is unknown.
 * @throws {HTTPError} With 404, when there is no such file, or a folder has the name. A root that
 * does not exist is logged as a warning as well.
 *
 * @example A folder of downloads
 * ```ts
 * import { App, file } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${root}/notes.txt`, "0123456789");
 *
 * const app = new App();
 * app.get("/files/{path...}", async (_request, { path }) => await file(path, { root }));
 *
 * const request = new Request("http://localhost/files/notes.txt", { headers: { range: "bytes=2-4" } });
 * const part = await app.fetch(request);
 * assertEquals([part.status, await part.text()], [206, "234"]);
 *
 * const outside = await file("../../etc/passwd", { root }).catch((error) => error.status);
 * assertEquals(outside, 404);
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export async function file(path: string | URL, options: FileOptions = {}): Promise<File> {
  checkOptions(options, OPTIONS, "send the file");
  const { root, type, filename } = options;
  const place = root === undefined ? toPath(path) : await pathWithin(toPath(root), String(path));
  const info = place === undefined ? undefined : await Deno.stat(place).catch(unlessAbsent);
  if (place === undefined || !info?.isFile) throw new HTTPError(404, "No such file");
  return new ServedFile(new DiskBlob(place, info), nodePath().basename(place), {
    type: type ?? await typeOf(place),
    savedAs: filename,
    lastModified: info.mtime?.getTime() ?? 0,
  });
}

function toPath(path: string | URL): string {
  return path instanceof URL ? nodeUrl().fileURLToPath(path) : path;
}

async function typeOf(path: string): Promise<string> {
  const { lookup } = await import("mrmime");
  const type = lookup(nodePath().extname(path)) ?? "application/octet-stream";
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type;
}
