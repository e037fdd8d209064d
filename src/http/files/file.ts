/** Files on disk as results of handlers. */
import { load } from "../../base/async_context.ts";
import { checkOptions, type OptionNames } from "../../base/options.ts";
import type { FileOptions } from "./served_file.ts";

const FILE_OPTIONS: OptionNames<FileOptions> = { root: true, type: true, filename: true };

/**
 * A file on disk, to be returned by a handler. Its bytes are read while they are sent.
 *
 * Replies to GET and HEAD carry the version of the file (`ETag`, `Last-Modified`). A client that
 * has this version gets a 304; a failed condition is a 412. A GET may ask for one `Range`; a range
 * beyond the end is a 416. An interrupted download can continue (`If-Range`) if the file has not
 * changed.
 *
 * With `root`, the path can come from a client: the file is always within the folder, and no part
 * of its path begins with a dot, also when links are followed. Without `root`, the path must be the
 * application's own.
 *
 * The result is a `File`, not a `Response`, so that handlers can look at it. Any other `Blob` that
 * a handler returns is sent in the same way.
 *
 * @param path The path of the file.
 * @param options How it is sent.
 * @throws {TypeError} If an option is unknown.
 * @throws {HTTPError} With 404 if there is no such file, or the path is that of a folder. A
 * `root` that does not exist is logged as well.
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
 *
 * @category Requests and replies
 */
export async function file(path: string | URL, options: FileOptions = {}): Promise<File> {
  checkOptions(options, FILE_OPTIONS, "send the file");
  const { openFile } = await load(() => import("./served_file.ts"));
  return await openFile(path, options);
}
