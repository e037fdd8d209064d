/** Counts and durations of requests: in all, of each route, and over the last ten minutes. */

/** Four buckets for each doubling, from 1/16 ms on: a quantile is at most 9 % off. */
const PER_DOUBLING = 4;
const SMALLEST = 1 / 16;
const BUCKETS = 96;

/** Of durations in milliseconds, in a bounded memory. */
export class Histogram {
  readonly #buckets = new Uint32Array(BUCKETS);
  count = 0;

  add(ms: number): void {
    this.count++;
    const bucket = Math.ceil(Math.log2(ms / SMALLEST) * PER_DOUBLING);
    this.#buckets[bucket > 0 ? Math.min(bucket, BUCKETS - 1) : 0]!++;
  }

  /** Undefined without a duration. `part` is 0.5 for the median. */
  quantile(part: number): number | undefined {
    if (this.count === 0) return undefined;
    const rank = Math.max(1, Math.ceil(part * this.count));
    let seen = 0;
    let bucket = 0;
    while (bucket < BUCKETS && (seen += this.#buckets[bucket]!) < rank) bucket++;
    // The middle of the bucket.
    return SMALLEST * 2 ** ((bucket - 0.5) / PER_DOUBLING);
  }

  clear(): void {
    this.#buckets.fill(0);
    this.count = 0;
  }
}

/** Of one route, since the start. */
export class RouteStatistics {
  readonly durations: Histogram = new Histogram();
  calls = 0;
  /** Replies of 500 and above. */
  errors = 0;
  /** Replies from 400 to 499. */
  refusals = 0;

  /** @param ms Undefined if it was not measured. */
  add(status: number, ms: number | undefined): void {
    this.calls++;
    if (ms !== undefined) this.durations.add(ms);
    if (status >= 500) this.errors++;
    else if (status >= 400) this.refusals++;
  }
}

/** Milliseconds of one point, and how many points are kept: ten minutes. */
export const POINT = 5_000;
const POINTS = 120;

export interface RequestPoint {
  /** When it began, in milliseconds since 1970, a multiple of {@linkcode POINT}. */
  readonly time: number;
  readonly requests: number;
  readonly errors: number;
  /** Replies of 429. */
  readonly limited: number;
  /** In milliseconds; null without requests. */
  readonly p50: number | null;
  readonly p99: number | null;
}

interface Slot {
  time: number;
  readonly durations: Histogram;
  requests: number;
  errors: number;
  limited: number;
}

/** The points of the last ten minutes. */
export class RequestPoints {
  readonly #slots: Slot[] = [];

  /** @param ms Undefined if it was not measured. */
  add(now: number, status: number, ms: number | undefined): void {
    const time = now - now % POINT;
    const index = time / POINT % POINTS;
    const slot = this.#slots[index] ??= { time, durations: new Histogram(), requests: 0, errors: 0, limited: 0 };
    if (slot.time !== time) {
      slot.time = time;
      slot.durations.clear();
      slot.requests = slot.errors = slot.limited = 0;
    }
    slot.requests++;
    if (ms !== undefined) slot.durations.add(ms);
    if (status >= 500) slot.errors++;
    if (status === 429) slot.limited++;
  }

  /** In order, also those without requests, after a time and up to now. */
  since(after: number, now: number): RequestPoint[] {
    const last = now - now % POINT;
    const first = Math.max(last - (POINTS - 1) * POINT, after - after % POINT + POINT);
    const points: RequestPoint[] = [];
    for (let time = first; time <= last; time += POINT) points.push(this.#at(time));
    return points;
  }

  #at(time: number): RequestPoint {
    const slot = this.#slots[time / POINT % POINTS];
    if (slot?.time !== time) return { time, requests: 0, errors: 0, limited: 0, p50: null, p99: null };
    const { durations, requests, errors, limited } = slot;
    const [p50 = null, p99 = null] = [durations.quantile(0.5), durations.quantile(0.99)];
    return { time, requests, errors, limited, p50, p99 };
  }
}
