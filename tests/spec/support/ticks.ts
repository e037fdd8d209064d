// Lets everything that is ready run.

/** Lets the event loop run this many turns. */
export async function ticks(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}
