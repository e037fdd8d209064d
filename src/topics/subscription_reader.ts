/** One place in a topic, from which somebody reads on: at the tail where it can be, from the log where it is behind. */
import type { TopicBounds } from "./topic_log.ts";
import { type GapReason, isSameIncarnation, type TopicEntry, type TopicMessage } from "./message.ts";
import type { Broadcaster, LiveReader, LogFollower } from "./log_follower.ts";

/** What is read at once: messages, oldest first, or a gap alone. */
export type Batch<Data> = readonly TopicEntry<Data>[];

/** Where a reader begins, and what ends it. */
export interface ReaderStart {
  /** The id to begin after. */
  readonly place: string | Promise<string>;
  /** Whether the id came from the log itself, and not from a client. */
  readonly isOwn: boolean;
  /** Closes the reader. */
  readonly signal: AbortSignal | undefined;
}

/** Receives the batches that it requests. */
export interface BatchReceiver<Data> {
  /**
   * Receives the next batch; undefined when the reader is closed. It must not request another one during this call.
   *
   * @returns True to request the next batch, too.
   */
  receive(batch: Batch<Data> | undefined): boolean;
  /** The log cannot be read any more. */
  fail(error: unknown): void;
  /** At the end of the topic this gets the batches in place of `receive`, for many receivers at once. */
  readonly broadcaster?: Broadcaster | undefined;
  /** What the broadcaster knows this receiver by. */
  readonly subscriber?: unknown;
}

/** A batch that was found in the log, and the place after it. */
interface Found<Data> {
  readonly batch: Batch<Data>;
  readonly place: string;
}

/** Reads on from a place. It holds no messages but those that are being read. */
export class SubscriptionReader<Data> implements LiveReader {
  readonly #tail: LogFollower<Data>;
  readonly #signal: AbortSignal | undefined;
  readonly #close = (): void => this.close();
  #place: string | Promise<string>;
  /** Whether it waits at the end of the tail, where its place moves without being noted. */
  #isAtEnd = false;
  /** Whether the place is known to be one of the log. */
  #isCertain: boolean;
  #lossReason: GapReason;
  /** Who waits for a batch. */
  #request: BatchReceiver<Data> | undefined;
  #found: Found<Data>[] = [];
  /** How it ended: what every read gives from then on. */
  #end: Promise<undefined> | undefined;
  #ended: PromiseWithResolvers<undefined> | undefined;

