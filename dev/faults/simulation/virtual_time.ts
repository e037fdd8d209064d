// Virtual time and seeded randomness. Time passes as soon as there is nothing to do. So each run
// can be repeated exactly, and an hour of it takes less than a second.

import { install } from "npm:@sinonjs/fake-timers@^15.0.0";
import type { Random } from "../../../tests/unit/support/random.ts";

/** A run is abandoned after this many virtual milliseconds. */
const LIMIT = 24 * 60 * 60 * 1000;
/** How many things may happen at one moment. */
const MAX_AT_ONCE = 100_000;
/** How often it is looked whether a module that is being loaded is there. */
const MAX_LOOKS = 1_000;
/** The pause between two looks, in real milliseconds. */
const LOOK_MS = 5;

/**
 * Runs something in virtual time. Nothing else may run in this process, since time and randomness
 * are replaced for all of it.
 */
export async function inVirtualTime<Result>(random: Random, body: () => Promise<Result>): Promise<Result> {
  const { random: ownRandom } = Math;
  const { setTimeout: setRealTimeout } = globalThis;
  const ownUuid = Object.getOwnPropertyDescriptor(crypto, "randomUUID");
  const clock = install({
    now: Date.UTC(2026, 0, 1),
    toFake: [
      "setTimeout",
      "clearTimeout",
      "setInterval",
      "clearInterval",
      "setImmediate",
      "clearImmediate",
      "Date",
      "performance",
    ],
  });
  const begin = clock.now;
  Math.random = () => random.below(2 ** 32) / 2 ** 32;
  Object.defineProperty(crypto, "randomUUID", { configurable: true, value: () => uuidOf(random) });
  try {
    let hasEnded = false;
    const result = body().finally(() => hasEnded = true);
    // It is awaited below, unless it does not end.
    result.catch(() => {});
    let atOnce = 0;
    for (let last = begin; !hasEnded; last = clock.now) {
      await clock.nextAsync();
      atOnce = clock.now === last ? atOnce + 1 : 0;
      if (atOnce > MAX_AT_ONCE) throw new Error("Cannot go on: something runs in a circle");
      // Loading a module takes real time.
      for (let looks = 0; !hasEnded && clock.countTimers() === 0; looks++) {
        if (looks === MAX_LOOKS) throw new Error("Cannot go on: all wait for one another");
        await new Promise((resolve) => setRealTimeout(resolve, LOOK_MS));
      }
      if (clock.now - begin > LIMIT) throw new Error("Cannot wait longer: a day has passed");
    }
    return await result;
  } finally {
    Math.random = ownRandom;
    if (ownUuid) Object.defineProperty(crypto, "randomUUID", ownUuid);
    else Reflect.deleteProperty(crypto, "randomUUID");
    clock.uninstall();
  }
}

function uuidOf(random: Random): `${string}-${string}-${string}-${string}-${string}` {
  const digits = (count: number) => Array.from({ length: count }, () => random.below(16).toString(16)).join("");
  return `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`;
}
