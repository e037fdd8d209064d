/** Reads logs: their frames, and where they begin and end. */
import {
  type Cursor,
  LOG_START,
  type LogBounds,
  type LogPage,
  type LogPosition,
  type LogRef,
  type ReadLimits,
  type StoredMessage,
} from "../store.ts";
import { ByteBudget } from "./byte_budget.ts";
import type { Connection, Turns } from "./connection.ts";
import type { KvEngine, KvEntry } from "./engine.ts";
import { type Epoch, epochOf } from "./incarnation.ts";
import {
  decodeFrame,
  decodePolicy,
  endOf,
  EPOCH_KEY,
  type Frame,
  frameKeyAfter,
  framesPrefix,
  headKey,
  logEnd,
  lowKey,
  measureFrame,
  POLICIES_END,
  POLICIES_START,
  toCursor,
} from "./keys.ts";
import { type PageLimits, PageSizes } from "./page_sizes.ts";

/** How many logs are listed at once. */
const LOGS_PER_READ = 100;
/** How many frames a reader gets at once at most: what comes may be much larger than what was read before. */
const MAX_FRAMES = 128;

/** Frames in order, without a hole, and the ends of the log at that moment or later, in the same life. */
export interface FramePage extends LogBounds {
  /** The frames. */
  readonly frames: readonly KvEntry[];
  /** Whether there were no more. */
  readonly isEnd: boolean;
}

/** What has been read of a log. */
interface Listing {
  readonly entries: readonly KvEntry[];
  /** How many there could have been. */
  readonly limit: number;
  /** When they were asked for, in milliseconds of `performance.now()`. */
  readonly begin: number;
}

/** Reads logs. What one reads waits for what the same one reads, where that is much, and for nobody else. */
export class KvLogReader {
  readonly #connection: Connection;
  readonly #epoch: Epoch;
  readonly #now: () => number;
  readonly #sizes = new PageSizes();
  readonly #budget: ByteBudget;

  /** Reads nothing yet. */
  constructor(connection: Connection, epoch: Epoch, now: () => number) {
    this.#connection = connection;
    this.#epoch = epoch;
    this.#now = now;
    this.#budget = new ByteBudget(() => this.#sizes.bytesAtOnce);
  }

  /** All logs that were ever appended to, by their names. */
  async *logs(): AsyncGenerator<LogRef> {
    for (let from = POLICIES_START;;) {
      const entries = await this.#connection.use((engine) => engine.list(from, POLICIES_END, LOGS_PER_READ));
      for (const { key, value } of entries) yield { name: key.at(-1)!, policy: decodePolicy(value) };
      if (entries.length < LOGS_PER_READ) return;
      const last = entries.at(-1)!.key;
      from = [...last.slice(0, -1), `${last.at(-1)}\0`];
    }
  }

  /** Where a log begins and ends. */
  async bounds({ name }: Pick<LogRef, "name">, signal?: AbortSignal): Promise<LogBounds> {
    const keys = [headKey(name), lowKey(name), EPOCH_KEY];
    for (;;) {
      const { changes } = this.#epoch;
      const [head, low, entry] = await this.#connection.use((engine) => engine.get(keys), signal);
      const life = this.#epoch.observe(entry, changes);
      if (life) return { incarnation: epochOf(name, life), ...toEnds(head, low) };
      await this.#epoch.current(signal);
    }
  }

