/**
 * The ids of messages whose publisher gave none: the key of the series that they were appended in, and their number there,
 * `b9c3a9f0-5f0e-4b0e-9b1c-8a1d3c1e7f42.3`. A series is what one publisher appends, batch after batch, for as long as every outcome
 * is known; so a store needs to remember but the last batch of each.
 */

const PATTERN = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(0|[1-9][0-9]{0,11})$/;

/** A message as one of a series. */
export interface SeriesPlace {
  /** The key of the series. */
  readonly series: string;
  /** The number of the message in the series, which begins at 0. */
  readonly number: number;
}

/** The id of a message of a series. */
export function toSeriesId(series: string, number: number): string {
  return `${series}.${number}`;
}

/** The place in a series that an id names; undefined for any other id. */
export function toSeriesPlace(id: string): SeriesPlace | undefined {
  const [, series, number] = PATTERN.exec(id) ?? [];
  return series === undefined ? undefined : { series, number: Number(number) };
}
