// `deno task denokv:install`: builds denokv from source, with cargo; some minutes. It is kept for
// other checkouts, too.

import { join } from "node:path";
import { findDenokv, INSTALL_FOLDER } from "./denokv.ts";

/** Where rustup puts cargo, which not every shell has on its path. */
const RUSTUP_FOLDER = join(Deno.env.get("CARGO_HOME") ?? join(Deno.env.get("HOME") ?? "", ".cargo"), "bin");

const found = await findDenokv();
if (found !== undefined) console.log(`denokv is there: ${found}`);
else {
  const args = ["install", "denokv", "--version", "^0.14", "--locked", "--root", INSTALL_FOLDER];
  const separator = Deno.build.os === "windows" ? ";" : ":";
  // Both are on the path: cargo, and the compiler that it calls.
  const env = { PATH: `${Deno.env.get("PATH") ?? ""}${separator}${RUSTUP_FOLDER}` };
  const { code } = await new Deno.Command("cargo", { args, env, stdin: "null" }).spawn().status;
  Deno.exit(code);
}
