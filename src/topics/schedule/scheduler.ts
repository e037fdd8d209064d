/**
 * Publishes scheduled messages when they are due. Each node looks for messages that are due: those
 * that it has scheduled itself it publishes at once, others only after a moment, in case their node
 * has ended. To publish a message, a node takes it by compare and set; the id of the message makes
 * a second attempt harmless.
 */
import { Lazy } from "../../base/async_context.ts";
import type { Clock } from "../../base/clock.ts";
import { countBytes } from "../../base/json_data.ts";
import { describeError, detached, log, ThrottledLog } from "../../log/log.ts";
import {
  CannotOpenError,
  LOG_START,
  type LogPage,
  type LogPosition,
  type LogRef,
  orAborted,
  type TopicStore,
} from "../../store/topic_store.ts";
import { toId } from "../message.ts";
import { PublishOutcomeUnknownError, type PublishResult, type ScheduledMessage } from "../publisher.ts";
import { decodeScheduled, SCHEDULED_LOG } from "./scheduled_log.ts";
import {
  checkScheduledSize,
  type DueEntry,
  hashOfId,
  type ListedEntry,
  type MessageToSchedule,
  type ScheduledRecord,
  ScheduledRecords,
  type Taking,
  type Time,
} from "./scheduled_records.ts";
import { DAY, KEY_LENGTH, keyOfSecond, MINUTE, type Period, periodsOf, SECOND, startOf } from "./times.ts";

/** How often a node looks whether any message was ever scheduled, and after an error. */
const POLL = 1_000;
/** How late a message of another node is published, which had time to do so. */
const GRACE = 400;
/** How long a node waits for another one that has taken a message, and holds a claim. */
const PATIENCE = 2_000;
/** The pause between two looks at one period, in milliseconds. */
const SPACING = 50;
/** How often the periods since the beginning are listed again: an entry may be written late. */
const SWEEP = 30_000;
/** How late an entry may be written: stores repeat a write for half as long. */
const LATE = 2 * MINUTE;
/** The beginning advances in such steps. */
const STEP = 5 * MINUTE;
const BATCH = 64;
/** How many messages are listed at once. */
const MAX_LISTED = 512;
const MAX_SEEN = 10_000;
/** Of clocks: of the one that dates messages, and of other nodes. */
const TOLERANCE = 2_000;
const READ_LIMITS = { maxMessages: 256, maxBytes: 1024 * 1024 };

export interface SchedulerParts {
  readonly store: TopicStore;
  /** Otherwise no other process has scheduled messages, and waiting keeps the process alive. */
  readonly isDurable: boolean;
  readonly clock: Clock;
  readonly publish: (log: LogRef, message: MessageToSchedule) => Promise<PublishResult>;
}

interface Watched extends Period {
  /** When to look at it again. */
  at: Time;
}

/** A message that this node is to publish. */
interface TakenMessage {
  readonly scheduled: ScheduledRecord;
  readonly version: string;
  /** When a node took it for the first time. */
  readonly since: Time;
}

