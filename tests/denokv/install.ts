// `deno task denokv:install`: builds denokv from source, with cargo; some minutes. It is kept for other checkouts, too.

import { findDenokv, INSTALL_FOLDER } from "./denokv.ts";

const found = await findDenokv();
if (found !== undefined) console.log(`denokv is there: ${found}`);
else {
  const args = ["install", "denokv", "--version", "^0.14", "--locked", "--root", INSTALL_FOLDER];
  const { code } = await new Deno.Command("cargo", { args, stdin: "null" }).spawn().status;
  Deno.exit(code);
}
