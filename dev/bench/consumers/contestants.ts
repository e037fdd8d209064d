// The contestants, each with its store, and its client in a process of its own.

import { join } from "node:path";
import { Denokv, findDenokv } from "../../../tests/denokv/denokv.ts";
import { findNats, NatsServer } from "../../../tests/nats/nats_server.ts";
import { isInstalled } from "../http/programs.ts";
import { ServerProcess } from "../http/server_process.ts";
import { ownProgram } from "../own_program.ts";
import { Redis } from "./redis.ts";

const PEERS = join(import.meta.dirname!, "..", "peers");
/** The other queues have their own configuration and lock file, as the other frameworks have. */
const PEER_FLAGS = ["--config", join(PEERS, "deno.json"), "--frozen"];

/** A program that can be started with its store. */
export interface Contestant {
  readonly name: string;
  /** Why it cannot run on this machine, if it cannot. */
  lack(): Promise<string | undefined>;
  /** Starts it. The stack ends it, and its store. */
  start(stack: AsyncDisposableStack, folder: string, signal: AbortSignal): Promise<ServerProcess>;
}

/** The one that others are compared with: BullMQ on its own runtime. */
export const REFERENCE = "bullmq-node";

/** All of them. */
export const CONTESTANTS: Contestant[] = [
  {
    name: "webfw on a file",
    lack: async () => undefined,
    start: (_, folder, signal) => startOwn(join(folder, "topics.sqlite"), signal),
  },
  {
    name: "webfw on denokv",
    lack: async () => await findDenokv() ? undefined : 'denokv is not installed, see "deno task denokv:install"',
    start: async (stack, _, signal) => {
      const server = stack.use(await Denokv.start());
      Deno.env.set("DENO_KV_ACCESS_TOKEN", server.token);
      return await startOwn(server.url, signal);
    },
  },
  {
    name: REFERENCE,
    lack: async () => await isInstalled("node") ? await lackOfRedis() : "Node.js is not installed",
    start: async (stack, folder, signal) => {
      const { port } = stack.use(await Redis.start());
      return await startOnNode("bullmq", folder, `${port}`, signal);
    },
  },
  {
    name: "bullmq-deno",
    lack: lackOfRedis,
    start: async (stack, _, signal) => {
      const { port } = stack.use(await Redis.start());
      const command = [Deno.execPath(), "run", ...PEER_FLAGS, "-A", peerPath("bullmq"), `${port}`];
      return await ServerProcess.start(command, signal);
    },
  },
  {
    name: "nats-node",
    lack: async () => {
      if (!await isInstalled("node")) return "Node.js is not installed";
      return await findNats() ? undefined : 'nats-server is not installed, see "deno task nats:install"';
    },
    start: async (stack, folder, signal) => {
      const { url } = stack.use(await NatsServer.start());
      return await startOnNode("nats", folder, url, signal);
    },
  },
];

async function lackOfRedis(): Promise<string | undefined> {
  return await isInstalled("redis-server") ? undefined : "redis-server is not installed";
}

function startOwn(topics: string, signal: AbortSignal): Promise<ServerProcess> {
  const file = join(import.meta.dirname!, "servers", "webfw.ts");
  return ServerProcess.start([...ownProgram(file, "--no-lock"), topics], signal);
}

async function startOnNode(name: string, folder: string, argument: string, signal: AbortSignal) {
  const file = join(folder, `${name}.mjs`);
  const args = ["bundle", ...PEER_FLAGS, "-o", file, peerPath(name)];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, signal }).output();
  if (!success) throw new Error(`Cannot bundle ${name}: ${new TextDecoder().decode(stderr)}`);
  return await ServerProcess.start(["node", file, argument], signal);
}

function peerPath(name: string): string {
  return join(PEERS, `${name}.ts`);
}
