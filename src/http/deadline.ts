/**
 * Deadlines for many short waits with one timer. A timer for each request costs a quarter of a bare reply, and nearly none of
 * them ever fires.
 */

/** A wait that has to end in time. */
interface Wait {
  readonly expires: number;
  readonly onExpire: () => void;
}

// By number: objects as keys cost an identity hash each.
const waits = new Map<number, Wait>();
let lastId = 0;

/** A timer that is told to wait longer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

let timer: ReturnType<typeof setTimeout> | undefined;
let firesAt = Infinity;

/**
 * Waits for a promise, but not for ever.
 *
 * @param promise What to wait for. It is left running when time is up.
 * @param ms The time it has, in milliseconds.
 * @param late Makes the error of a wait that took too long.
 * @param broken Makes the error of a promise that was rejected.
 */
export function withDeadline<T>(
  promise: Promise<T>,
  ms: number,
  late: () => Error,
  broken: (cause: unknown) => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const wait: Wait = {
      expires: performance.now() + ms,
      onExpire: () => reject(late()),
    };
    const id = ++lastId;
    waits.set(id, wait);
    arm(wait.expires);
    promise.then(
      (value) => {
        waits.delete(id);
        resolve(value);
      },
      (error) => {
        waits.delete(id);
        reject(broken(error));
      },
    );
  });
}

/**
 * Waits like {@linkcode withDeadline}, with a timer of its own: it keeps the program alive until the wait is over, and nothing
 * outlives that.
 */
export async function withOwnDeadline<T>(
  promise: Promise<T>,
  ms: number,
  late: () => Error,
  broken: (cause: unknown) => unknown,
): Promise<T> {
  const { promise: expiry, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), Math.min(ms, MAX_TIMEOUT));
  const unbroken = promise.catch((cause) => {
    throw broken(cause);
  });
  try {
    return await Promise.race([unbroken, expiry]);
  } finally {
    clearTimeout(timer);
  }
}

/** Stops the timer where nothing waits, so that a server that has stopped leaves nothing behind. */
export function releaseIdleTimer(): void {
  if (waits.size > 0 || timer === undefined) return;
  clearTimeout(timer);
  timer = undefined;
  firesAt = Infinity;
}

function arm(expires: number): void {
  if (expires >= firesAt) return;
  clearTimeout(timer);
  firesAt = expires;
  timer = setTimeout(expire, Math.min(Math.max(0, expires - performance.now()), MAX_TIMEOUT));
  // The timer stays armed after its wait is over; it must not keep a program alive.
  Deno.unrefTimer(timer);
}

function expire(): void {
  timer = undefined;
  firesAt = Infinity;
  const now = performance.now();
  let next = Infinity;
  for (const [id, wait] of waits) {
    if (wait.expires <= now) {
      waits.delete(id);
      wait.onExpire();
    } else if (wait.expires < next) {
      next = wait.expires;
    }
  }
  if (next < Infinity) arm(next);
}
