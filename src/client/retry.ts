/** When to try again, and how long to wait. Loaded with the first stream or idempotent call. */
import type { CallSignal } from "./call_signal.ts";
import type { ProblemError } from "./problem.ts";

/** The first pause before another attempt, if the server asks for none. */
const FIRST_PAUSE_MS = 1_000;
/** Pauses double up to this. */
const LONGEST_PAUSE_MS = 30_000;
/** The bounds of a pause that the server asks for. */
const LEAST_ASKED_MS = 100;
const MOST_ASKED_MS = 300_000;

/** How often an idempotent call is repeated. */
const MAX_REPETITIONS = 3;
/** An idempotent call is not repeated if the server asks for a longer wait. */
const MAX_WAIT_MS = 30_000;

/**
 * Sends an idempotent request until it succeeds, at most four times.
 *
 * @param attempt Sends the request with an `Idempotency-Key`.
 * @param body The body of the request. A stream can be sent only once.
 * @throws The error of the last attempt.
 */
export async function repeat(
  attempt: (key: string) => Promise<unknown>,
  call: CallSignal,
  body: unknown,
): Promise<unknown> {
  // Not `randomUUID`: pages loaded over plain HTTP do not have it.
  const key = `"${crypto.getRandomValues(new Uint32Array(4)).join("-")}"`;
  for (let repetition = 0;; repetition++) {
    try {
      return await attempt(key);
    } catch (error) {
      const { status, headers } = error as Partial<ProblemError>;
      const asked = headers && retryAfterOf(headers);
      const mayWork = status === 503 || (status === 409 && asked !== undefined) ||
        (status === undefined && !(error instanceof SyntaxError));
      const isOver = repetition === MAX_REPETITIONS || body instanceof ReadableStream || !call.isSent;
      const wait = asked ?? pauseAfter(repetition);
      if (!mayWork || isOver || call.signal.aborted || wait > MAX_WAIT_MS) throw error;
      await call.pause(wait);
    }
  }
}

/**
 * The pause before the next attempt, in milliseconds: `retry` or a second, doubled with each
 * failure up to 30 s. Up to half of it is subtracted at random, so that clients that were
 * disconnected together do not reconnect together, but it is never shorter than what the server
 * asks for.
 *
 * @param failures The number of failures in a row before the last one.
 * @param retry The `retry` of server-sent events, in milliseconds.
 * @param retryAfter The `Retry-After` of the reply, in milliseconds.
 */
export function pauseAfter(failures: number, retry?: number, retryAfter?: number): number {
  const asked = bound(retry);
  const full = Math.min((asked || FIRST_PAUSE_MS) * 2 ** failures, Math.max(LONGEST_PAUSE_MS, asked));
  return Math.max(full * (1 - Math.random() / 2), asked, bound(retryAfter));
}

function bound(ms: number | undefined): number {
  return ms === undefined ? 0 : Math.min(Math.max(ms, LEAST_ASKED_MS), MOST_ASKED_MS);
}

/** `Retry-After` in milliseconds: a number of seconds, or a date. Undefined if there is none. */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after") ?? "";
  // `Date.parse` accepts almost any string with a number.
  const date = Date.parse(/GMT$/.test(value) ? value : "");
  const ms = /^\d+$/.test(value) ? +value * 1_000 : Math.max(date - Date.now(), 0);
  return Number.isNaN(ms) ? undefined : ms;
}
