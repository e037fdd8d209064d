/** Tries a call of an idempotent route again. Loaded with the first one. */
import type { CallSignal } from "./call_signal.ts";
import type { ProblemError } from "./problem.ts";
import { retryAfterOf } from "./pauses.ts";

/** How often a call is tried again. */
const MAX_REPETITIONS = 3;

/** The first wait before another try, in milliseconds, if the server asks for none. */
const FIRST_WAIT_MS = 500;

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
      const isFinal = repetition === MAX_REPETITIONS || body instanceof ReadableStream || call.signal.aborted;
      const wait = isFinal || !call.isSent ? undefined : waitAfter(error, repetition);
      if (wait === undefined) throw error;
      await call.pause(wait);
    }
  }
}

/** How long to wait until the next try, in milliseconds; undefined if the error is final. */
function waitAfter(error: unknown, repetition: number): number | undefined {
  const wait = FIRST_WAIT_MS * 2 ** repetition * (1 + Math.random()) / 2;
  const { status, headers } = error as Partial<ProblemError>;
  if (status === undefined) return error instanceof SyntaxError ? undefined : wait;
  if (status !== 503 && (status !== 409 || !headers!.has("retry-after"))) return undefined;
  const asked = retryAfterOf(headers!) ?? wait;
  return asked > MAX_WAIT_MS ? undefined : Math.max(asked, 0);
}
