/** Variables, permissions and late modules of Deno and Node.js. */
import { load } from "./async_context.ts";

/** Undefined without permission: Deno would stop the program with a prompt. */
export function readVariable(name: string): string | undefined {
  return mayRead(name) ? Deno.env.get(name) : undefined;
}

export function mayRead(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}

/** Only Linux shows the command line, and only with all permissions (`-A`). */
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

/** Typed here, for programs without the globals of Node.js. */
const scope = globalThis as unknown as { readonly process: typeof import("node:process") };

let timers: typeof import("node:timers") | undefined;
let net: typeof import("node:net") | undefined;

/** Not an import, which costs each start of Deno several milliseconds and MiB. */
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

export function nodeHttp(): typeof import("node:http") {
  return scope.process.getBuiltinModule("node:http");
}

export function nodeDns(): typeof import("node:dns/promises") {
  return scope.process.getBuiltinModule("node:dns/promises");
}

export function nodeAsyncHooks(): typeof import("node:async_hooks") {
  return scope.process.getBuiltinModule("node:async_hooks");
}

export function nodeStream(): typeof import("node:stream") {
  return scope.process.getBuiltinModule("node:stream");
}

export function nodeZlib(): typeof import("node:zlib") {
  return scope.process.getBuiltinModule("node:zlib");
}

export function nodeTimers(): typeof import("node:timers") {
  return timers ??= scope.process.getBuiltinModule("node:timers");
}

/**
 * Loads a module of a package. Deno would download the package with every application if it were a
 * literal in `import()`.
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

/** A global of the command line, which may be of another release. */
export interface Command {
  /** The user's module: `Deno.mainModule` is a `data:` URL. */
  readonly main?: string;
  /** For `webfw env`: collects the settings. */
  readonly settings?: object[];
  /** Whether stores are only read, and no file is made. */
  readonly readsOnly?: boolean;
  /** Whether the module is being loaded, so that `App.run()` refuses, and sets `refusal`. */
  readonly isLoading?: boolean;
  refusal?: Error;
}

/** Undefined without the command line. */
export function loadingCommand(): Command | undefined {
  return Reflect.get(globalThis, COMMAND);
}
