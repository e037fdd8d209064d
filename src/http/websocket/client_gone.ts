/** Checks before an upgrade that the client is still connected. */
import { muteNextWarning } from "../../log/log.ts";
import { nodeTimers } from "../../base/runtime.ts";

/** While no more sockets than these are unopened, an upgrade does not pause. */
const FREE_SOCKETS = 16;

/** The longest pause. */
const MAX_PAUSE_MS = 16;

/**
 * How many turns of the event loop come before each upgrade. Deno reads the connections between
 * them. A `signal` that the application has read before is aborted a turn after that.
 */
const TURNS = 2;

let isMuted = false;

/**
 * The pause before an upgrade in milliseconds. A client that resets its connection while the 101 is
 * being written costs a descriptor. Most of these clients go at once, so a pause lets them go
 * before. It is random, because clients could aim at the end of a constant one.
 *
 * @param unopened How many upgraded sockets have not opened, so that each holds a descriptor.
 * @param random A number from 0 to 1.
 */
export function pauseBeforeUpgrade(unopened: number, random: number): number {
  const excess = unopened - FREE_SOCKETS;
  return excess <= 0 ? 0 : Math.ceil(random * Math.min(excess, MAX_PAUSE_MS));
}

/**
 * Whether the client has gone since its handshake. Deno 2.9 upgrades such a connection all the
 * same: the socket never opens, and its file descriptor stays open until the process ends. The
 * answer holds until the next turn of the event loop, so upgrade before that.
 *
 * @param raw The request as it came from the server.
 * @param unopened How many upgraded sockets have not opened.
 * @param pause Waits; tests pass their own.
 */
export async function hasGone(raw: Request, unopened: number, pause = sleep): Promise<boolean> {
  const ms = pauseBeforeUpgrade(unopened, Math.random());
  if (ms > 0) await pause(ms);
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise((resolve) => nodeTimers().setImmediate(resolve));
  }
  // Deno warns once that the signal is also aborted after replies. The application did not use it.
  isMuted ||= muteNextWarning("Deno.serve: request.signal");
  // The first read asks the platform, and is answered in the next microtask.
  const { signal } = raw;
  await undefined;
  return signal.aborted;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
