/** Why a store cannot be opened: permissions, and the messages of errors. */
import { CannotOpenError } from "./topic_store.ts";

export type NeededPermission =
  | { readonly name: "read" | "write"; readonly path: string }
  | { readonly name: "net"; readonly host: string }
  | { readonly name: "env"; readonly variable: string };

const CLIENT_CURES =
  'start the program with "webfw run", give Deno the flag --unstable-kv, or put "unstable": ["kv"] into deno.json';

/** All missing permissions: Deno reports one at each attempt. On a terminal it prompts the user. */
export async function missingPermissions(needed: readonly NeededPermission[]): Promise<NeededPermission[]> {
  const missing: NeededPermission[] = [];
  // One after another: Deno has one prompt.
  for (const permission of needed) {
    if (await isGranted(permission)) continue;
    const isAsked = permission.name !== "env" && (await Deno.permissions.request(permission)).state === "granted";
    if (!isAsked) missing.push(permission);
  }
  return missing;
}

/** Deno does not prompt the user. */
export async function isGranted(permission: NeededPermission): Promise<boolean> {
  return (await Deno.permissions.query(permission)).state === "granted";
}

/** The host of a URL, as `--allow-net` expects it. */
export function hostOf({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

export function toFlag(permission: NeededPermission): string {
  switch (permission.name) {
    case "net":
      return `--allow-net=${permission.host}`;
    case "env":
      return `--allow-env=${permission.variable}`;
    default:
      return `--allow-${permission.name}=${quote(permission.path)}`;
  }
}

function quote(path: string): string {
  return /^[\w./:@+~\\-]+$/.test(path) ? path : JSON.stringify(path);
}

/** The error has no cause, whose stack would hide the message. The name has no secrets. */
export function cannotOpen(name: string, reason: string): CannotOpenError {
  return new CannotOpenError(`Cannot open the store of topics "${name}": ${reason}`);
}

export function permissionsReason(missing: readonly NeededPermission[]): string {
  return `permissions are missing, start Deno with ${missing.map(toFlag).join(" ")}`;
}

/** The error of a file without a client. `flags` are further flags that the program needs then. */
export function clientMissing(name: string, cause?: unknown, flags: readonly string[] = []): CannotOpenError {
  const why = cause === undefined ? "" : ` (${innermostReason(cause)})`;
  const then = flags.length === 0 ? "" : `; then with ${flags.join(" ")}`;
  const cures = `${CLIENT_CURES}${then}; for tests, set WEBFW_TOPICS=:memory:`;
  return cannotOpen(name, `this Deno has no KV client, and npm's cannot be loaded${why}, ${cures}`);
}

export function packageMissing(name: string, what: string, cause: unknown, specifier: string): CannotOpenError {
  const cure = `let Deno download it, or run "deno cache ${specifier}" where the program is built`;
  return cannotOpen(name, `${what} cannot be loaded (${innermostReason(cause)}), ${cure}`);
}

export function innermostReason(error: unknown): string {
  if (error instanceof Error && error.cause !== undefined) return innermostReason(error.cause);
  return reasonOf(error).replace(/\.$/, "");
}

/** In one line: clients of files add a backtrace. */
export function reasonOf(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return line;
}

/** Whether SQLite refused because another process is writing. */
export function isBusyFile(error: unknown): boolean {
  return error instanceof Error && error.message.includes("database is locked");
}
