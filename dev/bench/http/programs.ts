// Looking for programs on the PATH.

/** Whether a program can be started by its name. */
export async function isInstalled(program: string): Promise<boolean> {
  try {
    await new Deno.Command(program, {
      args: ["--version"],
      stdout: "null",
      stderr: "null",
    }).output();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
