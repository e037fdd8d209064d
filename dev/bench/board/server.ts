// The workloads on webfw, with the board of this machine or without. Nobody looks at the board.

import process from "node:process";
import { App } from "../../../mod.ts";
import { announce } from "../http/servers/listen.ts";
import { routes } from "../http/servers/routes.ts";

const app = new App();
if (process.argv[4] === "board") {
  const { showBoard } = Reflect.get(app, Symbol.for("webfw.app")) as { showBoard(): string };
  showBoard();
}
app.include(routes);
await app.run({ port: 0, onListen: ({ port }) => announce(port) });
