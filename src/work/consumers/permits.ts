/**
 * How many handlers of a consumer begin in a time, on all nodes together. The record has the
 * permits of all nodes: a claim of messages takes them, and a handler uses one for each message.
 */
import type { Clock } from "../../base/clock.ts";
import type { ResolvedRate } from "../../topics/consume_options.ts";

/** Permits for handlers that begin, or have begun, until a time of the store. */
export type Begun = readonly [until: number, count: number];

/** How many permits a handler lacks. */
export interface PermitNeed {
  readonly all: number;
  /** With so many it begins, with fewer messages. */
  readonly least: number;
  /** Until then `least` is `all`, by the monotonic clock. */
  readonly patientUntil: number;
}

interface Grant {
  readonly until: number;
  /** By the monotonic clock. */
  readonly validUntil: number;
  left: number;
}

/** Permits of handlers that began sooner than recorded, or `to` undefined: that did not begin. */
interface Move {
  readonly from: number;
  readonly to: number | undefined;
  readonly count: number;
}

/** Times are rounded up to such a part of `per`, so that the record stays small. */
const PARTS = 32;
/** How long a permit is valid, for its write and the handler's begin: it counts until then. */
const WRITES = 4;
const MIN_VALID = 25;
const FIRST_VALID = 250;

/** A change of the permits in the record. It takes effect when the record is written. */
export class PermitPlan {
  readonly available: number;
  /** How many of the moves it has. */
  readonly moves: number;
  /** Whether the record must be written. */
  isUrgent: boolean;
  begun: readonly Begun[];
  grant: Grant | undefined;
  readonly #makeGrant: (count: number) => Grant;

  constructor(
    { available, moves, isUrgent, begun }: Pick<PermitPlan, "available" | "moves" | "isUrgent" | "begun">,
    makeGrant: (count: number) => Grant,
  ) {
    this.available = available;
    this.moves = moves;
    this.isUrgent = isUrgent;
    this.begun = begun;
    this.#makeGrant = makeGrant;
  }

  /**
   * First for messages that were claimed before, then for those that begin after the write: their
   * keys, of which each one can begin once.
   */
  takeFor(needs: readonly PermitNeed[], keys: readonly (string | undefined)[]): void {
    let { available } = this;
    for (const { all, least } of needs) {
      if (available < least) return;
      const count = Math.min(all, available);
      this.#take(count);
      available -= count;
    }
    this.#take(Math.min(new Set(keys.map((key, index) => key ?? index)).size, available));
  }

  #take(count: number): void {
    if (count <= 0) return;
    this.isUrgent = true;
    const { until, validUntil, left } = this.#makeGrant(count);
    this.grant = { until, validUntil, left: left + (this.grant?.left ?? 0) };
    this.begun = merge([...this.begun, [until, count]]);
  }
}

/**
 * The permits of this node. In any time of the length `per`, the handlers of all nodes get at most
 * `limit` messages: a permit counts from the moment when it is taken until `per` after its use.
 */
export class Permits {
  readonly #rate: ResolvedRate;
  readonly #clock: Clock;
  readonly #time: () => number;
  #grants: Grant[] = [];
  readonly #moves: Move[] = [];
  #writeTime: number | undefined;

  /** @param time The time of the store, in milliseconds since 1970. */
  constructor(rate: ResolvedRate, clock: Clock, time: () => number) {
    this.#rate = rate;
    this.#clock = clock;
    this.#time = time;
  }

  get limit(): number {
    return this.#rate.limit;
  }

  get per(): number {
    return this.#rate.per;
  }

  /** Permits that handlers may use now. */
  get usable(): number {
    const now = this.#clock.now();
    return this.#grants.reduce((sum, { validUntil, left }) => validUntil > now ? sum + left : sum, 0);
  }

  /** For handlers that begin now. False if there are too few. */
  use(count: number): boolean {
    if (this.usable < count) return false;
    const now = this.#clock.now();
    const to = this.#roundUp(this.#time());
    for (const grant of this.#grants) {
      if (grant.validUntil <= now) continue;
      const used = Math.min(count, grant.left);
      grant.left -= used;
      count -= used;
      if (used > 0 && to < grant.until) this.#moves.push({ from: grant.until, to, count: used });
    }
    this.#grants = this.#grants.filter(({ left }) => left > 0);
    return true;
  }

