// The least that Deno can start with: what every other start is compared with.

import { GREETING } from "../greeting.ts";

Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(`port ${port}`) },
  async () => new Response(GREETING),
);
