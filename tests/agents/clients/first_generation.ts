// The official client of the revisions up to 2025-11-25: `first_generation.ts <url> <calls>`.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { converse } from "./session.ts";

const client = new Client({ name: "first-generation", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(Deno.args[0]!), {
  requestInit: { headers: { authorization: "Bearer ada" } },
});
await client.connect(transport);
await converse({
  version: transport.protocolVersion,
  listTools: () => client.listTools(),
  callTool: (call) => client.callTool(call),
  close: () => client.close(),
});
