// The official client of the revisions up to 2025-11-25, which signs in:
// `first_generation_signing_in.ts <url> <calls>`.

import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { converseSignedIn, SignIn } from "./signing_in.ts";

const url = new URL(Deno.args[0]!);
const signIn = new SignIn();
const authProvider = signIn.provider as OAuthClientProvider;
let transport: StreamableHTTPClientTransport;

await converseSignedIn(signIn, async () => {
  const client = new Client({ name: "first-generation", version: "1.0.0" });
  transport = new StreamableHTTPClientTransport(url, { authProvider });
  await client.connect(transport);
  return {
    version: transport.protocolVersion,
    listTools: () => client.listTools(),
    callTool: (call) => client.callTool(call),
    close: () => client.close(),
  };
}, (code) => transport.finishAuth(code.get("code")!));
