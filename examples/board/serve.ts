/** Serves one node, at the address of `PORT` and `WEBFW_HOST`. */
import { app } from "./main.ts";

await app.run();
