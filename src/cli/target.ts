// What a command works on: a module, and the name under which it exports the application.

import { fileURLToPath, pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { CommandError, USAGE_EXIT_CODE } from "./command_error.ts";

/** An application, as named on the command line. */
export interface Target {
  /** The module as the user wrote it. */
  readonly module: string;
  /** The module as it is imported: a URL, or a `jsr:` or `npm:` specifier. */
  readonly specifier: string;
  /** The export, or `null` for `app`, else `default`. */
  readonly attribute: string | null;
}

const SCHEME = /^(file|https?|jsr|npm)$/;
const URL_LIKE = /^(file|https?|jsr|npm):/;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/**
 * Parses `<module>` or `<module>:<attribute>`. The last `:` separates the two where an identifier follows it and
 * where it does not end a scheme or a drive letter, so that `https://localhost:8080/main.ts`, `npm:site` and
 * `C:\site\main.ts` are modules as a whole.
 *
 * @throws {CommandError} The text names no module.
 */
export function parseTarget(text: string, directory: string): Target {
  const colon = text.lastIndexOf(":");
  const before = text.slice(0, Math.max(colon, 0));
  const after = text.slice(colon + 1);
  const separates = colon !== -1 && IDENTIFIER.test(after) &&
    !SCHEME.test(before) && !isDriveLetter(before);
  const module = separates ? before : text;
  const specifier = toSpecifier(module, directory);
  if (specifier === null) {
    throw new CommandError(
      `Cannot read target "${text}": expected <module>:<attribute>, such as main.ts:app`,
      USAGE_EXIT_CODE,
    );
  }
  return { module, specifier, attribute: separates ? after : null };
}

/** The specifier that imports a module; `null` for what cannot be one. */
function toSpecifier(module: string, directory: string): string | null {
  if (module === "" || module.endsWith(":")) return null;
  if (module.startsWith("file:")) return isFileUrl(module) ? module : null;
  if (URL_LIKE.test(module)) return URL.canParse(module) ? module : null;
  return pathToFileURL(resolve(directory, module)).href;
}

function isFileUrl(url: string): boolean {
  try {
    fileURLToPath(url);
    return true;
  } catch {
    return false; // a host, or a broken escape
  }
}

function isDriveLetter(text: string): boolean {
  return Deno.build.os === "windows" && /^[a-z]$/i.test(text);
}
