/** Files on disk, which are found by path and read while they are sent. */
import { load } from "../../base/async_context.ts";
import { HTTPError } from "../../base/errors.ts";
import { log } from "../../log/log.ts";
import { nodePath } from "../../base/runtime.ts";
import { BlobSlice, DiskBlob, toPath } from "./disk_blob.ts";

/** How a file is sent. */
export interface FileOptions {
  /** The folder that holds the file. The path is relative to it, and may come from a client. */
  root?: string | URL;
  /** The media type. By default that of the extension, or `application/octet-stream`. */
  type?: string;
  /** The name for saving the file: browsers then do not show it. */
  filename?: string;
}

/** System errors for a name without a file. */
const ABSENT: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EINVAL"]);

/** Throws a 404 if there is no such file. */
export async function openFile(path: string | URL, { root, type, filename }: FileOptions): Promise<ServedFile> {
  const found = root === undefined ? toPath(path) : await pathWithin(toPath(root), String(path));
  const info = found && await (root === undefined ? Deno.stat(found).catch(unlessAbsent) : infoOf(found));
  if (!found || !info || !info.isFile) throw new HTTPError(404, "No such file");
  return new ServedFile(found, info, type ?? await typeOf(found), filename);
}

export class ServedFile extends File {
  readonly #content: DiskBlob;
  /** The name for saving the file; undefined if browsers may show it. */
  readonly savedAs: string | undefined;

  constructor(path: string, info: Deno.FileInfo, type: string, savedAs?: string) {
    const content = new DiskBlob(path, info);
    super([content], nodePath().basename(path), { type, lastModified: info.mtime?.getTime() ?? 0 });
    this.#content = content;
    this.savedAs = savedAs;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#content.stream();
  }

  override slice(start?: number, end?: number, type?: string): Blob {
    return new BlobSlice(this.#content, start, end, type);
  }
}

/** A client may have chosen the name. A folder that does not exist is logged. */
async function pathWithin(root: string, name: string): Promise<string | undefined> {
  const folder = await realPath(root);
  if (folder !== undefined) return await findWithin(folder, name.split("/"));
  // An upload may create it later, or its path is wrong.
  log("warn", "The folder of file() does not exist", { root });
  return undefined;
}

/**
 * Finds an entry of a folder whose own links are resolved, by parts that a client may have chosen.
 * Undefined if there is none, a part begins with a dot, or a link leads out of the folder or to
 * such a part.
 */
export async function findWithin(folder: string, parts: readonly string[]): Promise<string | undefined> {
  const { join, sep: separator } = nodePath();
  if (parts.some((part) => isHidden(part) || !isEntryName(part, separator))) return undefined;
  const path = await realPath(join(folder, ...parts));
  if (path === undefined || path === folder) return path;
  const prefix = folder.endsWith(separator) ? folder : folder + separator;
  const isWithin = path.startsWith(prefix) && !path.slice(prefix.length).split(separator).some(isHidden);
  return isWithin ? path : undefined;
}

/** With links resolved; undefined if nothing is there. */
export async function realPath(path: string): Promise<string | undefined> {
  return await Deno.realPath(path).catch(unlessAbsent);
}

/** For a path with links resolved; undefined if nothing is there. A new link is not followed. */
export async function infoOf(path: string): Promise<Deno.FileInfo | undefined> {
  return await Deno.lstat(path).catch(unlessAbsent);
}

/** Whether a part of a path is a hidden file or the parent folder. */
function isHidden(part: string): boolean {
  return part.startsWith(".");
}

/** On Windows, `\` and `:` also leave a folder or name a stream. */
function isEntryName(part: string, separator: string): boolean {
  return part !== "" && !part.includes("\0") && (separator === "/" || !/[\\:]/.test(part));
}

function unlessAbsent(error: unknown): undefined {
  if (error instanceof Error && ABSENT.has((error as Error & { code?: unknown }).code)) return undefined;
  throw error;
}

export async function typeOf(path: string): Promise<string> {
  const { default: types } = await load(() => import("mime"));
  const type = types.getType(nodePath().extname(path)) ?? "application/octet-stream";
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type;
}
