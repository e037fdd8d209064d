/** Serves one node, at the address of `PORT` and `WEBFW_HOST`. */
import { app } from "./main.ts";

// Meanwhile replies close their connections, so that the proxy keeps none to a node that has stopped.
await app.run({ drainDelay: "1s" });
