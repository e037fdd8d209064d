/** The application that a command names: its module, the export, and the configuration of its project. */

import { fileURLToPath, pathToFileURL } from "node:url";
import { dirname, join, resolve } from "node:path";
import { CommandError, USAGE_EXIT_CODE } from "./command.ts";

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

/** Where to look for a configuration. */
export interface ConfigSearch {
  /** Value of `--config`. */
  readonly option: string | undefined;
  /** Value of the environment variable `WEBFW_CONFIG`. */
  readonly variable: string | undefined;
  /** The directory of the command. */
  readonly directory: string;
}

/**
 * The flags that make `deno run` use the configuration of the target's own project. They are needed in every case: the
 * module that Deno is given is a `data:` URL, for which it would take the configuration of the working directory.
 *
 * A target on the disk has the nearest deno.json or deno.jsonc above it, any other the one above the working directory.
 *
 * @throws {CommandError} The configuration that was named does not exist.
 */
export async function configFlags(target: Target, { option, variable, directory }: ConfigSearch): Promise<string[]> {
  const named = option ?? (variable || undefined);
  if (named !== undefined) {
    const file = resolve(directory, named);
    if (!await isFile(file)) throw new CommandError(`Cannot read configuration "${named}": no such file`);
    return ["--config", file];
  }
  const module = localPath(target);
  const start = module === null ? directory : dirname(module);
  const config = await findAbove(start, ["deno.json", "deno.jsonc"]);
  if (config !== null) return ["--config", config];
  // Without a deno.json, `deno run` resolves by a package.json only if the main module is a file beside it.
  const isNodeProject = await findAbove(start, ["package.json"]) !== null;
  return isNodeProject ? ["--no-config", "--node-modules-dir=manual"] : ["--no-config"];
}

/**
 * Checks that a module on the disk is there.
 *
 * @throws {CommandError} There is no such file.
 */
export async function requireModule(target: Target): Promise<void> {
  const path = localPath(target);
  if (path === null || await isFile(path)) return;
  throw new CommandError(`Cannot find module "${target.module}"${await hintFor(target.module, path)}`);
}

/** What may be wrong with the path of a module that is no file. */
async function hintFor(module: string, path: string): Promise<string> {
  if (await isFolder(path)) return ": it is a folder, name a file in it";
  if (await isFile(`${path}.ts`)) return `: did you mean "${module}.ts"?`;
  const extension = /\.[cm]?[jt]sx?$/;
  if (await isFile(path.replace(extension, ".ts"))) return `: did you mean "${module.replace(extension, ".ts")}"?`;
  return "";
}

function localPath({ specifier }: Target): string | null {
  return specifier.startsWith("file:") ? fileURLToPath(specifier) : null;
}

async function findAbove(start: string, names: readonly string[]): Promise<string | null> {
  for (let directory = start;; directory = dirname(directory)) {
    for (const name of names) {
      const file = join(directory, name);
      if (await isFile(file)) return file;
    }
    if (dirname(directory) === directory) return null;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false;
  }
}

/** Whether a path leads to a file. One that cannot be looked at, for whatever reason, does not. */
async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}
