/** Serves the accounts at http://127.0.0.1:8000. */
import { app } from "./main.ts";

await app.run({ port: 8000 });
