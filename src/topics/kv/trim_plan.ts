/** What is known of a log's size, so that it need not be read again to find out what is too much. */
import { type Cursor, LOG_START, type LogPolicy } from "../store.ts";

/** Frames that are kept or removed together. */
interface Segment {
  end: Cursor;
  count: number;
  bytes: number;
  newest: number;
}

/** How many segments there are at most: a log is trimmed with a precision of one in so many. */
const MAX_SEGMENTS = 512;

/** The sizes and times of a log's frames, in order. */
export class TrimPlan {
  #segments: Segment[] = [];
  #end: Cursor = LOG_START;

  /**
   * Knows of no frame.
   *
   * @param life The life of the database.
   */
  constructor(readonly life: string) {}

  /** The place up to which frames have been added. */
  get end(): Cursor {
    return this.#end;
  }

  /** Adds the next frame. */
  add(end: Cursor, { count, bytes, time }: { count: number; bytes: number; time: number }): void {
    this.#segments.push({ end, count, bytes, newest: time });
    this.#end = end;
    if (this.#segments.length > MAX_SEGMENTS) this.#merge();
  }

  /** Forgets what has been removed up to a place. */
  dropUpTo(low: Cursor): void {
    const kept = this.#segments.findIndex(({ end }) => end > low);
    this.#segments.splice(0, kept === -1 ? this.#segments.length : kept);
    if (low > this.#end) this.#end = low;
  }

  /**
   * The place up to which a log is to be removed, if at all. The newest frame is kept but for its age. Of the last messages that are
   * to be kept none is removed, though others in the same segment would be; of bytes, rather too few are kept than too many.
   */
  endOfExcess({ age, count, bytes }: LogPolicy, time: number): Cursor | undefined {
    let [restCount, restBytes] = [0, 0];
    for (const segment of this.#segments) {
      restCount += segment.count;
      restBytes += segment.bytes;
    }
    let excess: Cursor | undefined;
    for (const [index, segment] of this.#segments.entries()) {
      const isNewest = index === this.#segments.length - 1;
      const isTooMuch = !isNewest && (restCount - segment.count >= count || restBytes > bytes);
      if (!isTooMuch && segment.newest >= time - age) break;
      excess = segment.end;
      restCount -= segment.count;
      restBytes -= segment.bytes;
    }
    return excess;
  }

  /** Joins neighbours, two and two. */
  #merge(): void {
    const merged: Segment[] = [];
    for (let index = 0; index < this.#segments.length; index += 2) {
      const first = this.#segments[index]!;
      const second = this.#segments[index + 1] ?? { ...first, count: 0, bytes: 0 };
      merged.push({
        end: second.end,
        count: first.count + second.count,
        bytes: first.bytes + second.bytes,
        newest: Math.max(first.newest, second.newest),
      });
    }
    this.#segments = merged;
  }
}
