// Agents sign in: the official clients of both generations, and the one of FastMCP in Python. They
// find the authorization server by the challenge of /mcp (RFC 9728) and its metadata (RFC 8414),
// register (RFC 7591), get a token for the endpoint (RFC 8707) by PKCE, and call guarded tools.

import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { jwt } from "@webfw/core/auth";
import { AGENTS_FOLDER, isMissing, Toolbox } from "../describe/toolbox.ts";
import { Serving } from "../spec/support/serving.ts";
import { AuthorizationServer } from "../support/authorization_server.ts";
import { hasPrograms, run } from "./programs.ts";

const hasClients = await hasPrograms();
const python = await Toolbox.agents();
const isPythonMissing = await isMissing(python);

interface Seen {
  readonly results: readonly ({ readonly structuredContent?: unknown } | Readonly<Record<string, unknown>>)[];
  /** How often the user had been sent to the authorization server when the client was connected. */
  readonly afterConnect: number;
  /** How often in all. */
  readonly visits: number;
}

interface TestedClient {
  readonly name: string;
  readonly ignore: boolean;
  readonly use: (url: string, calls: string) => Promise<Seen>;
}

const CLIENTS: readonly TestedClient[] = [
  official("of the first generation", "first_generation_signing_in.ts", []),
  official("of the second generation, as it comes,", "second_generation_signing_in.ts", ["legacy"]),
  official("of the second generation, left to choose,", "second_generation_signing_in.ts", ["auto"]),
  {
    name: "client of FastMCP",
    ignore: isPythonMissing,
    use: async (url, calls) => {
      const env = { FASTMCP_LOG_LEVEL: "ERROR", PYTHONWARNINGS: "ignore" };
      return lastLine(await python.run("python", [`${AGENTS_FOLDER}signing_in.py`, url, calls], AGENTS_FOLDER, env));
    },
  },
];

function official(name: string, program: string, mode: readonly string[]): TestedClient {
  const use = async (url: string, calls: string): Promise<Seen> => {
    const { code, stdout, stderr } = await run(program, [url, ...mode, calls]);
    assertEquals({ code, stderr }, { code: 0, stderr: "" });
    return lastLine(stdout);
  };
  return { name: `official client ${name}`, ignore: !hasClients, use };
}

function lastLine(output: string): Seen {
  return JSON.parse(output.trimEnd().split("\n").findLast((line) => line.startsWith("{"))!);
}

/** An application whose tools need scopes. One of them is open, if not all need a token. */
function appOf(issuer: string, hasOpenTool: boolean): App {
  const member = jwt({ issuer, audience: null, openIdConnectUrl: `${issuer}/.well-known/openid-configuration` });
  const app = new App({ title: "Books" });
  if (hasOpenTool) {
    app.get("/open", { tool: true }, async function open() {
      return { open: true };
    });
  }
  const deps = (scope: string) => ({ user: member.withScopes(scope) });
  app.get("/books", { deps: deps("books:read"), tool: true }, async function readBooks(_request, { user }) {
    return { reader: user.sub, audience: user.aud };
  });
  app.post("/books", { deps: deps("books:write"), tool: true }, async function writeBook(_request, { user }) {
    return { writer: user.sub };
  });
  return app;
}

function callsOf(...names: string[]): string {
  return JSON.stringify(names.map((name) => ({ name, arguments: {} })));
}

/** What a client saw, in the same form for all. */
function outcome({ results, afterConnect, visits }: Seen) {
  const values = results.map((result) => "structuredContent" in result ? result.structuredContent : result);
  return { values, afterConnect, visits };
}

for (const { name, ignore, use } of CLIENTS) {
  Deno.test(`The ${name} signs in when it connects, where every tool needs a token`, { ignore }, async () => {
    await using server = await AuthorizationServer.start();
    await using serving = await Serving.start(appOf(server.issuer, false));
    const url = `${serving.origin}/mcp`;
    assertEquals(outcome(await use(url, callsOf("readBooks", "writeBook"))), {
      values: [{ reader: "ada", audience: url }, { writer: "ada" }],
      afterConnect: 1,
      visits: 1,
    });
  });

  Deno.test(`The ${name} signs in when a call is refused, and asks for more scopes later`, { ignore }, async () => {
    await using server = await AuthorizationServer.start();
    await using serving = await Serving.start(appOf(server.issuer, true));
    const url = `${serving.origin}/mcp`;
    assertEquals(outcome(await use(url, callsOf("open", "readBooks", "writeBook"))), {
      values: [{ open: true }, { reader: "ada", audience: url }, { writer: "ada" }],
      afterConnect: 0,
      visits: 2,
    });
  });
}
