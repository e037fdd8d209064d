// Webhooks over denokv.

import { testWebhookNodes } from "../contract/webhooks.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

if (hasDenokv) {
  testWebhookNodes("a denokv", async () => {
    const server = await Denokv.start();
    const { url, token } = server;
    return { topics: { url, token }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  });
} else Deno.test.ignore('Webhooks over a denokv: there is none, run "deno task denokv:install"', () => {});
