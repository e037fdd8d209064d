/** Variables of the environment, for a program that may not be allowed to read them. */

/**
 * Reads a variable. One that the program may not read counts as not set: reading it would be an
 * error, or stop the program with a prompt.
 *
 * @param name Its name.
 */
export function readVariable(name: string): string | undefined {
  return mayRead(name) ? Deno.env.get(name) : undefined;
}

/** Whether the program may read a variable. */
export function mayRead(name: string): boolean {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted";
}
