// Finds out whether JSR can be used from here. Owns the probe and what is remembered of it; knows no Deno command.

import { dirname, join } from "node:path";

const PROBE_TIMEOUT_MS = 2_000;
/** How long a failed probe is believed before the next one. */
const FAILURE_KEPT_MS = 10 * 60_000;

/** Where to look, and where to remember what was seen. */
export interface JsrReachOptions {
  /** Package names to look for, such as `@std/assert`. */
  packages: string[];
  /** Origin of the registry. */
  registry: string;
  /** File whose modification time says when a probe last failed. */
  memory: string;
  /** Gives Deno's folder of cached remote modules. */
  remoteCache: () => Promise<string>;
}

/** Whether the packages can be had: they are in the cache, or the registry answers within two seconds. */
export async function canReachJsr(options: JsrReachOptions): Promise<boolean> {
  const { packages, registry, memory } = options;
  const addresses = packages.map((name) =>
    new URL(`/${name}/meta.json`, registry)
  );
  const cache = await options.remoteCache();
  if (
    (await Promise.all(addresses.map((address) => isCached(address, cache))))
      .every(Boolean)
  ) return true;
  if (await failedRecently(memory)) return false;
  if ((await Promise.all(addresses.map(answers))).every(Boolean)) return true;
  await Deno.mkdir(dirname(memory), { recursive: true });
  await Deno.writeTextFile(memory, "");
  return false;
}

/** Deno names a cached module by its scheme, its host and the SHA-256 of its path. */
async function isCached(address: URL, cache: string): Promise<boolean> {
  const path = new TextEncoder().encode(address.pathname);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", path))
    .toHex();
  const host = address.port === ""
    ? address.hostname
    : `${address.hostname}_PORT${address.port}`;
  return await modified(
    join(cache, address.protocol.slice(0, -1), host, digest),
  ) !== null;
}

async function failedRecently(memory: string): Promise<boolean> {
  const failed = await modified(memory);
  return failed !== null && Date.now() - failed < FAILURE_KEPT_MS;
}

async function modified(file: string): Promise<number | null> {
  try {
    return (await Deno.stat(file)).mtime?.getTime() ?? null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function answers(address: URL): Promise<boolean> {
  try {
    const reply = await fetch(address, {
      method: "HEAD",
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    await reply.body?.cancel();
    return reply.ok;
  } catch {
    return false; // no name, no route, no answer in time: all mean the same here
  }
}
