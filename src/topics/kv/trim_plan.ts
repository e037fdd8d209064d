/** What is known of a log's size, so that it need not be read again to find out what is too much. */
import { type Cursor, LOG_START, type LogPolicy } from "../store.ts";
import type { FrameSize } from "./frame.ts";

/** Frames that are kept or removed together. */
interface Segment {
  end: Cursor;
  count: number;
  bytes: number;
  newest: number;
  /** How far the time of the log had come before, and after it. Clocks differ; so it goes one way only. */
  readonly from: number;
  until: number;
}

/** So many segments are left as they are: a small log is trimmed to the frame. */
const MIN_SEGMENTS = 64;
/**
 * A log is trimmed with a precision of one in so many: that of what is to be kept a segment is at most, unless it is one frame. Of two
 * neighbours that are not joined then, one bound of three is passed; so there are not more segments than six times as many, and the rest.
 */
const PARTS = 64;

/** The sizes and times of a log's frames, in order. */
export class TrimPlan {
  #segments: Segment[] = [];
  /** Beyond so many they are joined. */
  #limit = MIN_SEGMENTS;
  #end: Cursor = LOG_START;
  /** How far the time of the log has come. */
  #time: number | undefined;

  /**
   * Knows of no frame.
   *
   * @param life The life of the database.
   * @param policy What the log keeps: where that changes, what was joined may be too large.
   */
  constructor(readonly life: string, readonly policy: LogPolicy) {}

  /** Of how many parts something is known. */
  get size(): number {
    return this.#segments.length;
  }

  /** The place up to which frames have been added. */
  get end(): Cursor {
    return this.#end;
  }

  /** Whether it is of a life, and of what a log keeps. */
  isOf(life: string, { age, count, bytes }: LogPolicy): boolean {
    const { policy } = this;
    return this.life === life && policy.age === age && policy.count === count && policy.bytes === bytes;
  }

  /**
   * Adds the next frame of a log.
   *
   * @param end Its place.
   * @param size What it has.
   * @param now The time in milliseconds since 1970.
   */
  add(end: Cursor, { count, bytes, time }: FrameSize, now: number): void {
    // A clock may be far ahead.
    const come = Math.min(time, now);
    const from = this.#time ?? come;
    const until = this.#time = Math.max(from, come);
    this.#segments.push({ end, count, bytes, newest: time, from, until });
    this.#end = end;
    if (this.#segments.length <= this.#limit) return;
    this.#merge(now);
    this.#limit = Math.max(MIN_SEGMENTS, 2 * this.#segments.length);
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
  endOfExcess(time: number): Cursor | undefined {
    const { age, count, bytes } = this.policy;
    let [restCount, restBytes] = [0, 0];
    for (const segment of this.#segments) {
      restCount += segment.count;
      restBytes += segment.bytes;
    }
    let excess: Cursor | undefined;
    for (const [index, segment] of this.#segments.entries()) {
      const isNewest = index === this.#segments.length - 1;
      const isTooMuch = !isNewest && (restCount - segment.count >= count || restBytes > bytes);
      if (!isTooMuch && this.#timeOf(index, time) >= time - age) break;
      excess = segment.end;
      restCount -= segment.count;
      restBytes -= segment.bytes;
    }
    return excess;
  }

  /**
   * The time of the newest message of a segment. Where that is to come, the clock of who wrote it was ahead, or the one here is behind:
   * it is as old as what was written after it.
   */
  #timeOf(index: number, now: number): number {
    for (const { newest } of this.#segments.slice(index)) if (newest <= now) return newest;
    return now;
  }

  /** Joins neighbours that are small beside what is to be kept, and all that is not. */
  #merge(now: number): void {
    const { age, count, bytes } = this.policy;
    const excess = this.endOfExcess(now) ?? LOG_START;
    const merged: Segment[] = [];
    for (const segment of this.#segments) {
      const last = merged.at(-1);
      const isSmall = last !== undefined && (last.count + segment.count) * PARTS <= count &&
        (last.bytes + segment.bytes) * PARTS <= bytes && (segment.until - last.from) * PARTS <= age;
      if (last && (isSmall || segment.end <= excess)) {
        last.end = segment.end;
        last.count += segment.count;
        last.bytes += segment.bytes;
        last.newest = Math.max(last.newest, segment.newest);
        last.until = segment.until;
      } else merged.push(segment);
    }
    this.#segments = merged;
  }
}
