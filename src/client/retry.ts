/** When to try again. Loaded late. */
import type { CallSignal } from "./call_signal.ts";
import type { ProblemError } from "./problem.ts";

/** Unless the server asks for another one. */
const FIRST_PAUSE_MS = 1_000;
/** The limit of doubled pauses. */
const LONGEST_PAUSE_MS = 30_000;
/** The bounds of what a server asks for. */
const LEAST_ASKED_MS = 100;
const MOST_ASKED_MS = 300_000;

const MAX_REPETITIONS = 3;
const MAX_WAIT_MS = 30_000;

/**
 * Sends an idempotent request at most four times.
 *
 * @param attempt Sends the request with an `Idempotency-Key`.
 * @param body A stream can be sent only once.
 * @throws The error of the last attempt.
 */
export async function repeat(
  attempt: (key: string) => Promise<unknown>,
  call: CallSignal,
  body: unknown,
): Promise<unknown> {
  // Not `randomUUID`, which pages over plain HTTP lack.
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
      await pause(wait, call);
    }
  }
}

/** Rejects with the signal's reason on an abort. */
export function pause(ms: number, call: CallSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const wait = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
  return call.until(wait).finally(() => clearTimeout(timer));
}

/**
 * The pause before the next attempt: `retry` or a second, doubled with each failure up to 30 s. At
 * random up to half of it is subtracted, so that clients do not reconnect together, but never less
 * than the server asks for. All in milliseconds.
 *
 * @param failures In a row, before the last one.
 */
export function pauseAfter(failures: number, retry?: number, retryAfter?: number): number {
  const asked = bound(retry);
  const full = Math.min((asked || FIRST_PAUSE_MS) * 2 ** failures, Math.max(LONGEST_PAUSE_MS, asked));
  return Math.max(full * (1 - Math.random() / 2), asked, bound(retryAfter));
}

function bound(ms: number | undefined): number {
  return ms === undefined ? 0 : Math.min(Math.max(ms, LEAST_ASKED_MS), MOST_ASKED_MS);
}

/** In milliseconds; undefined if there is none. */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after") ?? "";
  // `Date.parse` accepts almost any string with a number.
  const date = Date.parse(/GMT$/.test(value) ? value : "");
  const ms = /^\d+$/.test(value) ? +value * 1_000 : Math.max(date - Date.now(), 0);
  return Number.isNaN(ms) ? undefined : ms;
}
