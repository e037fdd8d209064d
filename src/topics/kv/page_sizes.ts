/** How much of a log is read at once: about what is wanted of it, and no more than comes in time. */
import type { Cursor } from "../store.ts";
import type { KvEntry } from "./engine.ts";
import { measureFrame } from "./frame.ts";

/** The head of a log, the newest write with ids, and where it begins. */
const KEYS_AFTER_FRAMES = 3;
/** How many frames are read at once of a log of which nothing is known. */
const FRAMES_AT_FIRST = 16;
/** The most frames that are read at once: a database gives 500 entries. */
const MAX_FRAMES = 490;
/** How many bytes are read at once at most, about. */
const MAX_BYTES = 1024 * 1024;
/** How many they become where they do not come in time: as many as a frame may have. */
const MIN_BYTES = 64 * 1024;
/** How much more is tried where they come. */
const GROWTH = 1.05;
/** For how long who has come to the end of a log is taken to be there, in milliseconds, though others have read on since. */
const MOMENT = 1_000;
/** Of how many logs something is known. */
const MAX_LOGS = 10_000;

/** What is wanted of a log. */
export interface PageLimits {
  /** The most frames. */
  readonly maxFrames?: number;
  /** The most messages. */
  readonly maxMessages?: number;
  /** The most bytes of data. */
  readonly maxBytes?: number;
}

/** What is known of a log by the page that was read of it last. */
interface Known {
  /** Whether there was one. */
  readonly isRead: boolean;
  /** How many frames may be read next. There are not many more each time: what comes next may be larger. */
  readonly frames: number;
  /** How many bytes a frame had. */
  readonly bytes: number;
  /** How many messages a frame had. */
  readonly messages: number;
  /** Where it ended at a time. */
  readonly head: Cursor;
  /** The time, in milliseconds of `performance.now()`. */
  readonly notedAt: number;
  /** Where it ended a moment before, or longer. */
  readonly earlierHead: Cursor;
}

/** What is taken to be known of a log of which nothing is. */
const UNKNOWN: Known = {
  isRead: false,
  frames: FRAMES_AT_FIRST,
  bytes: MIN_BYTES,
  messages: 1,
  head: "",
  notedAt: 0,
  earlierHead: "",
};

/** Decides how much is read at once. */
export class PageSizes {
  readonly #logs = new Map<string, Known>();
  #bytes = MAX_BYTES;
  #shrunkAt = -Infinity;

  /**
   * How many entries of a log are to be read: where its frames are small, some more than are wanted, so that its end is found with the
   * last of them.
   */
  entries(name: string, limits: PageLimits): number {
    const { bytes } = this.#logs.get(name) ?? UNKNOWN;
    return this.#frames(name, limits) + (KEYS_AFTER_FRAMES * bytes <= MIN_BYTES ? KEYS_AFTER_FRAMES : 0);
  }

  /**
   * How many bytes they may have. None for who has come to the end of a log, as it was a moment ago: what has come since is little, and
   * somebody waits for it.
   */
  bytes(name: string, after: Cursor, limits: PageLimits): number {
    const known = this.#logs.get(name);
    if (known && after >= known.earlierHead) return 0;
    // Most logs are small: these do not wait for one another.
    return known?.isRead ? Math.min(this.#bytes, this.#frames(name, limits) * known.bytes) : MIN_BYTES;
  }

  /** Takes note of what was read of a log. */
  note(name: string, frames: readonly KvEntry[], head: Cursor): void {
    this.noteHead(name, head);
    if (frames.length === 0) return;
    const mean = meanOf(frames);
    const most = Math.max(FRAMES_AT_FIRST, 2 * frames.length);
    this.#logs.set(name, { ...this.#logs.get(name)!, ...mean, isRead: true, frames: most });
    if (2 * mean.bytes * frames.length >= this.#bytes) this.#bytes = Math.min(MAX_BYTES, GROWTH * this.#bytes);
  }

  /** Takes note of where a log ends. */
  noteHead(name: string, head: Cursor): void {
    const known = this.#logs.get(name) ?? { ...UNKNOWN, head, earlierHead: head };
    const now = performance.now();
    const isNew = now - known.notedAt > MOMENT;
    // What is used is at the end: the others are forgotten.
    this.#logs.delete(name);
    this.#logs.set(name, isNew ? { ...known, head, notedAt: now, earlierHead: known.head } : known);
    const [oldest] = this.#logs.keys();
    if (this.#logs.size > MAX_LOGS) this.#logs.delete(oldest!);
  }

  /**
   * Takes note that a page of a log has not come in time.
   *
   * @param begin When it was asked for, in milliseconds of `performance.now()`. Of those that were asked for together, one counts.
   */
  shrink(name: string, begin: number): void {
    this.#logs.delete(name);
    if (begin < this.#shrunkAt) return;
    this.#shrunkAt = performance.now();
    this.#bytes = Math.max(MIN_BYTES, this.#bytes / 2);
  }

  #frames(name: string, { maxFrames = MAX_FRAMES, maxMessages = Infinity, maxBytes = Infinity }: PageLimits): number {
    const known = this.#logs.get(name) ?? UNKNOWN;
    // Of the first frame a part may have been read, and of the last a part may be wanted.
    const wanted = Math.min(maxMessages / known.messages, maxBytes / known.bytes) + 1;
    return Math.max(1, Math.floor(Math.min(known.frames, this.#bytes / known.bytes, wanted, maxFrames)));
  }
}

function meanOf(frames: readonly KvEntry[]): Pick<Known, "bytes" | "messages"> {
  let [bytes, messages] = [0, 0];
  for (const { value } of frames) {
    bytes += value.length;
    messages += measureFrame(value).count;
  }
  return { bytes: bytes / frames.length, messages: messages / frames.length };
}
