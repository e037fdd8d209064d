/** Ranges of bytes that clients ask for (RFC 9110 section 14). */

/** From one byte to another, which is a part of it. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Reads a `Range` header. Several ranges are not served, as a client must reckon with; many of them are an attack.
 *
 * @param header What was sent.
 * @param size How many bytes there are.
 * @returns The range; `undefined` where the whole is to be sent; `null` where nothing is within the range, a 416.
 */
export function byteRangeOf(header: string | null, size: number): ByteRange | undefined | null {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? "") ?? [];
  if (from === undefined || to === undefined || from + to === "") return undefined;
  if (from === "") {
    return Number(to) === 0 || size === 0 ? null : { first: Math.max(0, size - Number(to)), last: size - 1 };
  }
  const [first, last] = [Number(from), to === "" ? Infinity : Number(to)];
  if (last < first) return undefined;
  return first < size ? { first, last: Math.min(last, size - 1) } : null;
}
