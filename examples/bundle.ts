/** Makes what a page loads. */
import { fileURLToPath } from "node:url";

/**
 * Bundles a TypeScript module, and what it imports, into one script for browsers. That takes some
 * hundredths of a second. The first time, Deno downloads its bundler from npm.
 *
 * @param module The module. The `deno.json` above it is used.
 */
export async function bundle(module: URL): Promise<Blob> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--no-lock", "--platform", "browser", "--minify", fileURLToPath(module)],
    cwd: fileURLToPath(new URL(".", module)),
  });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(`Cannot bundle ${module}: ${new TextDecoder().decode(stderr)}`);
  return new Blob([stdout], { type: "text/javascript" });
}
