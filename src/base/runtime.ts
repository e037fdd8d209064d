/** What the framework needs of Deno and Node.js: variables, permissions, late modules. */
import { load } from "./async_context.ts";

/**
 * Without the permission it counts as unset: to request it would stop the program with a prompt.
 */
export function readVariable(name: string): string | undefined {
  return mayRead(name) ? Deno.env.get(name) : undefined;
}

export function mayRead(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}

/**
 * Whether this process is `deno serve`, by its command line. Only Linux shows that, and only to a
 * program with all permissions (`-A`). Elsewhere the answer is false.
 */
export function isDenoServe(): boolean {
  // A compiled program has its own command line.
  if (Deno.build.os !== "linux" || Deno.build.standalone) return false;
  const path = "/proc/self/cmdline";
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return false;
  try {
    return Deno.readTextFileSync(path).split("\0")[1] === "serve";
  } catch (error) {
    // Deno demands all permissions for files below /proc.
    if (error instanceof Deno.errors.NotCapable) return false;
    throw error;
  }
}

/** Typed here: programs can be checked without the globals of Node.js. */
const scope = globalThis as unknown as { readonly process: typeof import("node:process") };

let timers: typeof import("node:timers") | undefined;
let net: typeof import("node:net") | undefined;

/**
 * The module `node:path`. An import would load it at each start, which costs Deno several
 * milliseconds and MiB; most applications use none of these modules.
 */
export function nodePath(): typeof import("node:path") {
  return scope.process.getBuiltinModule("node:path");
}

export function nodeUrl(): typeof import("node:url") {
  return scope.process.getBuiltinModule("node:url");
}

export function nodeCrypto(): typeof import("node:crypto") {
  return scope.process.getBuiltinModule("node:crypto");
}

export function nodeNet(): typeof import("node:net") {
  return net ??= scope.process.getBuiltinModule("node:net");
}

export function nodeAsyncHooks(): typeof import("node:async_hooks") {
  return scope.process.getBuiltinModule("node:async_hooks");
}

export function nodeTimers(): typeof import("node:timers") {
  return timers ??= scope.process.getBuiltinModule("node:timers");
}

/**
 * Loads a module of a package that few applications need. For a literal in `import()`, Deno would
 * download the package with every application.
 *
 * @param type The type of a file that is no code.
 * @throws {Error} If it cannot be loaded.
 */
export async function importLate<Module>(specifier: string, type?: "json" | "text"): Promise<Module> {
  try {
    // The packages are in tests/unit/describe/late_packages_test.ts.
    const options = type === undefined ? undefined : { with: { type } };
    // deno-lint-ignore webfw/import-direction -- a literal would be downloaded at once
    return await load(() => import(specifier, options));
  } catch (cause) {
    throw new Error(`Cannot load "${specifier}": it could not be downloaded, run "deno cache" beforehand`, { cause });
  }
}

const COMMAND: unique symbol = Symbol.for("webfw.command");

/**
 * A global of the command line, which loads programs. The release of the command may be another.
 */
export interface Command {
  /** The module of the program: under the command, `Deno.mainModule` is a `data:` URL. */
  readonly main?: string;
  /** `webfw env` collects here what `settings()` declares, and gives no values. */
  readonly settings?: object[];
  /** Whether the program only reads stores, and makes no file. */
  readonly readsOnly?: boolean;
  /** Whether the module is being loaded, so that `App.run()` refuses, and sets `refusal`. */
  readonly isLoading?: boolean;
  refusal?: Error;
}

/** The command that loads the program; undefined if none does. */
export function loadingCommand(): Command | undefined {
  return Reflect.get(globalThis, COMMAND);
}
