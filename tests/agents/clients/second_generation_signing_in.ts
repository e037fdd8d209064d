// The official client of all revisions, which signs in:
// `second_generation_signing_in.ts <url> <legacy|auto> <calls>`.

import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { converseSignedIn, SignIn } from "./signing_in.ts";

const [url = "", mode = "auto"] = Deno.args;
const signIn = new SignIn();
const authProvider = signIn.provider as OAuthClientProvider;
let transport: StreamableHTTPClientTransport;

await converseSignedIn(signIn, async () => {
  const client = new Client({ name: "second-generation", version: "1.0.0" }, {
    versionNegotiation: { mode: mode as VersionNegotiationMode },
  });
  transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  await client.connect(transport);
  return {
    version: client.getNegotiatedProtocolVersion(),
    listTools: () => client.listTools(),
    callTool: (call) => client.callTool(call),
    close: () => client.close(),
  };
}, (code) => transport.finishAuth(code));
