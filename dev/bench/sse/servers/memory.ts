// Reports the memory of a server on request.

/**
 * The resident memory after garbage collection, in bytes. The servers run with
 * `--v8-flags=--expose-gc`.
 */
export async function residentMemory(): Promise<number> {
  // Memory outside of V8's heap is released in later turns of the event loop.
  for (let turn = 0; turn < 10; turn++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return Deno.memoryUsage().rss;
}
