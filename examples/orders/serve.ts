/** Serves one node of the shop, where its URL says. */
import { app, url } from "./main.ts";

const { hostname, port } = new URL(url);
await app.run({ hostname, port: Number(port) });
