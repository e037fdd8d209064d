/** Tries a call of an idempotent route again. Loaded with the first one. */
import type { CallSignal } from "./call_signal.ts";
import type { ProblemError } from "./problem.ts";
import { pauseAfter, retryAfterOf } from "./pauses.ts";

/** How often a call is tried again. */
const MAX_REPETITIONS = 3;

/** The longest wait that a server can ask for. */
const MAX_WAIT_MS = 30_000;

/**
 * Tries until there is a reply, at most four times.
 *
 * @param attempt Sends the request with a key.
 * @param call The call.
 * @param body The body of the request. A stream can be sent only once.
 * @throws What the last try has thrown.
 */
export async function repeat(
  attempt: (key: string) => Promise<unknown>,
  call: CallSignal,
  body: unknown,
): Promise<unknown> {
  // Not by `randomUUID`, which pages have only where they came by HTTPS.
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
