/**
 * Deadlines for many short waits with one timer. A timer for each request costs a quarter of a bare reply, and nearly none of
 * them ever fires.
 */

/** A timer that is told to wait longer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** A wait that has to end in time; one of a ring, so that it is left without a search. */
class Wait {
  readonly expires: number;
  readonly expire: () => void;
  previous: Wait = this;
  next: Wait = this;

  constructor(expires: number, expire: () => void) {
    this.expires = expires;
    this.expire = expire;
  }

  enter(): void {
    this.previous = ring.previous;
    this.next = ring;
    ring.previous.next = this;
    ring.previous = this;
  }

  /** Leaves the ring. Alone it is a ring of its own, so that leaving again changes nothing. */
  leave(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.previous = this.next = this;
  }
}

const ring = new Wait(Infinity, () => {});
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
    const wait = new Wait(performance.now() + ms, () => reject(late()));
    wait.enter();
    if (wait.expires < firesAt) arm(wait.expires);
    promise.then((value) => {
      wait.leave();
      resolve(value);
    }, (error) => {
      wait.leave();
      reject(broken(error));
    });
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
  if (ring.next !== ring || timer === undefined) return;
  clearTimeout(timer);
  timer = undefined;
  firesAt = Infinity;
}

function arm(expires: number): void {
  clearTimeout(timer);
  firesAt = expires;
  timer = setTimeout(expireAll, Math.min(Math.max(0, expires - performance.now()), MAX_TIMEOUT));
  // The timer stays armed after its wait is over; it must not keep a program alive.
  Deno.unrefTimer(timer);
}

function expireAll(): void {
  timer = undefined;
  firesAt = Infinity;
  const now = performance.now();
  let earliest = Infinity;
  let next = ring.next;
  while (next !== ring) {
    const wait = next;
    next = wait.next;
    if (wait.expires <= now) {
      wait.leave();
      wait.expire();
    } else if (wait.expires < earliest) earliest = wait.expires;
  }
  if (earliest < Infinity) arm(earliest);
}
