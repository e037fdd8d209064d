/** Waits for processes, with a time limit. */

import { PATIENCE_MS } from "./patience.ts";

const INTERVAL_MS = 20;

/**
 * Waits for a promise.
 *
 * @param explain Returns the text of the error.
 * @throws {Error} When the promise does not settle in time.
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
 * Waits for a condition, which is looked at again and again.
 *
 * @throws {Error} When the condition does not become true in time.
 */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!await isTrue()) {
    if (performance.now() > deadline) throw new Error(`Gave up waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