export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #node: string = crypto.randomUUID();
  readonly #records = new Lazy(() => this.#openRecords());
  #count = 0;
  /** Undefined while no message was ever scheduled, as far as this node knows. */
  #begin: Time | undefined;
  /** The periods before it were listed. */
  #listed = 0;
  #sweptAt = -Infinity;
  #movedAt = -Infinity;
  /**
   * Up to which messages that were scheduled in transactions are in records. No log has this one.
   */
  #position: LogPosition = { incarnation: "", cursor: LOG_START };
  #lastMove: Promise<void> = Promise.resolve();
  /** It has not begun. */
  #nextMove: Promise<void> | undefined;
  readonly #watched = new Map<string, Watched>();
  /** Messages that other nodes have taken, and since when. */
  readonly #seen = new Map<string, { readonly version: string; readonly since: number }>();
  readonly #handled = new Set<string>();
  readonly #failures = new ThrottledLog("error", "A scheduled message could not be published and will be retried");
  #running: Promise<void> | undefined;
  #handling: Promise<unknown> | undefined;
  #isDraining = false;
  #hasFailed = false;
  #isAwake = false;
  #isNeeded = false;
  #wake: () => void = () => {};

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#isNeeded = true;
    if (!this.#isDraining) this.#running ??= detached(() => this.#run());
  }

  drain(): void {
    this.#isDraining = true;
    this.#wakeUp();
  }

  /** Waits for the messages that it publishes. What it reads ends with the store. */
  async close(): Promise<void> {
    this.drain();
    await this.#handling;
  }

  /**
   * Schedules a message. One whose time has come is published at once.
   *
   * @param due In milliseconds: from now on, or since 1970.
   * @throws {RangeError} If the message is too large for a record.
   * @throws {PublishOutcomeUnknownError} If it may be scheduled or not.
   */
  async schedule(
    log: LogRef,
    message: Omit<MessageToSchedule, "id"> & { readonly id: string | undefined },
    due: { readonly after: number } | { readonly at: Time },
    signal: AbortSignal | undefined,
  ): Promise<ScheduledMessage> {
    signal?.throwIfAborted();
    const id = message.id ?? crypto.randomUUID();
    let isSent = false;
    const scheduling = async (): Promise<ScheduledMessage> => {
      const records = await this.#records.use();
      // The first answer also shows the time of the store.
      await this.#ensureBegin(records);
      const at = Math.ceil("at" in due ? due.at : this.#time + due.after);
      const scheduled = this.#toRecord(log, { ...message, id }, at);
      checkScheduledSize(scheduled, this.#parts.store.capabilities.maxMessageBytes);
      if (at <= this.#time) {
        const { duplicate } = await this.#parts.publish(log, scheduled.message);
        return { id, at: new Date(at), duplicate };
      }
      // A transaction may have scheduled one with this id before.
      if (message.id !== undefined) await this.#moveAll(records);
      isSent = true;
      const found = await records.add(scheduled);
      if (found.at !== at) await records.removeEntry(scheduled).catch(() => {});
      // A node that has found the entry, and not yet the message, has removed the entry.
      if (found.at < this.#time + TOLERANCE) await records.setEntry(found);
      this.#notice(found.at);
      const isOwn = found.node === this.#node && found.number === scheduled.number;
      return { id, at: new Date(found.at), duplicate: !isOwn };
    };
    try {
      return await (signal ? orAborted(scheduling(), signal) : scheduling());
    } catch (error) {
      const isKnown = !isSent || error instanceof CannotOpenError || error instanceof RangeError;
      throw isKnown ? error : new PublishOutcomeUnknownError(log.name, id, error);
    }
  }

  /** Whether the message was still scheduled. Then it will never be published. */
  async cancel(topic: string, id: string): Promise<boolean> {
    const records = await this.#records.use();
    const hash = hashOfId(id);
    for (;;) {
      await this.#moveAll(records);
      const found = await records.find({ topic, hash });
      if (!found || found.value.taken) return false;
      // It is removed: another node may have moved it, and not yet its position.
      await this.#moveAll(records);
      if (await records.cancel(found.value, found.version)) return true;
    }
  }

  /** Publishes scheduled messages now, those that are due first in front. Returns how many. */
  async publishNow(topics: readonly string[]): Promise<number> {
    const records = await this.#records.use();
    await this.#moveAll(records);
    const found: ScheduledRecord[] = [];
    for (const topic of topics) for await (const { value } of records.all(topic)) found.push(value);
    let count = 0;
    for (const part of inBatches(found.sort(byTime))) {
      const taken = await Promise.all(part.map((scheduled) => this.#take(records, scheduled)));
      const own = taken.filter((one) => typeof one === "object");
      if (own.length === 0) continue;
      const moved = this.#moveAll(records);
      await Promise.all(own.map((one) => this.#publish(records, one, moved)));
      count += own.length;
    }
    return count;
  }

  get #time(): Time {
    return this.#parts.store.now?.() ?? this.#parts.clock.wall();
  }

  async #openRecords(): Promise<ScheduledRecords> {
    const records = await this.#parts.store.openRecords?.();
    if (records) return new ScheduledRecords(records);
    throw new TypeError(
      "Cannot schedule messages: the store of topics that the App was given has no records, give it openRecords()",
    );
  }

  async #ensureBegin(records: ScheduledRecords): Promise<void> {
    if (this.#begin !== undefined) return;
    const found = await records.begin();
    if (!found) await records.setBegin(startOf(MINUTE, this.#time - LATE), null);
    this.#setBegin(found?.value ?? this.#time - LATE);
  }

  #setBegin(begin: Time): void {
    if (this.#begin === undefined) this.#listed = startOf(DAY, begin);
    this.#begin = begin;
  }

  /** Looks at the second of a new message, if it was listed before. */
  #notice(at: Time): void {
    const start = startOf(SECOND, at);
    if (start < this.#listed) {
      this.#watch({ key: keyOfSecond(start), start }, at);
      this.#wakeUp();
    }
    this.start();
  }

  #watch(period: Period, at: Time): void {
    const name = period.key.join(" ");
    const known = this.#watched.get(name);
    if (!known) this.#watched.set(name, { ...period, at });
    else known.at = Math.min(known.at, at);
  }

  async #run(): Promise<void> {
    while (!this.#isDraining) {
      this.#isAwake = this.#isNeeded = false;
      const wait = await this.#tryStep();
      if (wait === undefined && !this.#isNeeded) break;
      await this.#sleep(wait ?? 0);
    }
    this.#running = undefined;
  }

  #wakeUp(): void {
    this.#isAwake = true;
    this.#wake();
  }

  async #sleep(ms: number): Promise<void> {
    if (ms <= 0 || this.#isAwake || this.#isDraining) return;
    const { clock, isDurable } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    // Messages in a shared store may wait for other processes.
    const cancel = clock.after(ms, resolve, { keepsAlive: !isDurable });
    await promise;
    cancel();
  }

  async #tryStep(): Promise<number | undefined> {
    try {
      const wait = await this.#step(await this.#records.use());
      this.#hasFailed = false;
      return wait;
    } catch (error) {
      // Most applications schedule nothing: they use the records for nothing else, perhaps.
      if (!this.#hasFailed && !this.#isDraining && this.#begin !== undefined) {
        log("error", "Scheduled messages cannot be read and will be retried", { error: describeError(error) });
      }
      this.#hasFailed = true;
      return POLL;
    }
  }

  /** Returns the pause before the next step in milliseconds; undefined to stop. */
  async #step(records: ScheduledRecords): Promise<number | undefined> {
    if (this.#parts.clock.now() - this.#movedAt >= POLL) await this.#moveAll(records);
    if (this.#begin === undefined) {
      const begin = await records.begin();
      if (!begin) return this.#parts.isDurable ? POLL : undefined;
      this.#setBegin(begin.value);
    }
    const end = startOf(SECOND, this.#time) + SECOND;
    // The clock may have been set back.
    if (this.#listed > end + SECOND) this.#listed = end;
    for (const period of periodsOf(this.#listed, end)) this.#watch(period, -Infinity);
    this.#listed = Math.max(this.#listed, end);
    if (this.#parts.clock.now() - this.#sweptAt >= SWEEP && !await this.#sweep(records)) return undefined;
    for (const [name, watched] of this.#watched) {
      if (this.#isDraining) return 0;
      if (watched.at <= this.#time) await this.#look(records, name, watched);
    }
    const next = this.#watched.values().reduce((least, { at }) => Math.min(least, at), this.#listed);
    return Math.max(next - this.#time, this.#watched.size > 0 ? SPACING : 1);
  }

  /**
   * Moves messages that were scheduled in transactions into records: they are found there. Then the
   * stored position is behind all messages that were in records at the call. Calls during a move
   * share the next one.
   */
  #moveAll(records: ScheduledRecords): Promise<void> {
    if (!this.#parts.store.appendIn) return Promise.resolve();
    if (this.#nextMove) return this.#nextMove;
    const move = this.#nextMove = this.#lastMove.then(() => {
      this.#nextMove = undefined;
      return this.#moveOn(records);
    });
    // A caller may fail before it awaits the move.
    this.#lastMove = move.catch(() => {});
    return move;
  }

  async #moveOn(records: ScheduledRecords): Promise<void> {
    const { store, clock } = this.#parts;
    for (;;) {
      const at = clock.now();
      const { incarnation, cursor } = this.#position;
      const page = await store.read(SCHEDULED_LOG, cursor, READ_LIMITS);
      const isSame = page.incarnation === incarnation;
      if (isSame && page.messages.length === 0) {
        this.#movedAt = at;
        return;
      }
      const stored = await records.position();
      const position = positionIn(page, stored?.value);
      if (!isSame || position.cursor !== cursor) {
        // Another node has moved them.
        this.#position = position;
        continue;
      }
      await this.#ensureBegin(records);
      if (!await this.#move(records, page, stored?.version)) continue;
      const next = { incarnation, cursor: page.messages.at(-1)!.cursor };
      if (await records.setPosition(next, stored?.version ?? null)) this.#position = next;
    }
  }

  /** Returns false if another node has moved them since the position was read, in this version. */
  async #move(
    records: ScheduledRecords,
    { messages, incarnation }: LogPage,
    position: string | undefined,
  ): Promise<boolean> {
    // The sweeps of other nodes find no older ones.
    const earliest = this.#time - MINUTE;
    const byName = new Map<string, ScheduledRecord>();
    for (const { cursor, data } of messages) {
      const decoded = decodeScheduled(data);
      if (!decoded) {
        log("error", "A scheduled message is unreadable and was given up", { message_id: toId(incarnation, cursor) });
        continue;
      }
      const { log: topic, at, ...message } = decoded;
      const bytes = countBytes(message.data);
      const scheduled = this.#toRecord(topic, { ...message, bytes }, Math.ceil(Math.max(at, earliest)));
      if (!byName.has(nameOf(scheduled))) byName.set(nameOf(scheduled), scheduled);
    }
    for (const part of inBatches([...byName.values()])) {
      for (let left = part; left.length > 0;) {
        const reserved = await Promise.all(left.map((scheduled) => records.reserve(scheduled)));
        if ((await records.position())?.version !== position) return false;
        const placed = await Promise.all(left.map((scheduled, index) => {
          return this.#place(records, scheduled, reserved[index]!);
        }));
        left = left.filter((_, index) => !placed[index]);
      }
    }
    return true;
  }

  /** Returns false if another node has done so or has cancelled it meanwhile. */
  async #place(
    records: ScheduledRecords,
    scheduled: ScheduledRecord,
    reserved: string | ScheduledRecord,
  ): Promise<boolean> {
    const isFound = typeof reserved !== "string";
    if (!isFound && !await records.place(scheduled, reserved)) return false;
    // The node that has moved it may have ended before it has written the entry.
    const entry = isFound ? reserved : scheduled;
    await records.setEntry(entry);
    this.#notice(entry.at);
    return true;
  }

  #toRecord(log: LogRef, message: MessageToSchedule, at: Time): ScheduledRecord {
    const entry = { topic: log.name, hash: hashOfId(message.id), at, node: this.#node, number: this.#count++ };
    return { ...entry, log, message, taken: undefined };
  }

  /**
   * Lists what may have been written late. Returns false if nothing is scheduled in this process.
   */
  async #sweep(records: ScheduledRecords): Promise<boolean> {
    const end = startOf(MINUTE, this.#time);
    const begin = await records.begin();
    // The store may be another one.
    if (!begin) await records.setBegin(startOf(MINUTE, this.#time - LATE), null);
    this.#begin = begin?.value ?? this.#time - LATE;
    let isEmpty = true;
    for (const period of periodsOf(startOf(MINUTE, this.#begin), end)) {
      for await (const entry of records.due(period)) {
        isEmpty = false;
        const start = startOf(SECOND, entry.at);
        this.#watch({ key: keyOfSecond(start), start }, -Infinity);
        // Later sweeps find the others.
        if (this.#watched.size > MAX_LISTED) break;
      }
    }
    this.#sweptAt = this.#parts.clock.now();
    const next = end - LATE;
    if (begin && isEmpty && next >= this.#begin + STEP) {
      await records.setBegin(next, begin.version);
      this.#begin = next;
    }
    if (this.#parts.isDurable || !isEmpty || this.#watched.size > 1) return true;
    for await (const _message of records.all()) return true;
    return false;
  }

  /** Publishes what is due in a period. */
  async #look(records: ScheduledRecords, name: string, watched: Watched): Promise<void> {
    // It may be noticed meanwhile.
    watched.at = Infinity;
    let again = this.#time + POLL;
    try {
      again = await this.#publishDue(records, watched);
    } finally {
      watched.at = Math.min(watched.at, again);
      if (watched.at === Infinity) this.#watched.delete(name);
    }
  }

  /** Returns when to look at the period again. */
  async #publishDue(records: ScheduledRecords, period: Period): Promise<Time> {
    const { due, next } = await this.#listDue(records, period);
    let again = next;
    // A node may have scheduled a message in the second that has begun, and ended.
    const end = period.key.length === KEY_LENGTH ? period.start + SECOND + GRACE : -Infinity;
    if (end > this.#time) again = Math.min(again, end);
    const hasOthers = due.some(({ node }) => node !== this.#node);
    const mayPublishOthers = !hasOthers || await records.claim(period, this.#node, PATIENCE);
    const own = mayPublishOthers ? due : due.filter(({ node }) => node === this.#node);
    if (own.length < due.length) again = Math.min(again, this.#time + PATIENCE);
    for (const part of inBatches(own.sort(byTime))) {
      if (this.#isDraining) break;
      const handling = this.#handling = this.#handle(records, part);
      if (!await handling) again = Math.min(again, this.#time + POLL);
    }
    return again;
  }

  /** What is due, and when to look again; `Infinity` if all is due. */
  async #listDue(records: ScheduledRecords, period: Period): Promise<{ due: ListedEntry[]; next: Time }> {
    const due: ListedEntry[] = [];
    let next = Infinity;
    for await (const entry of records.due(period)) {
      const ready = entry.node === this.#node ? entry.at : entry.at + GRACE;
      if (ready > this.#time) next = Math.min(next, ready);
      else if (due.push(entry) === MAX_LISTED) return { due, next: this.#time };
    }
    return { due, next };
  }

  /** Whether all of them are published. They are taken first, so that they keep their order. */
  async #handle(records: ScheduledRecords, entries: readonly ListedEntry[]): Promise<boolean> {
    const take = async (entry: ListedEntry) => {
      const outcome = await this.#take(records, entry);
      if (outcome === "done") await records.removeListed(entry);
      return outcome;
    };
    const taken = await Promise.all(entries.map((entry) => this.#tryTo(() => take(entry), entry)));
    const moved = taken.some((one) => typeof one === "object") ? this.#moveAll(records) : Promise.resolve();
    const outcomes = await Promise.all(taken.map((one) => {
      return typeof one === "object" ? this.#tryTo(() => this.#publish(records, one, moved), one.scheduled) : one;
    }));
    return outcomes.every((outcome) => outcome === "done");
  }

  /** "done" if nothing is left of it, "elsewhere" if another node has it. */
  async #take(records: ScheduledRecords, entry: DueEntry): Promise<TakenMessage | "done" | "elsewhere"> {
    const name = nameOf(entry);
    if (this.#handled.has(name)) return "elsewhere";
    this.#handled.add(name);
    let taken: TakenMessage | undefined;
    try {
      const found = await this.#takeUnlessGone(records, entry);
      return typeof found === "object" ? taken = found : found;
    } finally {
      if (!taken) this.#handled.delete(name);
    }
  }

  async #takeUnlessGone(records: ScheduledRecords, entry: DueEntry): Promise<TakenMessage | "done" | "elsewhere"> {
    for (;;) {
      const found = await records.find(entry);
      // Cancelled or published; perhaps another message has its id now.
      if (!found || found.value.at !== entry.at) return "done";
      const { value: scheduled, version } = found;
      const { taken: earlier } = scheduled;
      if (earlier && earlier.node !== this.#node && !this.#hasWaited(nameOf(entry), version)) return "elsewhere";
      const taken: Taking = { node: this.#node, at: earlier?.at ?? this.#time };
      const newVersion = await records.take(scheduled, taken, version);
      if (newVersion !== null) return { scheduled, version: newVersion, since: taken.at };
    }
  }

  /** Whether another node has had the message for long. */
  #hasWaited(name: string, version: string): boolean {
    const now = this.#parts.clock.now();
    const seen = this.#seen.get(name);
    if (seen?.version === version) return now - seen.since >= PATIENCE;
    if (this.#seen.size >= MAX_SEEN) this.#seen.clear();
    this.#seen.set(name, { version, since: now });
    return false;
  }

  async #tryTo<Outcome>(action: () => Promise<Outcome>, { topic, hash }: DueEntry): Promise<Outcome | "failed"> {
    try {
      return await action();
    } catch (error) {
      const fields = { topic, id_hash: hash, error: describeError(error) };
      if (!this.#isDraining) this.#failures.note(1, fields);
      return "failed";
    }
  }

  /** @param moved Of a move that has begun since the message was found: then it can be removed. */
  async #publish(
    records: ScheduledRecords,
    { scheduled, version, since }: TakenMessage,
    moved: Promise<void>,
  ): Promise<"done"> {
    const { log, message } = scheduled;
    try {
      // An earlier attempt may be older than the store remembers ids.
      const isLong = this.#time - since >= log.policy.dedupe / 2;
      if (!isLong || !await this.#isPublished(log, message, since)) await this.#parts.publish(log, message);
      await moved;
      await records.remove(scheduled, version);
      return "done";
    } finally {
      this.#handled.delete(nameOf(scheduled));
      this.#seen.delete(nameOf(scheduled));
    }
  }

  /** Whether the log has the message since a time. Logs have no ids, so its data is compared. */
  async #isPublished(log: LogRef, { type, data }: MessageToSchedule, since: Time): Promise<boolean> {
    const { store } = this.#parts;
    let { cursor } = await store.seek(log, new Date(since - TOLERANCE));
    for (;;) {
      const { messages } = await store.read(log, cursor, READ_LIMITS);
      if (messages.some((message) => message.type === type && message.data === data)) return true;
      if (messages.length === 0) return false;
      cursor = messages.at(-1)!.cursor;
    }
  }
}

/** A backup has the log and the records. A log that is shorter than the position is another one. */
function positionIn({ incarnation, highWatermark }: LogPage, stored: LogPosition | undefined): LogPosition {
  if (stored?.incarnation === incarnation) return stored;
  const isInLog = stored !== undefined && stored.cursor <= highWatermark;
  return { incarnation, cursor: isInLog ? stored.cursor : LOG_START };
}

function nameOf({ topic, hash }: DueEntry): string {
  return `${hash} ${topic}`;
}

function byTime(one: DueEntry, other: DueEntry): number {
  return one.at - other.at || one.number - other.number;
}

function* inBatches<Item>(items: readonly Item[]): Generator<readonly Item[], void, void> {
  for (let start = 0; start < items.length; start += BATCH) yield items.slice(start, start + BATCH);
}
