// The smallest server of Deno: the reference of all starts.

import { GREETING } from "../greeting.ts";

Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(`port ${port}`) },
  async () => new Response(GREETING),
);
