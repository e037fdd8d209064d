/** One consumer on this node: claims messages, runs their handlers, and records the outcomes. */
import { errorText } from "../../log/log_text.ts";
import { describeError } from "../../log/log.ts";
import { OrderedMap } from "../../base/ordered_map.ts";
import type { RecordStore } from "../../store/record_store.ts";
import type { ConsumerTry, FailedMessage, ResolvedConsumeOptions } from "../../topics/consume_options.ts";
import { toId, type TopicMessage } from "../../topics/message.ts";
import type { Cursor, LogBounds, LogRef, TopicStore } from "../../store/topic_store.ts";
import type { StoredCheck } from "../../topics/topic_log.ts";
import { type Clock, momentOf } from "../../base/clock.ts";
import type { Service } from "../../base/service.ts";
import { type DeadLetterTopic, Failures } from "./failures.ts";
import { capacityOf, claimsUnrecorded, paceOf } from "./capacity.ts";
import { ConsumerLog } from "./consumer_log.ts";
import type { Delivery } from "./delivery.ts";
import { InFlight } from "./in_flight.ts";
import {
  consumerKey,
  type ConsumerName,
  type ConsumerState,
  decodeState,
  encodeState,
  newState,
  type PendingMessage,
  type PendingPage,
  PendingPages,
} from "./record.ts";
import { countGaps, LogWindow, OtherIncarnation } from "./log_window.ts";
import { type PermitPlan, Permits } from "./permits.ts";
import { LeaseTimer } from "../../store/lease.ts";
import { Members, newNodeName } from "./members.ts";
import {
  claimable,
  firstDelivery,
  hasOtherClaimer,
  isFull,
  isRisk,
  MAX_UNRECORDED,
  spaceIn,
  StateTransition,
  type UnrecordedClaim,
} from "./state_transition.ts";

export interface ConsumerSetup {
  readonly name: string;
  readonly log: LogRef;
  readonly store: TopicStore;
  readonly records: RecordStore;
  readonly options: ResolvedConsumeOptions;
  /** If messages may be older than the schema of the topic. */
  readonly check?: StoredCheck | undefined;
  /** Gets one message, or those of a batch, and returns those that failed. */
  readonly handle: (
    messages: readonly TopicMessage[],
    context: ConsumerTry,
    traces: readonly (string | undefined)[],
  ) => Promise<readonly FailedMessage[]>;
  readonly deadLetter: DeadLetterTopic | undefined;
  readonly clock: Clock;
}

/** Outcomes are collected for so many milliseconds. */
const ACK_DELAY = 50;
/** The first pause before the record is read again, while another node is the claimer. */
const FIRST_POLL = 20;
/** The pause after a transition that changed nothing. */
const IDLE_REST = 5;
/** The pauses after an error of the store. */
const FIRST_PAUSE = 100;
const MAX_PAUSE = 5_000;
/** How long handlers have after an abort, and the last write after a close. */
const LAST_MS = 1_000;
const MAX_LAST_ERROR_BYTES = 200;
const MAX_LATE_DONE = 1_000;
const MAX_FORMER = 16;
/** A shorter wait is not worth a timer. */
const SOON = 0.5;
/** After so many rounds the event loop gets a turn. */
const ROUNDS_OF_TURN = 100;

export class Consumer implements Service<void> {
  readonly #setup: ConsumerSetup;
  readonly #consumer: ConsumerName;
  readonly #log: ConsumerLog;
  readonly #clock: Clock;
  readonly #inFlight: InFlight;
  readonly #permits: Permits | undefined;
  readonly #window: LogWindow;
  readonly #failures: Failures;
  readonly #members: Members;
  readonly #lease: LeaseTimer;
  readonly #pages: PendingPages;
  readonly #opened = Promise.withResolvers<void>();
  #loop: Promise<void> | undefined;
  #unwatch: (() => void) | undefined;
  #cancelClose: (() => void) | undefined;
  #wake: () => void = () => {};

