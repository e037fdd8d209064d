// Finds out whether JSR can be used from here, by a probe whose failure is remembered.

import { join } from "node:path";

const PROBE_TIMEOUT_MS = 2_000;
/** How long a failed probe is believed before the next one. */
const FAILURE_KEPT_MS = 10 * 60_000;

/** Where to look, and where to remember a failure. */
export interface JsrReachOptions {
  /** Names of packages that are needed, such as `@std/assert`. */
  packages: string[];
  /** Origin of the registry. */
  registry: string;
  /** Folder in which a failed probe is remembered. */
  memory: string;
  /** Deno's folder of cached remote modules. */
  remoteCache: string;
}

/**
 * Whether the packages can be had: they are in the cache, or the registry
 * answers for each of them within two seconds.
 */
export async function canReachJsr(options: JsrReachOptions): Promise<boolean> {
  const { packages, registry, memory, remoteCache } = options;
  const addresses = packages.map((name) => new URL(`/${name}/meta.json`, registry));
  if (await all(addresses, (address) => isCached(address, remoteCache))) {
    return true;
  }
  // The modification time of this file is the time of the last failure.
  const failure = join(memory, `unreachable_${hostOf(new URL(registry))}`);
  const failed = await changed(failure);
  if (failed !== null && Date.now() - failed < FAILURE_KEPT_MS) return false;
  if (await all(addresses, answers)) return true;
  await Deno.mkdir(memory, { recursive: true });
  await Deno.writeTextFile(failure, "");
  return false;
}

async function all(
  addresses: URL[],
  test: (address: URL) => Promise<boolean>,
): Promise<boolean> {
  return (await Promise.all(addresses.map(test))).every(Boolean);
}

/** Deno names a cached module by scheme, host and the SHA-256 of its path. */
async function isCached(address: URL, remoteCache: string): Promise<boolean> {
  const path = new TextEncoder().encode(address.pathname);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", path));
  const scheme = address.protocol.slice(0, -1);
  const file = join(remoteCache, scheme, hostOf(address), hash.toHex());
  return await changed(file) !== null;
}

function hostOf({ hostname, port }: URL): string {
  return port === "" ? hostname : `${hostname}_PORT${port}`;
}

async function changed(file: string): Promise<number | null> {
  try {
    return (await Deno.stat(file)).mtime?.getTime() ?? null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function answers(address: URL): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    const response = await fetch(address, { method: "HEAD", signal });
    await response.body?.cancel();
    return response.ok;
  } catch {
    // No such name, no route, no answer in time: all mean the same here.
    return false;
  }
}
