// What was done to nodes and stores, and what it means for checks.

/** What a node has written down, or what was done to it. */
export interface Trouble {
  readonly kind: "killed" | "stopped" | "frozen" | "cut off" | "clock" | "store";
  /** The node; undefined if it concerns all of them. */
  readonly node?: string;
  /** In milliseconds since 1970. */
  readonly from: number;
  /** When it was over; `Infinity` where a node has ended. */
  readonly to: number;
  /** How far a clock was ahead, in milliseconds. */
  readonly ahead?: number;
}

/** A handler, from its beginning to its end as its node knows it. */
export interface HandlerRun {
  readonly node: string;
  readonly begin: number;
  /** `Infinity` if the node has not written down any end. */
  readonly end: number;
}

/**
 * Pairs of runs of which the later one began while the earlier one went on, on a node that could
 * act at that moment. Nobody can count on a node that has ended or stands still.
 */
export function* overlapsOf<Run extends HandlerRun>(
  runs: readonly Run[],
  troubles: readonly Trouble[],
): Generator<[Run, Run]> {
  const still = troubles.filter(({ kind }) => kind === "killed" || kind === "frozen");
  const sorted = runs.toSorted((one, other) => one.begin - other.begin);
  for (const [index, one] of sorted.entries()) {
    for (const other of sorted.slice(index + 1)) {
      if (other.begin >= one.end) continue;
      if (still.some((trouble) => trouble.node === one.node && isDuring(trouble, other.begin))) continue;
      yield [one, other];
    }
  }
}

/** Whether a trouble goes on at a moment. */
export function isDuring({ from, to }: Pick<Trouble, "from" | "to">, time: number): boolean {
  return from <= time && time <= to;
}

/**
 * Whether something kept a node from its store between two moments. A node makes up for standing
 * still for less than half a lease.
 */
export function isTroubled(
  troubles: readonly Trouble[],
  { node, from, to, lease }: { readonly node: string; readonly from: number; readonly to: number; lease: number },
): boolean {
  return troubles.some((trouble) => {
    const concerns = trouble.node === undefined || (trouble.node === node && trouble.kind !== "clock");
    return concerns && !isShort(trouble, lease) && trouble.from <= to && trouble.to >= from;
  });
}

/** Whether a node makes up for a trouble before it loses its lease. */
export function isShort({ kind, from, to }: Trouble, lease: number): boolean {
  return kind === "frozen" && to - from < lease / 2;
}

/** The time in the entries of all processes: this clock is never set during a run. */
export function wallNow(): number {
  return performance.timeOrigin + performance.now();
}
