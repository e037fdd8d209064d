// The servers that are compared, and the command that starts each.

import { join } from "node:path";
import { isInstalled } from "./programs.ts";

const HERE = import.meta.dirname!;
const PEERS = join(HERE, "..", "peers");

/** A server under comparison. */
export interface Server {
  name: string;
  /** The program and its arguments; the number of filler routes goes behind the file. */
  command(fillerRoutes: number): string[];
}

/** The name of the server to which all others are compared. */
export const BASELINE = "deno";

/**
 * All servers that can run here. Fetches the packages of the peers, so that no start waits for the network, and
 * bundles the one for Node.js into `directory`.
 */
export async function prepareServers(directory: string): Promise<Server[]> {
  const peers = ["hono", "zod_openapi", "h3", "elysia", "fastify"];
  await deno([
    "install",
    ...peerArguments(),
    "--entrypoint",
    ...peers.map(peerFile),
  ]);
  const servers = [
    own("webfw", "webfw.ts"),
    own(BASELINE, "deno.ts"),
    own("deno-bare", "deno.ts", "bare"),
    ...peers.map((name) => peer(name)),
  ];
  if (!await isInstalled("node")) return servers;
  const bundle = join(directory, "fastify.mjs");
  await deno(["bundle", ...peerArguments(), "-o", bundle, peerFile("fastify")]);
  return [...servers, {
    name: "fastify-node",
    command: (fillerRoutes) => ["node", bundle, `${fillerRoutes}`],
  }];
}

/** A server of this repository, resolved as the task runner found it to fit. */
function own(name: string, file: string, ...rest: string[]): Server {
  const config = Deno.env.get("WEBFW_CONFIG");
  return {
    name,
    command: (fillerRoutes) => [
      Deno.execPath(),
      "run",
      ...(config ? ["--config", config] : []),
      "-A",
      join(HERE, "servers", file),
      `${fillerRoutes}`,
      ...rest,
    ],
  };
}

function peer(name: string): Server {
  return {
    name: name.replace("_", "-"),
    command: (fillerRoutes) => [
      Deno.execPath(),
      "run",
      ...peerArguments(),
      "-A",
      peerFile(name),
      `${fillerRoutes}`,
    ],
  };
}

function peerFile(name: string): string {
  return join(PEERS, `${name}.ts`);
}

/** The peers have a configuration and a lock file of their own, so that the package knows nothing of them. */
function peerArguments(): string[] {
  return ["--config", join(PEERS, "deno.json"), "--frozen"];
}

async function deno(args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args })
    .output();
  if (success) return;
  throw new Error(
    `Cannot prepare the servers: deno ${args[0]} failed\n${
      new TextDecoder().decode(stderr)
    }`,
  );
}