  /** Begins to read. */
  constructor(tail: LogFollower<Data>, { place, isOwn, signal }: ReaderStart) {
    this.#tail = tail;
    this.#place = place;
    this.#isCertain = isOwn;
    this.#lossReason = isOwn ? "slow" : "retention";
    this.#signal = signal;
    tail.add(this);
    if (typeof place !== "string") place.catch((error) => this.fail(error));
    if (signal?.aborted) this.close();
    else signal?.addEventListener("abort", this.#close);
  }

  /** Whether a read waits. */
  get isReading(): boolean {
    return this.#request !== undefined;
  }

  /** Whether nothing more is read. */
  get isClosed(): boolean {
    return this.#end !== undefined;
  }

  /** The place after what was read last, where it is known now. */
  get currentPlace(): string | undefined {
    if (this.#isAtEnd) return this.#tail.end;
    return typeof this.#place === "string" ? this.#place : undefined;
  }

  /** The time of the last broadcast, in milliseconds of `performance.now()`. Undefined unless it waits at the end. */
  get lastBroadcastAt(): number | undefined {
    return this.#isAtEnd ? this.#tail.lastBroadcastAt : undefined;
  }

  /** Goes on after an id that a client gave. */
  resumeAfter(id: string): void {
    this.#place = id;
    this.#isCertain = false;
    this.#lossReason = "retention";
  }

  /**
   * The place after what was read last, as soon as it is known. Undefined where the reader was closed before; it fails where the log
   * could not be read.
   */
  async place(): Promise<string | undefined> {
    if (this.#isAtEnd) return this.#tail.end;
    while (typeof this.#place !== "string") {
      if (this.#end) return await this.#end;
      const pending = this.#place;
      this.#ended ??= Promise.withResolvers();
      const place = await Promise.race([pending, this.#ended.promise]);
      if (place === undefined) return undefined;
      // Unless it was told to resume elsewhere meanwhile.
      if (this.#place === pending) this.#place = place;
    }
    return this.#place;
  }

  /**
   * What is made of what comes next, as soon as there is something. One read at a time.
   *
   * @param toResult Called at the moment when it comes; with undefined when the reader is closed.
   */
  read<Result>(toResult: (batch: Batch<Data> | undefined) => Result): Promise<Result> {
    return new Promise((resolve, fail) => {
      const receive = (batch: Batch<Data> | undefined) => {
        resolve(toResult(batch));
        return false;
      };
      this.request({ receive, fail });
    });
  }

  /** The same for a receiver, which can be called at once: with many readers, a promise for each batch can be measured. */
  request(receiver: BatchReceiver<Data>): void {
    if (this.#end) return giveEnd(receiver, this.#end);
    this.#request = receiver;
    this.#answer();
  }

  /** Looks whether there is something for the read that waits. */
  wake(): void {
    this.#answer();
  }

  leaveEnd(place: string): void {
    this.#place = place;
    this.#isAtEnd = false;
  }

  /** Cancels a request that waits at the end of the topic. False where none does. */
  cancelRequest(): boolean {
    if (!this.#isAtEnd) return false;
    this.#leaveTail();
    this.#request = undefined;
    return true;
  }

  /** Ends reading; a read that waits gives nothing. */
  close(): void {
    this.#endWith(Promise.resolve(undefined));
  }

  /** Ends reading; every read fails. */
  fail(error: unknown): void {
    this.#endWith(Promise.reject(error));
  }

  #endWith(end: Promise<undefined>): void {
    // Nobody may ever read again.
    end.catch(() => {});
    if (this.#end) return;
    this.#end = end;
    if (this.#isAtEnd) this.#leaveTail();
    this.#signal?.removeEventListener("abort", this.#close);
    this.#tail.remove(this);
    this.#ended?.resolve(end);
    const receiver = this.#request;
    this.#request = undefined;
    if (receiver) giveEnd(receiver, end);
  }

  #answer(): void {
    while (this.#request) {
      const found = this.#found.shift() ?? this.#held();
      if (!found) return void this.#look();
      if (found.batch.length === 0) return this.#wait(this.#request, found.place);
      this.#place = found.place;
      this.#lossReason = "slow";
      if (!this.#request.receive(found.batch)) this.#request = undefined;
    }
  }

  #wait({ broadcaster, subscriber }: BatchReceiver<Data>, place: string): void {
    this.#isAtEnd = broadcaster !== undefined && this.#tail.join(this, place, broadcaster, subscriber);
    if (this.#isAtEnd) this.#lossReason = "slow";
    else this.#tail.wait(this);
  }

  #leaveTail(): void {
    const { broadcaster, subscriber } = this.#request!;
    this.#tail.leave(broadcaster!, subscriber);
    this.leaveEnd(this.#tail.end!);
  }

  /** What the tail holds ready. Undefined where only the log can tell what comes next. */
  #held(): Found<Data> | undefined {
    const place = this.#place;
    if (typeof place !== "string") return undefined;
    this.#isCertain ||= this.#tail.covers(place);
    const batch = this.#isCertain ? this.#tail.after(place) : undefined;
    return batch && { batch, place: batch.at(-1)?.id ?? place };
  }

  async #look(): Promise<void> {
    try {
      const place = await this.place();
      await this.#tail.opened;
      // Once both are known, the tail may hold what comes after the place: the very list that all others get.
      if (place !== undefined && !this.#held()) this.#found = await this.#find(place);
    } catch (error) {
      this.fail(error);
    }
    this.#answer();
  }

  /** Finds in the log what comes after a place. */
  async #find(place: string): Promise<Found<Data>[]> {
    const slice = await this.#tail.read(place);
    const reason = lossBetween(place, slice, this.#lossReason);
    this.#isCertain = true;
    if (reason === undefined) return slice.messages.length > 0 ? [toFound(slice.messages)] : [];
    const oldest = await this.#tail.read(slice.lowWatermark);
    const { lowWatermark, messages } = oldest;
    // What is too old, and not removed yet, the store tells but those who come across it.
    const start = isSameIncarnation(lowWatermark, slice.lowWatermark) && lowWatermark < slice.lowWatermark
      ? slice.lowWatermark
      : lowWatermark;
    const gap = { reason: lossBetween(place, oldest, reason) ?? reason, from: place, oldest: messages[0]?.id ?? null };
    // The messages are taken along, whatever is removed meanwhile: a reader who is slower than that gets some all the same.
    return [{ batch: [{ gap }], place: start }, ...messages.length > 0 ? [toFound(messages)] : []];
  }
}

function giveEnd<Data>(receiver: BatchReceiver<Data>, end: Promise<undefined>): void {
  end.then((batch) => receiver.receive(batch), (error) => receiver.fail(error));
}

function toFound<Data>(batch: readonly TopicMessage<Data>[]): Found<Data> {
  return { batch, place: batch.at(-1)!.id };
}

/** Why messages are missing between a place and what was read after it, if some are. */
function lossBetween(
  place: string,
  { lowWatermark, highWatermark }: TopicBounds,
  reason: GapReason,
): GapReason | undefined {
  if (!isSameIncarnation(place, highWatermark)) return "epoch";
  return place > highWatermark ? "ahead" : place < lowWatermark ? reason : undefined;
}
