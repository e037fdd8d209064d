// The contestants, each a server in its own process: events of a topic, and a loop by hand.

import { fileURLToPath } from "node:url";
import type { Cores } from "../http/cores.ts";
import { ServerProcess } from "../http/server_process.ts";

/** The name of the reference. */
export const BASELINE = "loop";

/** All contestants, the reference first. */
export const CONTESTANTS = [BASELINE, "topic"] as const;

/** The name of a contestant. */
export type Contestant = (typeof CONTESTANTS)[number];

/**
 * V8's young generation grows by tens of MiB if it may, which would hide the memory of a client.
 */
const MEMORY_FLAGS = "--v8-flags=--expose-gc,--max-semi-space-size=1";

/** The published message: about 100 bytes of JSON. */
const EVENT = JSON.stringify({ item: "Darjeeling, second flush", price: 12.5, note: "Sold by the weight, from 50 g" });

/** Starts a server for speed, as users start it. */
export function startForSpeed(name: Contestant, cores: Cores, signal: AbortSignal): Promise<ServerProcess> {
  return start(name, [...cores.server], [], signal);
}

/** Starts a server that reports its memory. */
export function startForMemory(name: Contestant, signal: AbortSignal): Promise<ServerProcess> {
  return start(name, [], [MEMORY_FLAGS], signal);
}

/** The resident memory of a server that was started for it, in bytes. */
export async function residentMemory(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/memory`);
  return await response.json();
}

/** Has a server publish events, and waits until it has. */
export async function publish(port: number, count: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/?count=${count}`, { method: "POST", body: EVENT });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`Cannot publish: the server replied with ${response.status}`);
}

function start(
  name: Contestant,
  prefix: string[],
  options: string[],
  signal: AbortSignal,
): Promise<ServerProcess> {
  const file = fileURLToPath(import.meta.resolve(`./servers/${name}.ts`));
  const config = Deno.env.get("WEBFW_CONFIG");
  const resolution = config === undefined ? [] : ["--config", config];
  return ServerProcess.start(
    [...prefix, Deno.execPath(), "run", "-A", "--no-lock", ...resolution, ...options, file],
    signal,
  );
}
