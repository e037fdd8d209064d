// Medians and ratios over rounds.

/** A median and how far the values lie apart. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** The middle of the values, or the mean of the two in the middle. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/**
 * Divides each value by the one of the same round. A slow phase of the machine affects both, so
 * ratios vary less than values.
 */
export function ratios(values: number[], baseline: number[]): Spread {
  const each = values.map((value, round) => value / (baseline[round] ?? NaN));
  return {
    median: median(each),
    min: Math.min(...each),
    max: Math.max(...each),
  };
}