  /** Messages after a place. What is too old is passed over, whether it has been removed or not. */
  async read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    let lowWatermark = LOG_START;
    let incarnation: string | undefined;
    for (let from = after;;) {
      const page = await this.frames(log.name, from, { ...limits, maxFrames: MAX_FRAMES });
      // Another life has begun after the pages before.
      if (page.incarnation !== (incarnation ??= page.incarnation)) return await this.read(log, after, limits);
      if (page.lowWatermark > lowWatermark) lowWatermark = page.lowWatermark;
      const messages: StoredMessage[] = [];
      for (const { key, value } of page.frames) {
        const version = key.at(-1)!;
        const frame = decodeFrame(value);
        if (messages.length === 0 && this.#isTooOld(frame.time, log)) {
          if (endOf(version) > lowWatermark) lowWatermark = endOf(version);
        } else if (!addMessages(messages, version, frame, after, limits)) break;
      }
      if (messages.length === 0 && !page.isEnd) {
        from = lowWatermark;
        continue;
      }
      return {
        incarnation,
        lowWatermark,
        highWatermark: page.highWatermark > lowWatermark ? page.highWatermark : lowWatermark,
        messages,
      };
    }
  }

  /** The place before the first message of a time, or of any that is not too old. */
  async seek(log: LogRef, time: Date): Promise<LogPosition> {
    const { incarnation, lowWatermark, highWatermark } = await this.bounds(log);
    const isWanted = ({ value }: KvEntry) => {
      const frame = measureFrame(value);
      return frame.time >= time.getTime() && !this.#isTooOld(frame.time, log);
    };
    // Frames up to `before` are not wanted, those after `last` are.
    let [before, last] = [toVersion(lowWatermark), toVersion(highWatermark)];
    let probe = before;
    while (before < last) {
      const { frames: [frame] } = await this.frames(log.name, endOf(toText(probe)), { maxFrames: 1 });
      const version = frame && toVersion(frame.key.at(-1)!);
      if (version === undefined || version > last || isWanted(frame!)) last = probe;
      else before = version;
      probe = (before + last) / 2n;
    }
    return { incarnation, cursor: before === 0n ? LOG_START : endOf(toText(before)) };
  }

  /**
   * Reads frames after a place.
   *
   * The end of the log is read in one piece, with where it begins and ends, and the life in which it was appended to last. Otherwise
   * that is read afterwards, so that whatever was removed before the frames were read is told by the low place. Where the life is
   * another one then, all is read again.
   *
   * @param name The name of the log.
   * @param after The place.
   * @param limits How much is wanted: of large frames there are fewer.
   * @param signal Gives up.
   */
  async frames(name: string, after: Cursor, limits: PageLimits, signal?: AbortSignal): Promise<FramePage> {
    const length = framesPrefix(name).length;
    for (;;) {
      const { known } = this.#epoch;
      const incarnation = known ? epochOf(name, known) : (await this.bounds({ name }, signal)).incarnation;
      const { entries, limit, begin } = await this.#list(name, after, limits, signal);
      const found = entries.filter(({ key }) => isVersion(key[length]!));
      this.#sizes.note(name, found, begin);
      const isAll = entries.length < limit;
      const find = (key: readonly string[]) => entries.find((entry) => entry.key.at(-1) === key.at(-1));
      const head = isAll ? find(headKey(name)) : undefined;
      const bounds = head && new TextDecoder().decode(head.value) === incarnation
        ? { incarnation, ...toEnds(head, find(lowKey(name))) }
        : await this.bounds({ name }, signal);
      if (bounds.incarnation !== incarnation) continue;
      const frames = found.filter(({ key }) => endOf(key[length]!) > bounds.lowWatermark);
      return { ...bounds, frames, isEnd: isAll || found.length < entries.length };
    }
  }

  /** Reads entries of a log after a place. What has not come in time is not asked for once more: less is. */
  async #list(name: string, after: Cursor, limits: PageLimits, signal: AbortSignal | undefined): Promise<Listing> {
    const from = frameKeyAfter(name, after);
    let begin: number | undefined;
    const turns: Turns = (attempt, number) => {
      if (begin !== undefined) this.#sizes.noteFailure(name, begin);
      return this.#budget.use(this.#sizes.bytes(name, limits), attempt, { isAgain: number > 1, signal });
    };
    const list = async (engine: KvEngine): Promise<Listing> => {
      begin = performance.now();
      const limit = this.#sizes.entries(name, limits);
      return { entries: await engine.list(from, logEnd(name), limit), limit, begin };
    };
    try {
      return await this.#connection.use(list, signal, "read", turns);
    } catch (error) {
      // All who have waited as long would fail, too, one after the other.
      if (!signal?.aborted) this.#budget.failLate(error, this.#connection.retryTimeout);
      throw error;
    }
  }

  #isTooOld(time: number, { policy: { age } }: LogRef): boolean {
    return time < this.#now() - age;
  }
}

/** Adds the messages of a frame that come after a place. Gives false where the limits do not allow all of them. */
function addMessages(
  messages: StoredMessage[],
  version: string,
  { time, messages: found }: Frame,
  after: Cursor,
  { maxMessages, maxBytes }: ReadLimits,
): boolean {
  let room = maxBytes - sizeOf(messages);
  for (const [index, { type, data, bytes }] of found.entries()) {
    const cursor = toCursor(version, index, found.length);
    if (cursor <= after) continue;
    room -= bytes;
    if (messages.length > 0 && (messages.length >= maxMessages || room < 0)) return false;
    messages.push({ cursor, type, data, bytes, time });
  }
  return true;
}

function sizeOf(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, { bytes }) => sum + bytes, 0);
}

function toEnds(head: KvEntry | undefined, low: KvEntry | undefined): Omit<LogBounds, "incarnation"> {
  const lowest = low ? new TextDecoder().decode(low.value) : LOG_START;
  const highest = head ? endOf(head.version) : LOG_START;
  return { lowWatermark: lowest, highWatermark: highest > lowest ? highest : lowest };
}

function isVersion(text: string): boolean {
  return /^[0-9a-f]{20}$/.test(text);
}

/** The version of a place's frame, as a number to count with. */
function toVersion(place: Cursor): bigint {
  return BigInt(`0x${place.slice(0, 20)}`);
}

function toText(version: bigint): string {
  return version.toString(16).padStart(20, "0");
}
