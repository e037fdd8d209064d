// The memory of a server, told on request. Garbage is collected first: what is told is what is in use.

/** Resident memory in bytes. Servers are started with `--v8-flags=--expose-gc`. */
export function residentMemory(): number {
  const { gc } = globalThis as { gc?: () => void };
  // Once for what is garbage, once for what that held.
  gc?.();
  gc?.();
  return Deno.memoryUsage().rss;
}
