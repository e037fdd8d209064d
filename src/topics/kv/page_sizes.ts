/** How much of a log is read at once: about what is wanted of it, and no more than comes in time. */
import type { KvEntry } from "./engine.ts";
import { measureFrame } from "./keys.ts";

/** The head of a log, the newest write with ids, and where it begins. */
const KEYS_AFTER_FRAMES = 3;
/** How many frames are read at once of a log of which nothing is known. */
const FRAMES_AT_FIRST = 16;
/** How many bytes these are taken to have: most logs are small, and should not wait for one another long. */
const BYTES_AT_FIRST = 256 * 1024;
/** The most frames that are read at once: a database gives 500 entries. */
const MAX_FRAMES = 490;
/** How many bytes are read at once at most, about. */
const MAX_BYTES = 1024 * 1024;
/** How many they become where they come slowly: as many as a frame may have. */
const MIN_BYTES = 64 * 1024;
/** What comes later than this is too much, in milliseconds. It has to be well below the time after which it would not come at all. */
const SLOW = 1_000;
/** Of what comes in good time, so much more is tried. */
const GROWTH = 1 / 32;
/** How many pages of the most bytes are on their way at once: of all that many readers want, each would come too late. */
const PAGES_AT_ONCE = 8;
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

/** What is known of a log by the pages that were read of it. */
interface Known {
  /** How many frames may be read next. There are not many more each time: what comes next may be larger. */
  readonly frames: number;
  /** How many bytes a frame had. What was large lately may be so again. */
  readonly bytes: number;
  /** How many messages a frame had. */
  readonly messages: number;
}

/** What else is taken to be known of a log of which nothing is. */
const UNKNOWN: Known = { frames: FRAMES_AT_FIRST, bytes: MIN_BYTES, messages: 1 };

/** Decides how much is read at once. */
export class PageSizes {
  readonly #logs = new Map<string, Known>();
  #bytes = MAX_BYTES;
  #shrunkAt = -Infinity;

  /** How many bytes should be on their way at once at most. */
  get bytesAtOnce(): number {
    return PAGES_AT_ONCE * this.#bytes;
  }

  /**
   * How many entries of a log are to be read: where its frames are small, some more than are wanted, so that its end is found with the
   * last of them.
   */
  entries(name: string, limits: PageLimits): number {
    const { bytes } = this.#logs.get(name) ?? UNKNOWN;
    return this.#frames(name, limits) + (KEYS_AFTER_FRAMES * bytes <= MIN_BYTES ? KEYS_AFTER_FRAMES : 0);
  }

  /** How many bytes they may have. */
  bytes(name: string, limits: PageLimits): number {
    const known = this.#logs.get(name);
    return known ? this.#frames(name, limits) * known.bytes : BYTES_AT_FIRST;
  }

  /**
   * Takes note of what has come.
   *
   * @param name The name of the log.
   * @param frames What has been read of it.
   * @param begin When that was asked for, in milliseconds of `performance.now()`.
   */
  note(name: string, frames: readonly KvEntry[], begin: number): void {
    const known = this.#logs.get(name);
    const sum = sumOf(frames);
    if (frames.length > 0) {
      const bytes = Math.max(sum.bytes / frames.length, known ? known.bytes / 2 : 0);
      const most = Math.max(known?.frames ?? FRAMES_AT_FIRST, 2 * frames.length);
      this.#know(name, { frames: most, bytes, messages: sum.messages / frames.length });
    }
    if (performance.now() - begin > SLOW) this.#shrink(begin);
    else this.#bytes = Math.min(MAX_BYTES, this.#bytes + GROWTH * sum.bytes);
  }

  /** Takes note that nothing has come of a log, perhaps because it was too much. Its frames may be as large as they can be. */
  noteFailure(name: string, begin: number): void {
    if (performance.now() - begin <= SLOW) return;
    this.#know(name, { ...(this.#logs.get(name) ?? UNKNOWN), bytes: MIN_BYTES });
    this.#shrink(begin);
  }

  #know(name: string, known: Known): void {
    // What is used is at the end: the others are forgotten.
    this.#logs.delete(name);
    this.#logs.set(name, known);
    const [oldest] = this.#logs.keys();
    if (this.#logs.size > MAX_LOGS) this.#logs.delete(oldest!);
  }

  /** Less is to be asked for. Of what was asked for together, one counts. */
  #shrink(begin: number): void {
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

function sumOf(frames: readonly KvEntry[]): { readonly bytes: number; readonly messages: number } {
  let [bytes, messages] = [0, 0];
  for (const { value } of frames) {
    bytes += value.length;
    messages += measureFrame(value).count;
  }
  return { bytes, messages };
}
