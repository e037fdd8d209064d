// The smallest server whose first reply commits to Deno KV, in the file that the argument names.

import { GREETING } from "../greeting.ts";

const kv = await Deno.openKv(Deno.args[0]);

Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(`port ${port}`) },
  async () => {
    await kv.set(["greetings", crypto.randomUUID()], GREETING);
    return new Response(GREETING);
  },
);
