// Serves the application in production: on PORT and WEBFW_HOST, until SIGTERM.

import { app } from "./main.ts";

await app.run({ accessLog: true });
