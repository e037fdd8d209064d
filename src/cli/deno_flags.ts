// Which flags of a command line are Deno's permission flags, and which permissions the program gets.

const GRANT =
  /^(-A|-[RWNEIS]+(=.*)?|-P(=.*)?|--permission-set(=.*)?|--allow-(?!scripts)[a-z]+(=.*)?|--(deny|ignore)-[a-z]+(=.*)?)$/s;

/** Whether an argument is one of the flags by which `deno run` is told what a program may do. */
export function isPermissionFlag(argument: string): boolean {
  return argument === "--no-prompt" || GRANT.test(argument);
}

/** The flags as they were given, with all permissions if they say nothing of any. */
export function withPermissions(flags: readonly string[]): string[] {
  return flags.some((flag) => GRANT.test(flag)) ? [...flags] : ["-A", ...flags];
}
