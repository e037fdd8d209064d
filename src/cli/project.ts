/** The target of a command: a module, its export, and the configuration of its project. */

import { fileURLToPath, pathToFileURL } from "node:url";
import { dirname, join, resolve } from "node:path";
import { CommandError, USAGE_EXIT_CODE } from "./command.ts";

interface Target {
  /** As the user wrote it. */
  readonly module: string;
  /** A URL, or `jsr:` or `npm:`. */
  readonly specifier: string;
  /** `null` for `app`, else `default`. */
  readonly attribute: string | null;
}

/** In this order. */
const MAIN_NAMES = ["main.ts", "main.tsx", "main.js"] as const;
const SCHEME = /^(file|https?|jsr|npm)$/;
const URL_LIKE = /^(file|https?|jsr|npm):/;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/**
 * Parses `<module>` or `<module>:<attribute>`. `https://localhost:8080/main.ts`, `npm:site` and
 * `C:\site\main.ts` are modules without an attribute.
 *
 * @throws {CommandError} If there is no module.
 */
export function parseTarget(text: string, directory: string): Target {
  const colon = text.lastIndexOf(":");
  const before = text.slice(0, Math.max(colon, 0));
  const after = text.slice(colon + 1);
  const hasAttribute = colon !== -1 && IDENTIFIER.test(after) && !SCHEME.test(before) && !isDriveLetter(before);
  const module = hasAttribute ? before : text;
  const specifier = toSpecifier(module, directory);
  if (specifier === null) {
    throw new CommandError(
      `Cannot read target "${text}": expected <module>:<attribute>, such as main.ts:app`,
      USAGE_EXIT_CODE,
    );
  }
  return { module, specifier, attribute: hasAttribute ? after : null };
}

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
    return false; // The URL has a host or a broken escape.
  }
}

function isDriveLetter(text: string): boolean {
  return Deno.build.os === "windows" && /^[a-z]$/i.test(text);
}

/**
 * Names the nearest deno.json or deno.jsonc above a local module, or above the working directory
 * for a remote one. By default, Deno would use that of the working directory.
 *
 * @param named A path from the user.
 * @throws {CommandError} If there is no such file.
 */
export async function configFlags(target: Target, named: string | undefined, directory: string): Promise<string[]> {
  if (named !== undefined) {
    const file = resolve(directory, named);
    if (!await isFile(file)) throw new CommandError(`Cannot read configuration "${named}": no such file`);
    return ["--config", file];
  }
  const module = localPath(target);
  const start = module === null ? directory : dirname(module);
  const config = await findAbove(start, ["deno.json", "deno.jsonc"]);
  if (config !== null) return ["--config", config];
  // Without a deno.json, Deno searches for a package.json only next to a local main module.
  const isNodeProject = await findAbove(start, ["package.json"]) !== null;
  return isNodeProject ? ["--no-config", "--node-modules-dir=manual"] : ["--no-config"];
}

/** In a folder, finds its main module. */
export async function findModule(target: Target): Promise<Target> {
  const path = localPath(target);
  if (path === null || await isFile(path)) return target;
  if ((await stat(path))?.isDirectory) return await findMain(target, path);
  throw new CommandError(`Cannot find module "${target.module}"${await hintFor(target.module, path)}`);
}

async function findMain({ module, attribute }: Target, folder: string): Promise<Target> {
  for (const name of MAIN_NAMES) {
    const file = join(folder, name);
    if (await isFile(file)) {
      return { module: join(module, name), specifier: pathToFileURL(file).href, attribute };
    }
  }
  throw new CommandError(`Cannot find module "${module}": it is a folder without ${MAIN_NAMES[0]}, name a file in it`);
}

async function hintFor(module: string, path: string): Promise<string> {
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

export async function isFile(path: string): Promise<boolean> {
  return (await stat(path))?.isFile ?? false;
}

/** `null` if the path does not exist, or is not readable. */
async function stat(path: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.stat(path);
  } catch {
    return null;
  }
}
