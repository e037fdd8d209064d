/**
 * Deadlines for many short waits with one timer. A timer for each request costs a quarter of a bare reply, and nearly none of
 * them ever fires; even a look at the clock can be measured. So a wait is noted without its time: the timer looks at all waits
 * every now and then, and the time of one begins at the first look.
 */

/** A timer that is told to wait longer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** The part of its time after which a wait is looked at first; it can end as much too late. */
const FIRST_LOOK = 1 / 16;

/** Makes the error of a wait that took too long, or that a stop cuts short. */
export type Late = (isStopping: boolean) => Error;

/** A wait that has to end in time; one of a ring, so that it is left without a search. */
class Wait {
  readonly ms: number;
  readonly late: Late;
  readonly reject: (error: Error) => void;
  /** Whose stop cuts it short. */
  readonly owner: object | undefined;
  /** When its time is up, once it has been looked at. */
  expires: number | undefined = undefined;
  previous: Wait = this;
  next: Wait = this;

  constructor(ms: number, late: Late, reject: (error: Error) => void, owner?: object) {
    this.ms = ms;
    this.late = late;
    this.reject = reject;
    this.owner = owner;
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
    if (observers.size > 0) { for (const observe of observers) observe(this); }
  }
}

/** Told of each wait that is over. */
const observers = new Set<(wait: Wait) => void>();
const ring = new Wait(Infinity, () => new Error(), () => {});
let timer: ReturnType<typeof setTimeout> | undefined;
/** The time that the timer was set to, in milliseconds: it fires no later than that from now. */
let timerMs = Infinity;

/**
 * Waits for a promise, but not for ever.
 *
 * @param promise What to wait for. It is left running when time is up.
 * @param ms The time it has, in milliseconds; it may be given a sixteenth more.
 * @param late Makes the error of a wait that took too long.
 * @param broken Makes the error of a promise that was rejected.
 * @param owner Whose stop cuts it short, see {@linkcode endWaits}.
 */
export function withDeadline<T>(
  promise: Promise<T>,
  ms: number,
  late: Late,
  broken: (cause: unknown) => unknown,
  owner?: object,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const wait = new Wait(ms, late, reject, owner);
    wait.enter();
    if (timerMs > ms * FIRST_LOOK) setTimer(ms * FIRST_LOOK);
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
  late: Late,
  broken: (cause: unknown) => unknown,
): Promise<T> {
  const { promise: expiry, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late(false)), Math.min(ms, MAX_TIMEOUT));
  const unbroken = promise.catch((cause) => {
    throw broken(cause);
  });
  try {
    return await Promise.race([unbroken, expiry]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Notes a wait that has no deadline.
 *
 * @param over Settles when it is over.
 * @param owner Whose stop cuts it short.
 * @param late Makes the error that it is cut short with.
 * @param cut Ends it with that error.
 */
export function noteWait(
  over: Promise<void>,
  owner: object | undefined,
  late: Late,
  cut: (error: Error) => void,
): void {
  const wait = new Wait(Infinity, late, cut, owner);
  wait.enter();
  over.then(() => wait.leave());
}

/**
 * Ends the waits of an owner that are under way now. Those that begin later are left alone.
 *
 * @param owner Whose they are.
 * @param patience The time that they have, in milliseconds. Those that are not over by then are cut
 * short.
 * @returns Settles when all of them are over.
 */
export function endWaits(owner: object, patience: number): Promise<void> {
  const left = new Set<Wait>();
  for (let wait = ring.next; wait !== ring; wait = wait.next) {
    if (wait.owner === owner) left.add(wait);
  }
  if (left.size === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      for (const wait of [...left]) end(wait, true);
    }, patience);
    const observe = (wait: Wait): void => {
      left.delete(wait);
      if (left.size > 0) return;
      observers.delete(observe);
      clearTimeout(timer);
      resolve();
    };
    observers.add(observe);
  });
}

/** Stops the timer where nothing waits, so that a server that has stopped leaves nothing behind. */
export function releaseIdleTimer(): void {
  if (ring.next !== ring || timer === undefined) return;
  clearTimeout(timer);
  timer = undefined;
  timerMs = Infinity;
}

function setTimer(ms: number): void {
  clearTimeout(timer);
  timerMs = ms;
  timer = setTimeout(look, Math.min(ms, MAX_TIMEOUT));
  // The timer stays set after its wait is over; it must not keep a program alive.
  Deno.unrefTimer(timer);
}

/** Ends the waits whose time is up. */
function look(): void {
  timer = undefined;
  timerMs = Infinity;
  const now = performance.now();
  let earliest = Infinity;
  let next = ring.next;
  while (next !== ring) {
    const wait = next;
    next = wait.next;
    wait.expires ??= now + wait.ms;
    if (wait.expires <= now) end(wait, false);
    else if (wait.expires < earliest) earliest = wait.expires;
  }
  if (earliest < Infinity) setTimer(earliest - now);
}

function end(wait: Wait, isStopping: boolean): void {
  wait.leave();
  wait.reject(wait.late(isStopping));
}
