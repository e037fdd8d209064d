// How long the tests wait for a process before they fail.

/** Long, since it only bounds a failing test. */
const PATIENCE_MS = 60_000;
const INTERVAL_MS = 20;

/**
 * Waits for a promise.
 *
 * @throws {Error} It has not settled in time; `explain` tells what was waited for.
 */
export async function inTime<T>(promise: Promise<T>, explain: () => string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Gave up waiting: ${explain()}`)), PATIENCE_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits for a condition that nothing announces.
 *
 * @throws {Error} It has not become true in time.
 */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!await isTrue()) {
    if (performance.now() > deadline) throw new Error(`Gave up waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
