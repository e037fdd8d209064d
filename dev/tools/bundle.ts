// Bundles a program for browsers, as the applications that use it do.

import { prepareDeno } from "./deno.ts";

/** The choices of a bundle. */
export interface BundleOptions {
  /** Whether modules that are imported on first use have files of their own. */
  splits: boolean;
  minifies: boolean;
}

/**
 * Bundles a program into a folder. The file of the program has the name of its module, with `.js`.
 *
 * @throws {Error} If a module cannot be found, or is not for browsers.
 */
export async function bundle(module: string, folder: string, { splits, minifies }: BundleOptions): Promise<void> {
  const flags = ["--platform", "browser", ...splits ? ["--code-splitting"] : [], ...minifies ? ["--minify"] : []];
  const args = ["bundle", "--quiet", "--no-lock", ...flags, "--outdir", folder, module];
  await using prepared = await prepareDeno(args, { stdin: "null", stdout: "null", stderr: "piped" });
  const { success, stderr } = await prepared.command.output();
  if (!success) throw new Error(`Cannot bundle "${module}": ${new TextDecoder().decode(stderr)}`);
}
