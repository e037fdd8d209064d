/** One position in a topic, from which a subscription reads on. */
import type { Broadcaster, LiveReader, LogFollower } from "./log_follower.ts";
import { type GapReason, isMisfit, isSameIncarnation, type TopicEntry, type TopicGap, uniformRun } from "./message.ts";
import type { LogSlice, TopicBounds } from "./topic_log.ts";

/** The result of one read: messages, oldest first, or a gap alone. */
export type Batch<Data> = readonly TopicEntry<Data>[];

interface ReaderOptions {
  readonly position: string | Promise<string>;
  /** The id comes from the log, not from a client. */
  readonly isTrusted: boolean;
  readonly signal: AbortSignal | undefined;
}

export interface BatchReceiver<Data> {
  /**
   * Receives the next batch; undefined when the reader is closed. It must not request another one
   * during this call.
   *
   * @returns True to request the next batch, too.
   */
  receive(batch: Batch<Data> | undefined): boolean;
  fail(error: unknown): void;
  /** At the end of the topic, it gets the batches of many receivers. */
  readonly broadcaster?: Broadcaster | undefined;
  readonly subscriber?: unknown;
}

interface PositionedBatch<Data> {
  readonly batch: Batch<Data>;
  readonly position: string;
}

/** It has no messages but those that it is reading. */
export class SubscriptionReader<Data> implements LiveReader {
  readonly #follower: LogFollower<Data>;
  readonly #signal: AbortSignal | undefined;
  readonly #close = (): void => this.close();
  #position: string | Promise<string>;
  /** A broadcaster serves it at the end: its position is that of the follower. */
  #isAtEnd = false;
  /** The position is one of the log. */
  #isVerified: boolean;
  #gapReason: GapReason;
  #hasBegun = false;
  #receiver: BatchReceiver<Data> | undefined;
  /** What was read from the log for the next requests. */
  #fetched: PositionedBatch<Data>[] = [];
  /** The result of every read after the reader has ended. */
  #outcome: Promise<undefined> | undefined;
  #ended: PromiseWithResolvers<undefined> | undefined;

