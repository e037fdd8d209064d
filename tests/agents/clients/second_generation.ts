// The official client of all revisions: `second_generation.ts <url> <legacy|auto|revision>
// <calls>`.

import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from "@modelcontextprotocol/client";
import { converse } from "./session.ts";

const [url = "", mode = "auto"] = Deno.args;
const client = new Client({ name: "second-generation", version: "1.0.0" }, {
  versionNegotiation: { mode: (/^\d/.test(mode) ? { pin: mode } : mode) as VersionNegotiationMode },
});
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { authorization: "Bearer ada" } },
});
await client.connect(transport);
await converse({
  version: client.getNegotiatedProtocolVersion(),
  listTools: () => client.listTools(),
  callTool: (call) => client.callTool(call),
  close: () => client.close(),
});
