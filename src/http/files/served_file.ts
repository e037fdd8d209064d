/** Files on disk: found by their paths, and read while they are sent. */
import { HTTPError } from "../../errors.ts";
import { log } from "../../log.ts";
import { nodePath, nodeUrl } from "../../runtime.ts";
import { BlobSlice, DiskBlob } from "./disk_blob.ts";

/**
 * How a file is sent.
 *
 * @category Requests and replies
 */
export interface FileOptions {
  /**
   * The folder that holds the file. The path is then relative to it, and may come from anywhere,
   * also from a client.
   */
  root?: string | URL;
  /** The media type. By default that of the extension, or `application/octet-stream`. */
  type?: string;
  /** Makes browsers save the file under this name, and not show it. */
  filename?: string;
}

/** System errors that mean that there is no file of this name. */
const ABSENT: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EINVAL"]);

/**
 * Opens a file.
 *
 * @throws {HTTPError} With 404, if there is no such file.
 */
export async function openFile(path: string | URL, { root, type, filename }: FileOptions): Promise<ServedFile> {
  const found = root === undefined ? toPath(path) : await pathWithin(toPath(root), String(path));
  const info = found === undefined ? undefined : await Deno.stat(found).catch(unlessAbsent);
  if (found === undefined || !info?.isFile) throw new HTTPError(404, "No such file");
  return new ServedFile(new DiskBlob(found, info), nodePath().basename(found), {
    type: type ?? await typeOf(found),
    savedAs: filename,
    lastModified: info.mtime?.getTime() ?? 0,
  });
}

/** The result of `file`. */
export class ServedFile extends File {
  readonly #content: DiskBlob;
  /** The name under which browsers save the file; undefined when they may show it. */
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
 * Finds a file in a folder, by a name that a client may have chosen.
 *
 * @param root The folder. One that does not exist is logged, and has no files.
 * @param name The path in the folder, with slashes.
 * @returns The path with links resolved; undefined when there is no such file, when a part of the
 * name begins with a dot, and when the path leads out of the folder.
 */
async function pathWithin(root: string, name: string): Promise<string | undefined> {
  const folder = await Deno.realPath(root).catch(unlessAbsent);
  if (folder === undefined) {
    // An upload may make it later, or its path is wrong.
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

/**
 * Refuses hidden files and parent folders. On Windows, `\` and `:` also leave a folder or name a
 * stream.
 */
function isPlain(part: string, separator: string): boolean {
  return part !== "" && !part.startsWith(".") && !part.includes("\0") && (separator === "/" || !/[\\:]/.test(part));
}

/** Gives undefined for an error that means that there is no file, and throws any other. */
function unlessAbsent(error: unknown): undefined {
  if (error instanceof Error && ABSENT.has((error as Error & { code?: unknown }).code)) return undefined;
  throw error;
}

function toPath(path: string | URL): string {
  return path instanceof URL ? nodeUrl().fileURLToPath(path) : path;
}

async function typeOf(path: string): Promise<string> {
  const { lookup } = await import("mrmime");
  const type = lookup(nodePath().extname(path)) ?? "application/octet-stream";
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type;
}
