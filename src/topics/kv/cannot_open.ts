/** How the errors of stores that cannot be opened are worded. */
import { CannotOpenError } from "../topic_errors.ts";

/** What gives a program a client of Deno KV. */
const CLIENT_CURES =
  'start the program with "webfw run", give Deno the flag --unstable-kv, or put "unstable": ["kv"] into deno.json';

/**
 * The error of a store that cannot be opened. It says all in its message, and has no cause whose
 * stack would hide that.
 *
 * @param name Names the store. It holds no secret.
 * @param reason Why, and what to do.
 */
export function cannotOpen(name: string, reason: string): CannotOpenError {
  return new CannotOpenError(`Cannot open the store of topics "${name}": ${reason}`);
}

/**
 * The error where there is no client.
 *
 * @param name Names the store.
 * @param cause Why npm's cannot be loaded, where that was tried.
 * @param flags What the program needs with a client.
 */
export function clientMissing(name: string, cause?: unknown, flags: readonly string[] = []): CannotOpenError {
  const why = cause === undefined ? "" : ` (${reasonOf(innermost(cause)).replace(/\.$/, "")})`;
  const then = flags.length === 0 ? "" : `; then with ${flags.join(" ")}`;
  return cannotOpen(name, `this Deno has no KV client, and npm's cannot be loaded${why}, ${CLIENT_CURES}${then}`);
}

function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? innermost(error.cause) : error;
}

/** Why something failed, in one line: clients of files tell the state of their stack, too. */
export function reasonOf(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return line;
}

/**
 * SQLite refuses at once where another process writes between the checks of a write and its
 * changes.
 */
export function isBusyFile(error: unknown): boolean {
  return error instanceof Error && error.message.includes("database is locked");
}
