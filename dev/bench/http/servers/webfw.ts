// The workloads on webfw.

import { App } from "../../../../mod.ts";
import { announce } from "./listen.ts";
import { routes } from "./routes.ts";

const app = new App();
app.include(routes);
await app.run({ port: 0, onListen: ({ port }) => announce(port) });
