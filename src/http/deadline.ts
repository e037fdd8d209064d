/**
 * Deadlines for many short waits with one timer. A timer for each request costs a quarter of a bare
 * reply, and almost none of them fires; even reading the clock is measurable. So a wait begins
 * without reading the clock. One timer visits all waits now and then, and the time of a wait starts
 * with the first visit.
 */
import { outsideRequests } from "../base/async_context.ts";
import { MAX_TIMER_MS } from "../base/options.ts";

/** The first visit comes after this part of a wait's time; a wait can end that much too late. */
const FIRST_VISIT = 1 / 16;

/** Makes the error of a wait that took too long, or was cut off because the server stops. */
type Late = (isStopping: boolean) => Error;

/** A wait with a deadline. All waits form a linked list, so that one can leave without a search. */
class Wait {
  readonly ms: number;
  readonly late: Late;
  readonly reject: (error: Error) => void;
  readonly owner: object | undefined;
  /** The time of its end; undefined before the first visit. */
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
    this.previous = waits.previous;
    this.next = waits;
    waits.previous.next = this;
    waits.previous = this;
  }

  /** Leaves the list. A wait outside the list is linked to itself, so leaving twice is harmless. */
  leave(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.previous = this.next = this;
    if (observers.size > 0) { for (const observe of observers) observe(this); }
  }
}

const observers = new Set<(wait: Wait) => void>();
/** The head of the list, which is circular. */
const waits = new Wait(Infinity, () => new Error(), () => {});
let timer: ReturnType<typeof setTimeout> | undefined;
/** The time that the timer was set to, in milliseconds. It fires at most that long from now. */
let timerMs = Infinity;

/**
 * Waits for a promise until a deadline.
 *
 * @param ms The time in milliseconds; the wait can take a sixteenth longer.
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
    if (timerMs > ms * FIRST_VISIT) setTimer(ms * FIRST_VISIT);
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
 * Waits like {@linkcode withDeadline}, but with a separate timer. The timer keeps the program
 * alive during the wait, and nothing is left after it.
 */
export async function withOwnDeadline<T>(
  promise: Promise<T>,
  ms: number,
  late: Late,
  broken: (cause: unknown) => unknown,
): Promise<T> {
  const { promise: expiry, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late(false)), Math.min(ms, MAX_TIMER_MS));
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
 * Registers a wait without a deadline.
 *
 * @param cut Cuts the wait off with that error.
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
 * Ends the present waits of an owner, but not those that begin later.
 *
 * @param timeout The time until the rest of the waits is cut off, in milliseconds.
 * @returns Settles when all of these waits are over, with whether some were cut off.
 */
export function endWaits(owner: object, timeout: number): Promise<boolean> {
  const left = new Set<Wait>();
  for (let wait = waits.next; wait !== waits; wait = wait.next) {
    if (wait.owner === owner) left.add(wait);
  }
  if (left.size === 0) return Promise.resolve(false);
  let areCut = false;
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      areCut = true;
      for (const wait of [...left]) end(wait, true);
    }, timeout);
    const observe = (wait: Wait): void => {
      left.delete(wait);
      if (left.size > 0) return;
      observers.delete(observe);
      clearTimeout(timer);
      resolve(areCut);
    };
    observers.add(observe);
  });
}

/** Stops the timer if nothing waits, so that a server that has stopped leaves nothing behind. */
export function releaseIdleTimer(): void {
  if (waits.next !== waits) return;
  clearTimeout(timer);
  timer = undefined;
  timerMs = Infinity;
}

function setTimer(ms: number): void {
  clearTimeout(timer);
  timer = undefined;
  timerMs = ms;
  // It fires for the waits of all requests, and so do listeners of signals that it aborts.
  void outsideRequests(startTimer);
}

function startTimer(): void {
  if (timer !== undefined || timerMs === Infinity) return;
  timer = setTimeout(visit, Math.min(timerMs, MAX_TIMER_MS));
  // The timer outlives its waits and must not keep the program alive.
  Deno.unrefTimer(timer);
}

/** Visits all waits, and ends those whose time is up. */
function visit(): void {
  timer = undefined;
  timerMs = Infinity;
  const now = performance.now();
  let earliest = Infinity;
  let next = waits.next;
  while (next !== waits) {
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
