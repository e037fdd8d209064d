import { HTTPError } from "../../errors.ts";
import { nodePath, nodeUrl } from "../../runtime.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { BlobSlice, DiskBlob } from "./disk_blob.ts";
import { log } from "../../log.ts";

/** Paths of files in a folder, by names that clients choose. */

/** Errors of the system that say no more than that there is no file of such a name. */
const ABSENT: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EINVAL"]);

/**
 * Finds a file in a folder.
 *
 * @param root The folder.
 * @param name The path of the file in it, with slashes. Any text will do.
 * @returns The path of the file with links resolved. Undefined where there is none, where a part of
 * the name begins with a dot, and where it leads out of the folder, be it by a link. A folder that
 * does not exist has no files, and is logged.
 */
export async function pathWithin(root: string, name: string): Promise<string | undefined> {
  const folder = await Deno.realPath(root).catch(unlessAbsent);
  if (folder === undefined) {
    // It may be made later, by the first upload; or its path is wrong.
    log("warn", "The folder of file() does not exist", { root });
    return undefined;
  }
  const { join, sep: separator } = nodePath();
  const parts = name.split("/");
  if (!parts.every((part) => isPlain(part, separator))) return undefined;
  const path = await Deno.realPath(join(folder, ...parts)).catch(unlessAbsent);
  const prefix = folder.endsWith(separator) ? folder : folder + separator;
  return path?.startsWith(prefix) ? path : undefined;
}

/** Gives undefined for an error that says that there is no file; throws any other. */
export function unlessAbsent(error: unknown): undefined {
  if (error instanceof Error && ABSENT.has((error as Error & { code?: unknown }).code)) return undefined;
  throw error;
}

/** Hidden files and the folders above begin with a dot. Windows has further ways to leave a folder, and streams within files. */
function isPlain(part: string, separator: string): boolean {
  return part !== "" && !part.startsWith(".") && !part.includes("\0") && (separator === "/" || !/[\\:]/.test(part));
}

/** Files on disk as replies. */

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
    return new BlobSlice(this.#content, start, end, type);
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