  constructor(follower: LogFollower<Data>, { position, isTrusted, signal }: ReaderOptions) {
    this.#follower = follower;
    this.#position = position;
    this.#isVerified = isTrusted;
    this.#gapReason = isTrusted ? "slow" : "retention";
    this.#signal = signal;
    follower.add(this);
    if (typeof position !== "string") position.catch((error) => this.fail(error));
    if (signal?.aborted) this.close();
    else signal?.addEventListener("abort", this.#close);
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isReading(): boolean {
    return this.#receiver !== undefined;
  }

  get isClosed(): boolean {
    return this.#outcome !== undefined;
  }

  /** After the last batch; undefined while it is unknown. */
  get currentPosition(): string | undefined {
    if (this.#isAtEnd) return this.#follower.end;
    return typeof this.#position === "string" ? this.#position : undefined;
  }

  /** By `performance.now()`; undefined unless it waits for a broadcast. */
  get lastBroadcastAt(): number | undefined {
    return this.#isAtEnd ? this.#follower.lastBroadcastAt : undefined;
  }

  /** The id is that of a client. */
  resumeAfter(id: string): void {
    this.#position = id;
    this.#isVerified = false;
    this.#gapReason = "retention";
  }

  /**
   * After the last batch. Undefined if the reader was closed before the position was known; it
   * rejects if the log cannot be read.
   */
  async position(): Promise<string | undefined> {
    if (this.#isAtEnd) return this.#follower.end;
    while (typeof this.#position !== "string") {
      if (this.#outcome) return await this.#outcome;
      const pending = this.#position;
      this.#ended ??= Promise.withResolvers();
      const position = await Promise.race([pending, this.#ended.promise]);
      if (position === undefined) return undefined;
      // resumeAfter() may have set another position meanwhile.
      if (this.#position === pending) this.#position = position;
    }
    return this.#position;
  }

  /**
   * Waits for the next batch. Only one read or request may wait at a time.
   *
   * @param toResult Called when the batch arrives; with undefined when the reader is closed.
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

  /** Reads like `read`, without a promise. With many readers, promises cost measurable time. */
  request(receiver: BatchReceiver<Data>): void {
    this.#hasBegun = true;
    if (this.#outcome) return settle(receiver, this.#outcome);
    this.#receiver = receiver;
    this.#answer();
  }

  /** False if no request waits for a broadcast. */
  cancelRequest(): boolean {
    if (!this.#isAtEnd) return false;
    this.#leaveFollower();
    this.#receiver = undefined;
    return true;
  }

  wake(): void {
    this.#answer();
  }

  leaveEnd(position: string): void {
    this.#position = position;
    this.#isAtEnd = false;
  }

  /** A pending read resolves to undefined. */
  close(): void {
    this.#end(Promise.resolve(undefined));
  }

  /** Every read rejects. */
  fail(error: unknown): void {
    this.#end(Promise.reject(error));
  }

  #end(outcome: Promise<undefined>): void {
    // No unhandled rejection if nothing is read any more.
    outcome.catch(() => {});
    if (this.#outcome) return;
    this.#outcome = outcome;
    if (this.#isAtEnd) this.#leaveFollower();
    this.#signal?.removeEventListener("abort", this.#close);
    this.#follower.remove(this);
    this.#ended?.resolve(outcome);
    const receiver = this.#receiver;
    this.#receiver = undefined;
    if (receiver) settle(receiver, outcome);
  }

  #answer(): void {
    while (this.#receiver) {
      const next = this.#fetched.shift() ?? this.#recent();
      if (!next) return void this.#fetch();
      if (next.batch.length === 0) return this.#wait(this.#receiver, next.position);
      this.#position = next.position;
      this.#gapReason = "slow";
      if (!this.#receiver.receive(next.batch)) this.#receiver = undefined;
    }
  }

  #wait({ broadcaster, subscriber }: BatchReceiver<Data>, position: string): void {
    this.#isAtEnd = broadcaster !== undefined && this.#follower.join(this, position, broadcaster, subscriber);
    if (this.#isAtEnd) this.#gapReason = "slow";
    else this.#follower.wait(this);
  }

  #leaveFollower(): void {
    const { broadcaster, subscriber } = this.#receiver!;
    this.#follower.leave(broadcaster!, subscriber);
    this.leaveEnd(this.#follower.end!);
  }

  /** Undefined if the next batch must be read from the log. */
  #recent(): PositionedBatch<Data> | undefined {
    const position = this.#position;
    if (typeof position !== "string") return undefined;
    this.#isVerified ||= this.#follower.covers(position);
    const messages = this.#isVerified ? this.#follower.after(position) : undefined;
    if (!messages) return undefined;
    const last = messages.at(-1)?.id ?? position;
    if (!isMisfit(messages[0])) return { batch: messages, position: last };
    return { batch: [schemaGap(position, this.#follower.after(last)?.[0]?.id)], position: last };
  }

  async #fetch(): Promise<void> {
    try {
      const position = await this.position();
      await this.#follower.opened;
      // Now that both are known, recent messages may have the batch: the same array that all others
      // get.
      if (position !== undefined && !this.#recent()) this.#fetched = await this.#readLog(position);
    } catch (error) {
      this.fail(error);
    }
    this.#answer();
  }

  /** The next batch, or a gap and the batch after it. */
  async #readLog(position: string): Promise<PositionedBatch<Data>[]> {
    const slice = await this.#follower.read(position);
    const reason = gapReasonOf(position, slice, this.#gapReason);
    this.#isVerified = true;
    if (reason === undefined) return await this.#toBatches(position, slice);
    const oldest = await this.#follower.read(slice.lowWatermark);
    const { lowWatermark } = oldest;
    // A store may learn only by a read beyond the low watermark that some messages have expired.
    const isBefore = isSameIncarnation(lowWatermark, slice.lowWatermark) && lowWatermark < slice.lowWatermark;
    const next = isBefore ? slice.lowWatermark : lowWatermark;
    // The messages come with the gap, so that a reader that is slower than retention gets some.
    const batches = await this.#toBatches(next, oldest);
    const gap = {
      reason: gapReasonOf(position, oldest, reason) ?? reason,
      from: position,
      oldest: oldestOf(batches[0]),
    };
    return [{ batch: [{ gap }], position: next }, ...batches];
  }

  /**
   * The batches after a position. Messages that do not fit the schema of the topic become one gap:
   * the log is read on to find its end.
   */
  async #toBatches(position: string, { messages, highWatermark }: LogSlice<Data>): Promise<PositionedBatch<Data>[]> {
    const batches: PositionedBatch<Data>[] = [];
    let from = position;
    for (let begin = 0; begin < messages.length;) {
      const run = uniformRun(messages, begin);
      begin += run.length;
      const last = run.at(-1)!.id;
      if (!isMisfit(run[0])) batches.push({ batch: run, position: last });
      else if (begin < messages.length) batches.push({ batch: [schemaGap(from, messages[begin]!.id)], position: last });
      else batches.push(...await this.#readPastMisfits(from, last, highWatermark));
      from = last;
    }
    return batches;
  }

  /** Returns the gap before the next message that fits the schema, and what follows. */
  async #readPastMisfits(from: string, last: string, end: string): Promise<PositionedBatch<Data>[]> {
    while (last < end && !this.#outcome) {
      const slice = await this.#follower.read(last);
      // The next read shows what else is missing.
      if (slice.messages.length === 0 || gapReasonOf(last, slice, "slow")) break;
      const run = uniformRun(slice.messages);
      if (!isMisfit(run[0])) {
        const gap = { batch: [schemaGap(from, run[0]!.id)], position: last };
        return [gap, { batch: run, position: run.at(-1)!.id }];
      }
      last = run.at(-1)!.id;
      end = slice.highWatermark;
      const next = slice.messages[run.length];
      if (next) return [{ batch: [schemaGap(from, next.id)], position: last }];
    }
    return [{ batch: [schemaGap(from, undefined)], position: last }];
  }
}

function oldestOf(first: PositionedBatch<unknown> | undefined): string | null {
  const entry = first?.batch[0];
  if (entry === undefined) return null;
  return "gap" in entry ? entry.gap.oldest : entry.id;
}

function schemaGap(from: string, oldest: string | undefined): TopicGap {
  return { gap: { reason: "schema", from, oldest: oldest ?? null } };
}

function settle<Data>(receiver: BatchReceiver<Data>, outcome: Promise<undefined>): void {
  outcome.then((batch) => receiver.receive(batch), (error) => receiver.fail(error));
}

/** Why messages are missing before the slice, if they are. */
function gapReasonOf(
  position: string,
  { lowWatermark, highWatermark }: TopicBounds,
  reason: GapReason,
): GapReason | undefined {
  if (!isSameIncarnation(position, highWatermark)) return "epoch";
  if (position > highWatermark) return "ahead";
  return position < lowWatermark ? reason : undefined;
}
