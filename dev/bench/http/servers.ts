// The servers that are compared, and the command that starts each.

import { join } from "node:path";
import { ownProgram } from "../own_program.ts";
import type { Entry } from "./measurement.ts";
import { isInstalled } from "./programs.ts";
import type { Workload } from "./workloads.ts";

const HERE = import.meta.dirname!;
const PEERS = join(HERE, "..", "peers");

/** A server under comparison. */
export interface Server {
  name: string;
  /**
   * The only workload in which it differs from the server that it is a kind of; undefined where it
   * differs in all.
   */
  workload?: string;
  /** The program and its arguments, for a number of filler routes. */
  command(fillerRoutes: number): string[];
}

/** The name of the server to which all others are compared. */
export const BASELINE = "deno";

const SYNC = "-sync";
const BOUNDED = "-bounded";

/** The servers that are also measured with handlers that are not async. */
const CAN_BE_SYNC = [BASELINE, "hono"];

/** The other frameworks, with the packages that bench/peers pins. */
const PEER_NAMES = ["hono", "zod-openapi", "h3", "elysia", "fastify"];

/**
 * All servers that can run here. Fetches the packages of the peers, so that no start waits for the
 * network, and bundles the one for Node.js into `directory`.
 */
export async function prepareServers(directory: string): Promise<Server[]> {
  await deno([
    "install",
    ...peerArguments(),
    "--entrypoint",
    ...PEER_NAMES.map(peerPath),
  ]);
  const servers = [
    server("webfw", ownProgram(join(HERE, "servers", "webfw.ts"))),
    server(BASELINE, ownProgram(join(HERE, "servers", "deno.ts"))),
    ...PEER_NAMES.map((name) =>
      server(name, [
        Deno.execPath(),
        "run",
        ...peerArguments(),
        "-A",
        peerPath(name),
      ])
    ),
  ];
  if (await isInstalled("node")) {
    const file = join(directory, "fastify.mjs");
    await deno(["bundle", ...peerArguments(), "-o", file, peerPath("fastify")]);
    servers.push(server("fastify-node", ["node", file]));
  }
  return [
    ...servers,
    ...servers.filter(({ name }) => CAN_BE_SYNC.includes(name)).map(withSyncHandlers),
    ...servers.filter(({ name }) => name === BASELINE).map(withBounds),
  ];
}

/** The servers that take part in a workload, with each number of filler routes. */
export function entriesOf(workload: Workload, servers: Server[]): Entry[] {
  const own = servers.filter((server) => server.workload === undefined || server.workload === workload.name);
  return workload.fillerRoutes.flatMap((fillerRoutes) =>
    own.map(({ name, command }) => ({
      server: name,
      fillerRoutes,
      command: command(fillerRoutes),
      workAt: async () => workload,
    }))
  );
}

function server(name: string, command: string[]): Server {
  return { name, command: (fillerRoutes) => [...command, `${fillerRoutes}`] };
}

/**
 * The same server with handlers that are not async. webfw refuses these, and the figures show what
 * they would save.
 */
function withSyncHandlers({ name, command }: Server): Server {
  return {
    name: name + SYNC,
    command: (fillerRoutes) => [...command(fillerRoutes), "sync"],
  };
}

/** The same server with bounds for the size and the time of bodies, which webfw always has. */
function withBounds({ name, command }: Server): Server {
  return {
    name: name + BOUNDED,
    workload: "body",
    command: (fillerRoutes) => [...command(fillerRoutes), "bounded"],
  };
}

function peerPath(name: string): string {
  return join(PEERS, `${name.replace("-", "_")}.ts`);
}

/**
 * The other frameworks have their own configuration and lock file, so that the package does not
 * depend on them.
 */
function peerArguments(): string[] {
  return ["--config", join(PEERS, "deno.json"), "--frozen"];
}

async function deno(args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args })
    .output();
  if (success) return;
  throw new Error(
    `Cannot prepare the servers: deno ${args[0]} failed\n${new TextDecoder().decode(stderr)}`,
  );
}
