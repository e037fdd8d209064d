/** How long a client waits before it tries again. */

/** The first pause, if the server asks for none. */
const FIRST_MS = 1_000;
/** Pauses double up to this. */
export const LONGEST_MS = 30_000;
/** Whatever a server asks for, the pause is between these. */
const LEAST_ASKED_MS = 100;
const MOST_ASKED_MS = 300_000;

/**
 * The pause before the next attempt, in milliseconds: what the server asks for, or a second, and
 * doubled with each failure in a row up to 30 s. Up to half of it is left out at random, so that
 * clients which were cut off together do not come back together; never of what the server asks.
 *
 * @param failures How often attempts have failed in a row before the last one.
 * @param retry The server's `retry`, in milliseconds.
 * @param retryAfter Its `Retry-After`, in milliseconds.
 */
export function pauseAfter(failures: number, retry?: number, retryAfter?: number): number {
  const asked = bound(retry);
  const full = Math.min((asked || FIRST_MS) * 2 ** failures, Math.max(LONGEST_MS, asked));
  return Math.max(full * (1 - Math.random() / 2), asked, bound(retryAfter));
}

function bound(ms: number | undefined): number {
  return ms === undefined ? 0 : Math.min(Math.max(ms, LEAST_ASKED_MS), MOST_ASKED_MS);
}

/**
 * The wait that a reply asks for, in milliseconds: a number of seconds, or a date. Undefined where
 * it asks for none.
 */
export function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get("retry-after") ?? "";
  // Platforms read almost any text with a number as a date.
  const date = Date.parse(/GMT$/.test(value) ? value : "");
  const ms = /^\d+$/.test(value) ? +value * 1_000 : Math.max(date - Date.now(), 0);
  return Number.isNaN(ms) ? undefined : ms;
}
