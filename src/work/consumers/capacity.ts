/** How many messages a node claims, and how often. */
import type { ResolvedConsumeOptions } from "../../topics/consume_options.ts";
import type { InFlight } from "./in_flight.ts";

/** Messages are claimed ahead for so many milliseconds of handlers' time. */
const AHEAD_MS = 20;
/** Beyond so many bytes in flight, nothing is claimed ahead. */
const MAX_AHEAD_BYTES = 8 * 1024 * 1024;
/** Beyond so many bytes in flight, nothing is claimed for a batch. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;
/** The pause between two claims: a part of the mean handler time, and at most so long. */
const MAX_PACE = 10;
const PACE_PART = 1 / 8;
/** With fewer attempts, each claim is recorded first: see `claimsUnrecorded`. */
const MIN_TRIES = 3;

/**
 * Whether the claimer claims messages before it records them. If it crashes, all messages that it
 * may have claimed count as attempted once, so consumers with few attempts record claims first. So
 * do those with a rate, whose permits are in the record.
 */
export function claimsUnrecorded({ attempts, rate }: ResolvedConsumeOptions): boolean {
  return attempts >= MIN_TRIES && rate === undefined;
}

/** How many messages may be in flight that are not finished. */
export function capacityOf(options: ResolvedConsumeOptions, inFlight: InFlight): number {
  const { concurrency, batch } = options;
  // A batch whose messages are large is not filled.
  if (batch && inFlight.bytes > MAX_BATCH_BYTES) return inFlight.size - inFlight.finished;
  return (concurrency + aheadOf(options, inFlight)) * (batch?.size ?? 1);
}

/** For how many handlers messages are claimed before one is free. */
function aheadOf(options: ResolvedConsumeOptions, { meanTime, bytes }: InFlight): number {
  const { concurrency } = options;
  // After a crash these count as attempted, too, and permits are for handlers that begin now.
  if (meanTime === undefined || bytes > MAX_AHEAD_BYTES || !claimsUnrecorded(options)) return 0;
  return Math.min(concurrency, Math.floor(concurrency * AHEAD_MS / Math.max(meanTime, 0.1)));
}

/** The pause after a claim, in milliseconds. */
export function paceOf({ batch }: ResolvedConsumeOptions, { meanTime = 0, running, waiting }: InFlight): number {
  const time = batch && waiting > 0 ? batch.wait : running === 0 ? 0 : meanTime;
  return Math.min(MAX_PACE, time * PACE_PART);
}
