// What waits for what: publishers for the transaction of a user, and the event loop for the disk.

import type { Topic } from "../../../mod.ts";
import { note } from "../figure.ts";
import type { Database } from "./databases.ts";

/** How long the transaction of a user is open, in milliseconds. */
const OPEN = 200;
const PUBLISHERS = 64;
const DATA = "x".repeat(198);

/** The times of 64 publishers while a transaction with a message is open. */
export async function measureWaits({ name, transaction }: Database, topic: Topic<unknown>, rounds: number) {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    let isOpen = true;
    const opened = Promise.withResolvers<void>();
    const open = transaction(DATA, async (transaction) => {
      await topic.publish(DATA, { transaction });
      opened.resolve();
      await new Promise((resolve) => setTimeout(resolve, OPEN));
      isOpen = false;
    });
    await opened.promise;
    await Promise.all(Array.from({ length: PUBLISHERS }, async () => {
      while (isOpen) {
        const begin = performance.now();
        await topic.publish(DATA);
        times.push(performance.now() - begin);
      }
    }));
    await open;
  }
  const contestant = `64 publishers beside a transaction of ${OPEN} ms`;
  printDelays(contestant, times);
  note({ measure: `${name}: waits`, contestant, value: Math.max(...times), unit: "ms max", rounds });
}

/** How late a timer of 1 ms is while 64 publishers publish: the disk must not block the event loop. */
export async function measureHolds({ name }: Database, topic: Topic<unknown>, rounds: number) {
  const late: number[] = [];
  let isRunning = true;
  const timers = (async () => {
    while (isRunning) {
      const begin = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 1));
      late.push(performance.now() - begin - 1);
    }
  })();
  const end = performance.now() + rounds * 1_000;
  await Promise.all(Array.from({ length: PUBLISHERS }, async () => {
    while (performance.now() < end) await topic.publish(DATA);
  }));
  isRunning = false;
  await timers;
  const contestant = "a timer of 1 ms beside 64 publishers";
  printDelays(contestant, late);
  late.sort((one, other) => one - other);
  const value = late[Math.floor(0.999 * (late.length - 1))] ?? NaN;
  note({ measure: `${name}: event loop`, contestant, value, unit: "ms p99.9", rounds });
}

export function printDelays(contestant: string, times: readonly number[]): void {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (part: number) => (sorted[Math.floor(part * (sorted.length - 1))] ?? NaN).toFixed(1);
  console.log(
    `${contestant}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms, most ${at(1)} ms (${times.length})`,
  );
}
