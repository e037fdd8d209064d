// Webhooks in files, whose processes are killed.

import { type PreparedStore, testWebhookNodes } from "../contract/webhooks.ts";

async function inFolder(topicsOf: (folder: string) => unknown): Promise<PreparedStore> {
  const folder = await Deno.makeTempDir({ prefix: "webfw_webhooks_" });
  return { topics: topicsOf(folder), [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

testWebhookNodes("SQLite", () => inFolder((folder) => ({ sqlite: `${folder}/shop.sqlite` })));
testWebhookNodes("a file", () => inFolder((folder) => `${folder}/topics.sqlite`));