  /** Each start has another name. */
  #node = "";
  #state: ConsumerState | undefined;
  #version: string | null = null;
  /**
   * The version that this node has written; undefined after a write without a reply. A server that
   * was replaced may answer a read with an older one.
   */
  #written: string | undefined;
  /** Whether the record may have changed since it was read. */
  #isStale = true;
  /** Whether an operator may have changed the record since it was read. */
  #isNotified = false;
  #seenAt = -Infinity;
  /** How often the record was read since the log has grown. */
  #polls = 0;
  #unrecorded: UnrecordedClaim | undefined;
  #heartbeat = 0;
  #claimedAt = -Infinity;
  #ackAt = Infinity;
  #restUntil = -Infinity;
  #errors = 0;
  #lastError: string | undefined;
  #incarnation = "";
  /** Whether messages of busy keys wait in the record. */
  #hasBlocked = false;
  /** Handlers that resolved late, until the record has their messages as done. */
  readonly #lateDone = new OrderedMap<Cursor, true>();
  #isStopping = false;
  #isGone = false;

  constructor(setup: ConsumerSetup) {
    const { name, log, store, records, options, check, deadLetter, clock } = setup;
    this.#setup = setup;
    this.#clock = clock;
    this.#consumer = { topic: log.name, name };
    this.#log = new ConsumerLog(this.#consumer);
    const readLetter = deadLetter?.read?.bind(deadLetter);
    this.#window = new LogWindow({ store, log, keyOf: options.key, check, readLetter });
    this.#members = new Members(store, options.lease);
    this.#lease = new LeaseTimer(options.lease, clock);
    this.#pages = new PendingPages(records, this.#consumer);
    this.#failures = new Failures({ consumer: this.#consumer, records, deadLetter, attempts: options.attempts });
    this.#permits = options.rate && new Permits(options.rate, clock, () => this.#time());
    this.#inFlight = new InFlight({
      ...options,
      permits: this.#permits,
      onWithoutPermits: () => this.#wake(),
      clock,
      time: () => this.#time(),
      isHeld: () => this.#lease.isHeld,
      handle: (messages, attempt, signal) => {
        const traces = messages.map(({ trace }) => trace);
        return setup.handle(messages.map(({ message }) => message), { attempt, signal }, traces);
      },
      park: (delivery, error) => this.#park(delivery, error),
      onFailure: (deliveries, error) => this.#onFailure(deliveries, error),
      onLateResult: ({ at }) => this.#onLateResult(at),
      onOutcome: () => this.#onOutcome(),
    });
  }

  /** Resolves when the record exists, which has the position of the consumer. */
  start(): Promise<void> {
    const { store, log } = this.#setup;
    this.#unwatch = store.watch(log, () => {
      this.#window.expectMore();
      this.#polls = 0;
      this.#wake();
    });
    // Without the lease another node may get the messages.
    this.#lease.watch(() => this.#inFlight.abortAll(awayReason()));
    this.#loop ??= this.#run();
    return this.#opened.promise;
  }

  /** Reads the record again: an operator may have changed it. */
  notify(): void {
    this.#isNotified = true;
    this.#wake();
  }

  /** Releases the messages that wait for a handler. */
  drain(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#inFlight.drain();
    this.#ackAt = this.#clock.now();
    this.#wake();
  }

  /** Waits one more second for the handlers. */
  abort(reason: DOMException): void {
    this.drain();
    const handlers = this.#inFlight.running;
    if (handlers > 0 && !this.#cancelClose) {
      this.#log.write("Handlers of a consumer did not end in the grace period: their signals are aborted", {
        handlers,
      });
    }
    this.#inFlight.abortAll(reason);
    this.#cancelClose ??= this.#clock.after(LAST_MS, () => this.#inFlight.close());
  }

  async close(): Promise<void> {
    this.drain();
    await Promise.race([this.#loop, this.#inFlight.whenFinished()]);
    let cancel = () => {};
    const late = new Promise<void>((resolve) => cancel = this.#clock.after(LAST_MS, resolve));
    // A store that cannot be reached must not delay the stop.
    await Promise.race([this.#loop, late]);
    cancel();
    this.#isGone = true;
    this.#unwatch?.();
    this.#lease.unwatch();
    this.#cancelClose?.();
    this.#inFlight.close();
    this.#wake();
    this.#opened.resolve();
    await this.#failures.settled();
  }

  get #freeSlots(): number {
    return this.#isStopping || this.#isPaused ? 0 : this.#capacity - this.#unfinished;
  }

  get #capacity(): number {
    return capacityOf(this.#setup.options, this.#inFlight);
  }

  get #batchSize(): number {
    return this.#setup.options.batch?.size ?? 1;
  }

  get #unfinished(): number {
    return this.#inFlight.size - this.#inFlight.finished;
  }

  get #hasKeys(): boolean {
    return this.#setup.options.key !== undefined;
  }

  get #isClaimer(): boolean {
    return this.#state?.claimer === this.#node;
  }

  get #isPaused(): boolean {
    return this.#state?.paused !== undefined;
  }

  #time(): number {
    return this.#setup.store.now?.() ?? this.#clock.wall();
  }

  async #run(): Promise<void> {
    this.#node = await newNodeName(this.#setup.store);
    for (let rounds = 1; !this.#isGone && !this.#isOver; rounds++) {
      // Handlers that publish to their own topic in memory would never end a turn of the event
      // loop.
      if (rounds % ROUNDS_OF_TURN === 0) await new Promise<void>((resolve) => void this.#clock.after(0, resolve));
      const wait = this.#isStale || this.#isNotified ? 0 : this.#whenNext() - this.#clock.now();
      if (wait > SOON) {
        await this.#sleep(wait);
        continue;
      }
      try {
        await this.#advance();
        this.#errors = 0;
      } catch (error) {
        await this.#recover(error);
      }
      this.#inFlight.dispatch();
    }
  }

  get #isOver(): boolean {
    return this.#isStopping && this.#inFlight.size === 0 && !this.#isClaimer && !this.#isStale;
  }

  async #sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(Math.ceil(ms), resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
    this.#wake = () => {};
  }

  async #recover(error: unknown): Promise<void> {
    this.#isStale = true;
    if (this.#isGone) return;
    try {
      if (error instanceof OtherIncarnation) return await this.#begin(error.bounds);
    } catch {
      // The next round finds the other incarnation again.
    }
    if (this.#errors++ === 0) this.#log.write("A consumer failed and will retry", { error: describeError(error) });
    const longest = Math.min(MAX_PAUSE, this.#lease.pollInterval);
    await this.#sleep(Math.min(FIRST_PAUSE * 2 ** Math.min(this.#errors, 10), longest));
  }

  #whenNext(): number {
    const state = this.#state!;
    const times = [this.#ackAt, this.#seenAt + this.#lease.pollInterval];
    if (this.#inFlight.size > 0 || this.#isClaimer) times.push(this.#lease.nextRenewal);
    times.push(this.#members.nextEnd, this.#members.nextCheck, this.#whenToClaim(state));
    if (!this.#isStopping) times.push(this.#permits?.whenFor(this.#inFlight.withoutPermits, state.begun) ?? Infinity);
    return Math.max(this.#restUntil, Math.min(...times));
  }

  /** When to claim more or, if this node is full, to let others claim. */
  #whenToClaim(state: ConsumerState): number {
    if (this.#isStopping) return Infinity;
    const { options } = this.#setup;
    const room = this.#freeSlots;
    const paced = this.#claimedAt + paceOf(options, this.#inFlight);
    const earliest = Math.max(paced, this.#permits?.whenAvailable(state.begun, this.#lackingPermits + 1) ?? paced);
    const hasMore = this.#window.messages.length > 0 || this.#window.mayHaveMore;
    if (room <= 0) return hasMore && this.#isClaimer ? earliest : Infinity;
    const times: number[] = [];
    const isWorth = this.#inFlight.waiting === 0 || options.batch !== undefined || room >= this.#capacity / 4;
    // The claimer lets others claim as soon as it is full.
    if (hasOtherClaimer(state, this.#node)) {
      if (hasMore) times.push(this.#seenAt + FIRST_POLL * 2 ** Math.min(this.#polls, 20));
    } else if (hasMore && isWorth && !isFull(state, this.#hasKeys)) times.push(earliest);
    const due = this.#whenDue(state);
    if (due < Infinity) times.push(Math.max(earliest, this.#clock.now() + due - this.#time()));
    return Math.min(...times);
  }

  /** Messages that were claimed, and have no permits yet. */
  get #lackingPermits(): number {
    return this.#permits ? Math.max(0, this.#inFlight.waiting - this.#permits.usable) : 0;
  }

  /** When a pending message is due, by the clock of the store. */
  #whenDue(state: ConsumerState): number {
    let due = Infinity;
    for (const page of state.pages) due = Math.min(due, page.due);
    let risks: readonly number[] | undefined;
    for (const pending of claimable(state)) {
      if (pending.due >= due) continue;
      if (pending.crashCount > 0) {
        risks ??= [...this.#inFlight.all].filter(({ outcome }) => !outcome).map(({ crashCount }) => crashCount);
        if (risks.some((crashCount) => isRisk(crashCount, pending.crashCount))) continue;
      }
      due = pending.due;
    }
    return due;
  }

  async #advance(): Promise<void> {
    if (!this.#lease.isHeld) this.#inFlight.abortAll(awayReason());
    const now = this.#clock.now();
    if (this.#isPollDue(now) || this.#members.nextEnd <= now) await this.#refresh();
    await this.#members.checkProcesses(now);
    await this.#window.settled();
    this.#alignWindow();
    const isWanted = this.#freeSlots > this.#window.messages.length && !hasOtherClaimer(this.#state!, this.#node);
    if (isWanted && this.#window.mayHaveMore) await this.#window.fill();
    if (this.#claimUnrecorded() && this.#whenNext() > this.#clock.now() + SOON) return;

    const transition = new StateTransition(this.#state!, {
      node: this.#node,
      hasKeys: this.#hasKeys,
      hasBatches: this.#setup.options.batch !== undefined,
      time: this.#time(),
      inFlight: [...this.#inFlight.all],
      unrecorded: this.#unrecorded,
      claimsUnrecorded: claimsUnrecorded(this.#setup.options),
    });
    transition.acknowledge();
    const recorded = await transition.finishLate([...this.#lateDone].map(([at]) => at), this.#window);
    const others = {
      hasEnded: (node: string) => this.#members.hasEnded(node, now),
      hasCrashed: (node: string) => this.#members.hasCrashed(node),
    };
    await transition.takeOver(others, this.#window);
    if (transition.state.next > (this.#unrecorded?.to ?? this.#state!.next)) {
      this.#window.startAfter(transition.state.next);
    }
    const takenPage = await this.#movePages(transition);
    const plan = this.#permits?.plan(transition.state.begun, this.#isStopping);
    this.#claim(transition, plan);
    if (plan) transition.setPermits(plan);
    if (this.#lastError !== undefined) transition.state.lastError = this.#lastError;
    if (transition.finish(++this.#heartbeat, this.#lease.isRenewalDue)) {
      let isWritten = false;
      try {
        isWritten = await this.#write(transition, takenPage, plan);
      } finally {
        if (plan && !isWritten) this.#permits!.settle(plan, false);
      }
      if (isWritten) await this.#forgetLate(recorded);
    } else {
      await this.#forgetLate(recorded);
      this.#ackAt = Infinity;
      this.#restUntil = this.#clock.now() + IDLE_REST;
    }
  }

  async #forgetLate(recorded: readonly Cursor[]): Promise<void> {
    for (const at of recorded) {
      this.#lateDone.delete(at);
      const delivery = this.#inFlight.get(at);
      if (delivery) this.#inFlight.revoke(delivery);
      // A message that was parked meanwhile needs no redelivery.
      await this.#failures.forget(toId(this.#incarnation, at)).catch(() => {});
    }
  }

  /** Whether the record must be read: it may have changed, or have another claimer. */
  #isPollDue(now: number): boolean {
    if (this.#isStale || this.#isNotified || this.#state === undefined) return true;
    this.#polls++;
    const isNews = this.#window.mayHaveMore && hasOtherClaimer(this.#state, this.#node);
    return isNews || now - this.#seenAt >= this.#lease.pollInterval;
  }

  #alignWindow(): void {
    this.#window.startAfter(this.#unrecorded?.to ?? this.#state!.next);
  }

  /**
   * Claims the next messages without a write, if this node is the claimer: only up to a part of its
   * capacity, so that other nodes get some, too. The result is whether it claimed all.
   */
  #claimUnrecorded(): boolean {
    const state = this.#state!;
    if (!claimsUnrecorded(this.#setup.options) || !this.#isClaimer || !this.#lease.isHeld) return false;
    if (this.#isStopping || this.#isPaused) return false;
    // Only a write proves that the record is the newest one.
    if (this.#version !== this.#written) return false;
    if (this.#hasKeys && !this.#isInOrder(state)) return false;
    const window = this.#window;
    const unrecorded = this.#unrecorded ?? { from: state.next, to: state.next, count: 0 };
    if (isSkipped(unrecorded.to, window)) return false;
    const quarter = Math.ceil(this.#setup.options.concurrency * this.#batchSize / 4) - this.#unfinished;
    const messages = window.messages.slice(
      0,
      Math.max(0, Math.min(quarter, Math.min(MAX_UNRECORDED, spaceIn(state)) - unrecorded.count)),
    );
    // Only a write can count the messages that are missing.
    if (countGaps(unrecorded.to, messages) > 0) return false;
    if (messages.length > 0) {
      this.#inFlight.take(messages.map((message) => firstDelivery(message, unrecorded.from, unrecorded.count++)));
      unrecorded.to = messages.at(-1)!.cursor;
      this.#unrecorded = unrecorded;
      this.#alignWindow();
      this.#inFlight.dispatch();
    }
    return window.messages.length === 0;
  }

  /** Whether no pending message holds up the next ones. */
  #isInOrder({ pending, ranges }: ConsumerState): boolean {
    if (pending.length > 0 || ranges.some(({ node }) => node !== this.#node)) return false;
    for (const { outcome } of this.#inFlight.all) if (outcome?.isDone === false) return false;
    return true;
  }

  /** Moves pending messages to a page if there are many, and restores a page that is due. */
  async #movePages(transition: StateTransition): Promise<PendingPage | undefined> {
    const { excess } = transition;
    if (excess.length > 0) transition.movePage(await this.#pages.write(excess, this.#version), excess);
    const page = this.#freeSlots > 0 ? transition.duePage : undefined;
    if (page) transition.restorePage(page, await this.#pages.read(page.id));
    return page;
  }

  #claim(transition: StateTransition, plan: PermitPlan | undefined): void {
    const window = this.#window;
    // No notification comes for messages in a dead node's open range, so read the log again.
    if (transition.state.claimer === "" && hasOtherClaimer(this.#state!, this.#node)) window.expectMore();
    const permitted = plan ? Math.max(0, plan.available - this.#lackingPermits) : Infinity;
    const room = Math.min(this.#freeSlots, permitted);
    const isLogFree = !hasOtherClaimer(transition.state, this.#node) && !isFull(transition.state, this.#hasKeys);
    const hasNext = isLogFree && window.messages.length > 0;
    if (room > 0) transition.claimPending(hasNext ? Math.ceil(room / 2) : room, (at) => window.isCached(at));
    const left = room - transition.claimedPending.length;
    let taken = 0;
    if (left > 0 && isLogFree) {
      const messages = window.messages.slice(0, Math.min(left, spaceIn(transition.state)));
      if (isSkipped(transition.state.next, window)) transition.skipTo(window.low);
      transition.claimNext(messages);
      taken = messages.length;
    }
    if (plan && !this.#isStopping) {
      const claimed = this.#setup.options.batch ? [] : [...transition.claimed, ...transition.claimedPending];
      plan.takeFor(this.#inFlight.withoutPermits, claimed.map(({ key }) => key));
    }
    const isEnd = taken === window.messages.length && !window.mayHaveMore && !this.#isStopping;
    transition.setClaimer(left > taken, isEnd);
  }

  /** False if another node has changed the record. */
  async #write(
    transition: StateTransition,
    takenPage: PendingPage | undefined,
    plan: PermitPlan | undefined,
  ): Promise<boolean> {
    const { records } = this.#setup;
    const window = this.#window;
    const sent = momentOf(this.#clock);
    // Reads ahead during the write. If this fails, the next read fails, too. Messages that are
    // not needed soon stay in the log: handlers may be slow, and the log long.
    const isLow = window.messages.length - transition.claimed.length < this.#capacity;
    const mayRead = isLow && window.mayHaveMore && !this.#isStopping && !hasOtherClaimer(transition.state, this.#node);
    if (mayRead) window.fill().catch(() => {});
    this.#isStale = true;
    this.#written = undefined;
    const version = await records.set(consumerKey(this.#consumer), encodeState(transition.state), {
      expect: this.#version,
    });
    if (version === null) return false;
    if (plan) this.#permits!.settle(plan, true);
    this.#permits?.observeWrite(this.#clock.now() - sent.now);
    this.#written = version;
    this.#isStale = false;
    this.#log.lost(transition.state.lost - this.#state!.lost);
    this.#lease.renewedAt(sent);
    this.#unrecorded = undefined;
    for (const delivery of transition.acknowledged) {
      this.#inFlight.remove(delivery);
      if (delivery.outcome?.isDone === false) window.cache(delivery.message!);
    }
    for (const delivery of transition.dissolved) delivery.range = undefined;
    this.#observe(transition.state, version);
    const now = this.#clock.now();
    if (transition.claimed.length + transition.claimedPending.length > 0) this.#claimedAt = now;
    this.#ackAt = this.#inFlight.finished > 0 ? now + ACK_DELAY : Infinity;
    this.#inFlight.take(transition.claimed);
    this.#inFlight.dispatch();
    if (takenPage) await this.#pages.delete(takenPage.id);
    if (transition.claimedPending.length > 0) await this.#takePending(transition.claimedPending);
    return true;
  }

  async #takePending(claimed: readonly PendingMessage[]): Promise<void> {
    const messages = await this.#window.load(claimed);
    this.#inFlight.take(claimed.map(({ at, attempt, crashCount, key, letter }, index) => {
      const message = messages[index];
      return { at, attempt, crashCount, key, letter, message, range: undefined, index: 0, outcome: undefined };
    }));
  }

  /** Creates the record if there is none. */
  async #refresh(): Promise<void> {
    const { records, store, log: ref, options } = this.#setup;
    const key = consumerKey(this.#consumer);
    this.#isNotified = false;
    for (;;) {
      const record = await records.get(key);
      if (record) {
        this.#accept(decodeState(record.value), record.version);
        break;
      }
      const bounds = await store.bounds(ref);
      const next = options.from === "now" ? bounds.highWatermark : bounds.lowWatermark;
      const state = newState(bounds.incarnation, next);
      const version = await records.set(key, encodeState(state), { expect: null });
      if (version === null) continue;
      this.#accept(state, version);
      break;
    }
    await this.#pages.deleteOrphans(this.#state!.pages, this.#version);
    this.#opened.resolve();
  }

  /** Drops deliveries that other nodes may have. */
  #accept(state: ConsumerState, version: string): void {
    const isOther = this.#incarnation !== state.incarnation;
    if (isOther) {
      this.#window.reset(state.incarnation);
      this.#lateDone.clear();
    }
    this.#incarnation = state.incarnation;
    this.#unrecorded = isOther ? undefined : this.#unrecordedAfter(state);
    const ranges = new Map<Cursor | undefined, number>();
    for (const { node, from, count } of state.ranges) if (node === this.#node) ranges.set(from, count);
    const pending = new Set(state.pending.filter(({ node }) => node === this.#node).map(({ at }) => at));
    if (this.#unrecorded) ranges.set(this.#unrecorded.from, this.#unrecorded.count);
    for (const delivery of [...this.#inFlight.all]) {
      if (!isOther && delivery.index < (ranges.get(delivery.range) ?? 0)) continue;
      // A write without a reply may have moved it out of its range.
      if (!isOther && pending.has(delivery.at)) delivery.range = undefined;
      else this.#inFlight.revoke(delivery);
    }
    this.#isStale = false;
    this.#observe(state, version);
  }

  /** What a record lacks of the unrecorded claim: a write without a reply may have the rest. */
  #unrecordedAfter(state: ConsumerState): UnrecordedClaim | undefined {
    const unrecorded = this.#unrecorded;
    if (unrecorded === undefined || state.claimer !== this.#node) return undefined;
    const { from, to, count } = unrecorded;
    if (state.next === from) return unrecorded;
    const recorded = state.ranges.find((range) => range.node === this.#node && range.from === from);
    if (recorded?.to !== state.next || recorded.count >= count) return undefined;
    for (const delivery of this.#inFlight.all) {
      if (delivery.range !== from || delivery.index < recorded.count) continue;
      delivery.range = recorded.to;
      delivery.index -= recorded.count;
    }
    return { from: recorded.to, to, count: count - recorded.count };
  }

  #observe(state: ConsumerState, version: string): void {
    if (state.paused !== undefined) this.#pause(state.paused);
    else if (this.#isPaused) this.#log.write("A consumer is resumed", {}, "info");
    this.#state = state;
    this.#version = version;
    const now = this.#clock.now();
    const others = Object.entries(state.nodes).filter(([node]) => node !== this.#node);
    this.#members.observe(new Map(others), now, this.#seenAt);
    this.#seenAt = now;
    this.#hasBlocked = this.#hasKeys && state.pending.some(({ node, due }) => node === "" && due === 0);
    this.#alignWindow();
  }

  /** Running handlers go on. Messages that wait for one are given back. */
  #pause(since: number): void {
    if (!this.#isPaused) this.#log.write("A consumer is paused", { since: new Date(since).toISOString() }, "info");
    this.#inFlight.releaseWaiting();
  }

  async #begin(bounds: LogBounds): Promise<void> {
    await this.#refresh();
    const state = this.#state!;
    const { incarnation, lowWatermark, highWatermark } = bounds;
    if (state.incarnation === incarnation) return;
    // A log on disk was restored from a backup together with this record.
    const isKept = this.#setup.store.capabilities.durability !== "memory" && state.next <= highWatermark;
    const { lost, lastError, paused, redriven, begun } = state;
    const former = [...(state.former ?? []), state.incarnation].slice(-MAX_FORMER);
    const next: ConsumerState = isKept
      ? { ...state, incarnation, former, claimer: "" }
      : { ...newState(incarnation, lowWatermark), lost: lost + 1, lastError, paused, redriven, begun };
    this.#isStale = true;
    const version = await this.#setup.records.set(consumerKey(this.#consumer), encodeState(next), {
      expect: this.#version,
    });
    if (version === null) return;
    this.#log.lost(next.lost - lost);
    this.#accept(next, version);
    if (!isKept) { for (const { id } of state.pages) await this.#pages.delete(id); }
  }

  #park(delivery: Delivery, error: unknown): Promise<boolean> {
    if (error !== undefined) this.#setLastError(error);
    return this.#failures.park(delivery, this.#incarnation, error, this.#state?.lastError);
  }

  #onFailure(deliveries: readonly Delivery[], error: unknown): void {
    this.#setLastError(error);
    const { at, attempt } = deliveries[0]!;
    const messages = this.#setup.options.batch && deliveries.length;
    this.#log.failed(toId(this.#incarnation, at), messages, attempt, error);
  }

  #setLastError(error: unknown): void {
    this.#lastError = errorText(error, MAX_LAST_ERROR_BYTES);
  }

  #onLateResult(at: Cursor): void {
    if (this.#isGone) return;
    this.#lateDone.set(at, true);
    this.#lateDone.shrink(MAX_LATE_DONE);
    this.#ackAt = Math.min(this.#ackAt, this.#clock.now() + ACK_DELAY);
    this.#wake();
  }

  #onOutcome(): void {
    // Messages of its key may wait for it.
    const isAwaited = this.#hasBlocked || (this.#isStopping && this.#unfinished === 0);
    this.#ackAt = Math.min(this.#ackAt, this.#clock.now() + (isAwaited ? 0 : ACK_DELAY));
    this.#wake();
  }
}

function awayReason(): DOMException {
  return new DOMException("The store does not answer, and another process may get the message", "AbortError");
}

/** All messages after the position were removed. */
function isSkipped(after: Cursor, { low, messages }: LogWindow): boolean {
  return low > after && messages.length === 0;
}
