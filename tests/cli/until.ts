// Waiting for a condition that nothing announces.

/** How long it may take. Long, since it only bounds a failing test. */
const PATIENCE_MS = 60_000;
const INTERVAL_MS = 20;

/** Asks for a condition until it is true. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!await isTrue()) {
    if (performance.now() > deadline) {
      throw new Error(`Never became true: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
