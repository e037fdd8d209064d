/** Reads logs: their frames, and where they begin and end. */
import {
  type Cursor,
  LOG_START,
  type LogBounds,
  type LogPage,
  type LogPlace,
  type LogRef,
  type ReadLimits,
  type StoredMessage,
} from "../store.ts";
import type { Connection } from "./connection.ts";
import type { KvEntry } from "./engine.ts";
import { type Epoch, epochOf } from "./epoch.ts";
import { decodeFrame, type Frame, measureFrame } from "./frame.ts";
import {
  endOf,
  EPOCH_KEY,
  frameKeyAfter,
  framesPrefix,
  headKey,
  logEnd,
  lowKey,
  POLICIES_END,
  POLICIES_START,
  toCursor,
} from "./keys.ts";
import { decodePolicy } from "./policy.ts";

/** How many logs are listed at once. */
const LOGS_PER_READ = 100;
/** How many frames are read at once at most, each of at most 64 KiB, unless it is said how many. */
const FRAMES_PER_READ = 32;
/** How many bytes are read at once, about: who is behind takes no more, and an answer has to come in time by a slow line, too. */
const BYTES_PER_READ = 1024 * 1024;

/** The head of a log, the newest write with ids, and where it begins. */
const KEYS_AFTER_FRAMES = 3;

/** Frames in order, without a hole, and the ends of the log at that moment or later, in the same life. */
export interface FramePage extends LogBounds {
  /** The frames. */
  readonly frames: readonly KvEntry[];
  /** Whether there were no more. */
  readonly isEnd: boolean;
}

/** Reads logs. */
export class KvLogReader {
  readonly #connection: Connection;
  readonly #epoch: Epoch;
  readonly #now: () => number;
  /** How many frames come to about as many bytes as are read at once, going by those that were read last. */
  #framesInRead = FRAMES_PER_READ;

  /** Reads nothing yet. */
  constructor(connection: Connection, epoch: Epoch, now: () => number) {
    this.#connection = connection;
    this.#epoch = epoch;
    this.#now = now;
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
      if (life) return { epoch: epochOf(name, life), ...toEnds(head, low) };
      await this.#epoch.current();
    }
  }

  /** Messages after a place. What is too old is passed over, whether it has been removed or not. */
  async read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    let low = LOG_START;
    let epoch: string | undefined;
    for (let from = after;;) {
      const page = await this.frames(log.name, from);
      // Another life has begun after the pages before.
      if (page.epoch !== (epoch ??= page.epoch)) return await this.read(log, after, limits);
      if (page.low > low) low = page.low;
      const messages: StoredMessage[] = [];
      for (const { key, value } of page.frames) {
        const version = key.at(-1)!;
        const frame = decodeFrame(value);
        if (messages.length === 0 && this.#isTooOld(frame.time, log)) {
          if (endOf(version) > low) low = endOf(version);
        } else if (!addMessages(messages, version, frame, after, limits)) break;
      }
      if (messages.length === 0 && !page.isEnd) {
        from = low;
        continue;
      }
      return { epoch, low, head: page.head > low ? page.head : low, messages };
    }
  }

  /** The place before the first message of a time, or of any that is not too old. */
  async seek(log: LogRef, time: Date): Promise<LogPlace> {
    const { epoch, low, head } = await this.bounds(log);
    const isWanted = ({ value }: KvEntry) => {
      const frame = measureFrame(value);
      return frame.time >= time.getTime() && !this.#isTooOld(frame.time, log);
    };
    // Frames up to `before` are not wanted, those after `last` are.
    let [before, last] = [toVersion(low), toVersion(head)];
    let probe = before;
    while (before < last) {
      const { frames: [frame] } = await this.frames(log.name, endOf(toText(probe)), 1);
      const version = frame && toVersion(frame.key.at(-1)!);
      if (version === undefined || version > last || isWanted(frame!)) last = probe;
      else before = version;
      probe = (before + last) / 2n;
    }
    return { epoch, cursor: before === 0n ? LOG_START : endOf(toText(before)) };
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
   * @param most How many frames are read at most: of large ones there are fewer.
   * @param signal Gives up.
   */
  async frames(
    name: string,
    after: Cursor,
    most?: number,
    signal?: AbortSignal,
  ): Promise<FramePage> {
    const limit = Math.min(most ?? FRAMES_PER_READ, this.#framesInRead) + KEYS_AFTER_FRAMES;
    const from = frameKeyAfter(name, after);
    const length = framesPrefix(name).length;
    for (;;) {
      const { known } = this.#epoch;
      const epoch = known ? epochOf(name, known) : (await this.bounds({ name }, signal)).epoch;
      const entries = await this.#connection.use((engine) => engine.list(from, logEnd(name), limit), signal);
      const isEnd = entries.length < limit;
      const find = (key: readonly string[]) => entries.find((entry) => entry.key.at(-1) === key.at(-1));
      const head = isEnd ? find(headKey(name)) : undefined;
      const bounds = head && new TextDecoder().decode(head.value) === epoch
        ? { epoch, ...toEnds(head, find(lowKey(name))) }
        : await this.bounds({ name }, signal);
      if (bounds.epoch !== epoch) continue;
      const frames = entries.filter(({ key }) => isVersion(key[length]!) && endOf(key[length]!) > bounds.low);
      if (frames.length > 1) this.#framesInRead = framesInRead(frames);
      return { ...bounds, frames, isEnd };
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

function framesInRead(frames: readonly KvEntry[]): number {
  const bytes = frames.reduce((sum, { value }) => sum + value.length, 0);
  return Math.max(1, Math.floor(BYTES_PER_READ * frames.length / bytes));
}

function sizeOf(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, { bytes }) => sum + bytes, 0);
}

function toEnds(head: KvEntry | undefined, low: KvEntry | undefined): Omit<LogBounds, "epoch"> {
  const lowest = low ? new TextDecoder().decode(low.value) : LOG_START;
  const highest = head ? endOf(head.version) : LOG_START;
  return { low: lowest, head: highest > lowest ? highest : lowest };
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
