/** Times as keys: a prefix of a key is a day, an hour, a minute or a second. */

export const DAY = 86_400_000;
export const MINUTE = 60_000;
export const SECOND = 1_000;
const SIZES = [DAY, 3_600_000, MINUTE, SECOND] as const;
/** Of the key of a second. */
export const KEY_LENGTH = SIZES.length;

/** A day, an hour, a minute or a second, and its key. */
export interface Period {
  readonly key: readonly string[];
  readonly start: number;
}

export function startOf(size: number, time: number): number {
  return Math.floor(time / size) * size;
}

/** The key of a second: its day since 1970, hour, minute and second. */
export function keyOfSecond(time: number): readonly string[] {
  return SIZES.map((size, index) => {
    const outer = SIZES[index - 1] ?? Infinity;
    return `${Math.floor((outer === Infinity ? time : time % outer) / size)}`;
  });
}

/** The fewest periods that cover a time. Both ends are those of seconds. */
export function* periodsOf(start: number, end: number): Generator<Period, void, void> {
  for (let time = start; time < end;) {
    const index = SIZES.findIndex((size) => time % size === 0 && time + size <= end);
    yield { key: keyOfSecond(time).slice(0, index + 1), start: time };
    time += SIZES[index]!;
  }
}