  /** A write of the record took so long: permits must outlive it. */
  observeWrite(ms: number): void {
    this.#writeTime = Math.max(ms, (this.#writeTime ?? 0) * 0.9);
  }

  /** @param isStopping Then permits that are still valid are given back, too. */
  plan(begun: readonly Begun[] = [], isStopping = false): PermitPlan {
    const now = this.#clock.now();
    const time = this.#time();
    for (const { until, left } of this.#grants.filter(({ validUntil }) => isStopping || validUntil <= now)) {
      this.#moves.push({ from: until, to: undefined, count: left });
    }
    this.#grants = this.#grants.filter(({ validUntil }) => !isStopping && validUntil > now);
    const present = this.#present(begun, time);
    const change = {
      available: this.limit - sumOf(present),
      moves: this.#moves.length,
      isUrgent: begun.some(([until]) => until > this.#latest(time)),
      begun: present,
    };
    const valid = this.#valid;
    return new PermitPlan(change, (left) => ({ until: this.#roundUp(time + valid), validUntil: now + valid, left }));
  }

  /** After a write, also one that may not have been carried out. */
  settle({ moves, grant }: PermitPlan, isWritten: boolean): void {
    // After a write of unknown outcome, these permits stay recorded for longer than necessary.
    this.#moves.splice(0, moves);
    if (isWritten && grant) this.#grants.push(grant);
  }

  /** When so many permits will be available, by the monotonic clock; `-Infinity` for now. */
  whenAvailable(begun: readonly Begun[] | undefined, count: number): number {
    if (count > this.limit) return Infinity;
    const time = this.#time();
    const present = this.#present(begun ?? [], time).sort(([one], [other]) => one - other);
    let missing = sumOf(present) + count - this.limit;
    if (missing <= 0) return -Infinity;
    for (const [until, freed] of present) {
      missing -= freed;
      if (missing <= 0) return this.#clock.now() + until + this.per - time;
    }
    return Infinity;
  }

  /** When the first of the handlers can get its permits. */
  whenFor([need]: readonly PermitNeed[], begun: readonly Begun[] | undefined): number {
    if (!need) return Infinity;
    const whenLate = need.least < need.all ? -Infinity : need.patientUntil;
    return Math.min(this.whenAvailable(begun, need.all), Math.max(whenLate, this.whenAvailable(begun, 1)));
  }

  get #valid(): number {
    const ms = this.#writeTime === undefined ? FIRST_VALID : Math.max(MIN_VALID, WRITES * this.#writeTime);
    return Math.min(this.per, Math.max(this.per / PARTS, ms));
  }

  /** The permits that still count, without those that this node did not need for so long. */
  #present(begun: readonly Begun[], time: number): Begun[] {
    const counts = new Map(begun);
    for (const { from, to, count } of this.#moves) {
      const moved = Math.min(count, counts.get(from) ?? 0);
      if (moved === 0) continue;
      counts.set(from, counts.get(from)! - moved);
      if (to !== undefined) counts.set(to, (counts.get(to) ?? 0) + moved);
    }
    const latest = this.#latest(time);
    const bounded = Array.from(counts, ([until, count]): Begun => [Math.min(until, latest), count]);
    return merge(bounded.filter(([until, count]) => count > 0 && until > time - this.per));
  }

  /** Permits of a node whose clock was ahead must not block the others for ever. */
  #latest(time: number): number {
    return this.#roundUp(time + this.per);
  }

  #roundUp(time: number): number {
    const width = this.#rate.per / PARTS;
    return Math.ceil(Math.ceil(time / width) * width);
  }
}

function merge(begun: readonly Begun[]): Begun[] {
  const counts = new Map<number, number>();
  for (const [until, count] of begun) counts.set(until, (counts.get(until) ?? 0) + count);
  return [...counts];
}

function sumOf(begun: readonly Begun[]): number {
  return begun.reduce((sum, [, count]) => sum + count, 0);
}
