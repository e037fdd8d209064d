/** Paths of files in a folder, by names that clients choose. */
import { log } from "../log.ts";
import { nodePath } from "../node.ts";

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
