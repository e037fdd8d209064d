// The memory of a server, told on request.

/**
 * Resident memory in bytes, after what is garbage has gone. Servers are started with
 * `--v8-flags=--expose-gc`.
 */
export async function residentMemory(): Promise<number> {
  // What garbage held outside of V8's heap goes in turns of the event loop.
  for (let turn = 0; turn < 10; turn++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return Deno.memoryUsage().rss;
}
