// `deno task nats:install`: builds nats-server from source, with go; about a minute. It is kept for
// other checkouts, too.

import { findNats, INSTALL_FOLDER } from "./nats_server.ts";

/** The version that the tests were written with. */
const PACKAGE = "github.com/nats-io/nats-server/v2@v2.15.2";

const found = await findNats();
if (found !== undefined) console.log(`nats-server is there: ${found}`);
else {
  // A go that is too old downloads the one that the server needs.
  const env = { GOBIN: INSTALL_FOLDER, GOTOOLCHAIN: "auto" };
  const { code } = await new Deno.Command("go", { args: ["install", PACKAGE], env, stdin: "null" }).spawn().status;
  Deno.exit(code);
}
