/**
 * Deadlines of many short waits by one timer: a timer for each request costs a quarter of a bare
 * reply, and even reading the clock is measurable. One timer visits all waits now and then, and the
 * time of a wait starts with its first visit.
 */
import { outsideRequests } from "../base/async_context.ts";
import { MAX_TIMER_MS } from "../base/options.ts";

/** The part of a wait's time before its first visit: a wait can end that much too late. */
const FIRST_VISIT = 1 / 16;

/** The error of a wait that took too long, or was cut off because the server stops. */
type Late = (isStopping: boolean) => Error;

/** All waits form a linked list, so that one can leave without a search. */
class Wait {
  readonly ms: number;
  readonly late: Late;
  readonly reject: (error: Error) => void;
  readonly owner: object | undefined;
  /** Undefined before the first visit. */
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

  /** A wait outside the list is linked to itself, so leaving twice is harmless. */
  leave(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.previous = this.next = this;
    if (observers.size > 0) { for (const observe of observers) observe(this); }
  }
}

const observers = new Set<(wait: Wait) => void>();
/** The head of the circular list. */
const waits = new Wait(Infinity, () => new Error(), () => {});
let timer: ReturnType<typeof setTimeout> | undefined;
/** The timer fires at most that many milliseconds from now. */
let timerMs = Infinity;

/** Waits for a promise at most `ms` milliseconds, or a sixteenth longer. */
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

/** The separate timer keeps the program alive during the wait, and leaves nothing behind. */
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

/** Registers a wait without a deadline. `cut` cuts it off. */
export function registerWait(
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
 * Ends the present waits of an owner, but not later ones. After `timeout` milliseconds, the rest is
 * cut off. Resolves when all are over, to whether some were cut off.
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

/** A server that has stopped leaves no timer behind. */
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
  // The timer outlives its waits, and must not keep the program alive.
  Deno.unrefTimer(timer);
}

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
