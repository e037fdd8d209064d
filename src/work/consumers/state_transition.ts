/** One change of the record of a consumer: outcomes, messages of crashed nodes, new claims. */
import type { Cursor } from "../../store/topic_store.ts";
import type { Delivery } from "./delivery.ts";
import type { PermitPlan } from "./permits.ts";
import { countGaps, type LogWindow, type ReadMessage } from "./log_window.ts";
import {
  type ConsumerState,
  copyState,
  heldCount,
  leaveRange,
  type PendingMessage,
  type PendingPage,
  type Range,
} from "./record.ts";

/** The record lists the messages of older ranges one by one: a slow one would keep its range. */
const MAX_RANGES = 4;
/** A consumer with keys reads no further while so many messages wait. */
const MAX_WAITING = 512;
export const PAGE_SIZE = 256;
/** Beyond that nothing is claimed. Listed one by one, so many messages take less than 60 KiB. */
const MAX_IN_RECORD = 900;
/** The space of a page in the record, in messages. */
const PAGE_COST = 2 / 3;
/** One transition claims at most so many of the messages that must be read one by one. */
const MAX_LOADED = 64;
/** How many messages a node claims at most before it records them. */
export const MAX_UNRECORDED = 64;

/** Messages that the claimer has claimed, and not recorded yet. */
export interface UnrecordedClaim {
  readonly from: Cursor;
  to: Cursor;
  count: number;
}

export interface TransitionOptions {
  readonly node: string;
  readonly hasKeys: boolean;
  /** Messages of a key are handled together. */
  readonly hasBatches: boolean;
  /** The time of the store. */
  readonly time: number;
  readonly inFlight: readonly Delivery[];
  readonly unrecorded: UnrecordedClaim | undefined;
  /** Nodes claim messages before they record them. */
  readonly claimsUnrecorded: boolean;
}

export interface Others {
  readonly hasEnded: (node: string) => boolean;
  /** Perhaps because of a message. */
  readonly hasCrashed: (node: string) => boolean;
}

type LogReading = Pick<LogWindow, "readRange" | "readAfter" | "indexIn">;

/** A change of a copy of the record. It takes effect when it is written. */
export class StateTransition {
  readonly state: ConsumerState;
  readonly acknowledged: readonly Delivery[];
  /** The record lists them one by one from now on. */
  readonly dissolved: Delivery[] = [];
  readonly claimed: Delivery[] = [];
  readonly claimedPending: PendingMessage[] = [];
  readonly #base: ConsumerState;
  readonly #options: TransitionOptions;
  /** In-flight messages that stay assigned to this node. */
  readonly #unfinished: readonly Delivery[];
  #isChanged = false;

  constructor(base: ConsumerState, options: TransitionOptions) {
    this.#base = base;
    this.#options = options;
    this.state = copyState(base);
    this.acknowledged = options.inFlight.filter(({ outcome }) => outcome);
    this.#unfinished = options.inFlight.filter(({ outcome }) => !outcome);
  }

  acknowledge(): void {
    const { state } = this;
    const { node, unrecorded } = this.#options;
    if (unrecorded) {
      state.ranges.push({ node, ...unrecorded, left: "" });
      state.next = unrecorded.to;
    }
    const ranges = new Map(this.#ownRanges().map((range) => [range.from, range]));
    const pending = new Map(state.pending.filter((entry) => entry.node === node).map((entry) => [entry.at, entry]));
    for (const delivery of this.acknowledged) {
      const outcome = delivery.outcome!;
      const entry = pending.get(delivery.at);
      const range = delivery.range === undefined ? undefined : ranges.get(delivery.range);
      if (range) {
        // A write without a reply has recorded it before.
        if (!leaveRange(range, delivery.index)) continue;
        if (!outcome.isDone) state.pending.push(toPending(delivery, outcome));
      } else if (!entry) continue;
      else if (outcome.isDone) pending.delete(delivery.at);
      else Object.assign(entry, { attempt: outcome.attempt, due: outcome.due, node: "" });
      if (outcome.isDone && outcome.isLost) state.lost++;
    }
    state.pending = state.pending.filter((entry) => entry.node !== node || pending.get(entry.at) === entry);
    this.#dissolveRanges();
  }

  /**
   * Records messages as done whose handlers resolved late: after their timeout, or after another
   * node got the message. Returns those that need no further transition.
   */
  async finishLate(late: Iterable<Cursor>, log: LogReading): Promise<Cursor[]> {
    const { state } = this;
    const recorded: Cursor[] = [];
    for (const at of late) {
      const waiting = state.pending.length;
      state.pending = state.pending.filter((entry) => entry.at !== at);
      const range = state.ranges.find(({ from, to }) => from < at && at <= to);
      if (state.pending.length < waiting) this.#isChanged = true;
      else if (range) {
        const index = await log.indexIn(range, at);
        if (index !== undefined && leaveRange(range, index)) this.#isChanged = true;
      } else if (at > state.next) continue; // The claimer may have it.
      recorded.push(at);
    }
    return recorded;
  }

  /** Lists the rest of the oldest ranges one by one. */
  #dissolveRanges(): void {
    const { node } = this.#options;
    const known = new Set(this.#unfinished.map(({ range }) => range));
    const held = this.#ownRanges().filter((range) => heldCount(range) > 0 && known.has(range.from));
    const oldest = held.slice(0, Math.max(0, held.length - MAX_RANGES));
    const from = new Set<Cursor | undefined>(oldest.map((range) => range.from));
    for (const delivery of this.#unfinished) {
      if (delivery.range === undefined || !from.has(delivery.range)) continue;
      this.dissolved.push(delivery);
      this.state.pending.push(toPending(delivery, { attempt: delivery.attempt, due: 0 }, node));
    }
    if (oldest.length > 0) this.state.ranges = this.state.ranges.filter((range) => !oldest.includes(range));
  }

  /**
   * Frees the messages of nodes that have ended, and those that a write without a reply claimed.
   */
  async takeOver({ hasEnded, hasCrashed }: Others, log: LogReading): Promise<void> {
    const { state } = this;
    const { node: own } = this.#options;
    const inFlight = new Set(this.#unfinished.map(({ at }) => at));
    const ranges = new Set([
      ...this.#unfinished.map(({ range }) => range),
      ...this.acknowledged.map(({ range }) => range),
    ]);
    const isGone = (node: string) => node !== own && (!(node in state.nodes) || hasEnded(node));
    for (const entry of state.pending) {
      if (entry.node === "" || (entry.node === own ? inFlight.has(entry.at) : !isGone(entry.node))) continue;
      if (entry.node !== own && hasCrashed(entry.node)) entry.crashCount++;
      entry.node = "";
      this.#isChanged = true;
    }
    const freed = state.ranges.filter((range) => {
      return heldCount(range) > 0 && (range.node === own ? !ranges.has(range.from) : isGone(range.node));
    });
    for (const range of freed) {
      const { messages, lost } = await log.readRange(range);
      state.lost += lost;
      const crashCount = range.node === own || range.node === "" || !hasCrashed(range.node) ? 0 : 1;
      state.pending.push(...messages.map((message) => toFirst(message, crashCount)));
      this.#isChanged = true;
    }
    if (hasOtherClaimer(state, own) && isGone(state.claimer)) {
      if (this.#options.claimsUnrecorded && hasCrashed(state.claimer)) await this.#suspectNext(log);
      state.claimer = "";
    }
    for (const node of Object.keys(state.nodes)) if (isGone(node)) delete state.nodes[node];
    state.ranges = state.ranges.filter((range) => heldCount(range) > 0 && !freed.includes(range));
    state.pending.sort(byPosition);
    if (this.#options.hasKeys) { for (const range of this.#ownRanges()) range.keys = this.#keysOf(range); }
  }

  /** Counts a crash for messages that a node may have claimed without recording them. */
  async #suspectNext(log: LogReading): Promise<void> {
    const { state } = this;
    const messages = (await log.readAfter(state.next, MAX_UNRECORDED)).slice(0, Math.max(0, spaceIn(state)));
    const last = messages.at(-1);
    if (last === undefined) return;
    state.lost += countGaps(state.next, messages);
    state.pending.push(...messages.map((message) => toFirst(message, 1)));
    state.next = last.cursor;
  }

  /** The page to restore before messages are claimed. */
  get duePage(): PendingPage | undefined {
    const { pending, pages } = this.state;
    const due = pages.filter(({ due, count }) => due <= this.#options.time && pending.length + count <= MAX_WAITING);
    return due.sort((one, other) => one.due - other.due)[0];
  }

  restorePage(page: PendingPage, pending: readonly PendingMessage[]): void {
    const { state } = this;
    state.pages = state.pages.filter((other) => other !== page);
    const known = new Set(state.pending.map(({ at }) => at));
    state.pending.push(...pending.filter(({ at }) => !known.has(at)));
    state.pending.sort(byPosition);
    this.#isChanged = true;
  }

  claimPending(room: number, isLoaded: (at: Cursor) => boolean): void {
    const { time, node } = this.#options;
    let toLoad = MAX_LOADED;
    const risks = this.#unfinished.filter(({ crashCount }) => crashCount > 0).map(({ crashCount }) => crashCount);
    const skippedKeys = new Set<string>();
    for (const pending of claimable(this.state, this.#options.hasBatches)) {
      if (this.claimedPending.length >= room) return;
      const { at, due, crashCount, key } = pending;
      if (key !== undefined && skippedKeys.has(key)) continue;
      const isHeldUp = due > time || risks.some((other) => isRisk(other, crashCount));
      if (isHeldUp || (!isLoaded(at) && toLoad-- <= 0)) {
        if (key !== undefined) skippedKeys.add(key);
        continue;
      }
      pending.node = node;
      this.claimedPending.push(pending);
      if (crashCount > 0) risks.push(crashCount);
    }
  }

  /** Claims the next messages of the log. Those of busy keys become pending. */
  claimNext(messages: readonly ReadMessage[]): void {
    const { state } = this;
    const { node, hasKeys } = this.#options;
    const last = messages.at(-1);
    if (last === undefined) return;
    const blocked = new Set(hasKeys ? this.#blockedKeys() : []);
    // How many messages are missing in one gap is unknown: it counts as one.
    state.lost += countGaps(state.next, messages);
    const range: Range = { node, from: state.next, to: last.cursor, count: messages.length, left: "" };
    for (const [index, message] of messages.entries()) {
      if (message.key !== undefined && blocked.has(message.key)) {
        leaveRange(range, index);
        state.pending.push(toFirst(message, 0));
      } else this.claimed.push(firstDelivery(message, range.from, index));
    }
    if (hasKeys) range.keys = [...new Set(this.claimed.flatMap(({ key }) => key ?? []))];
    if (this.claimed.length > 0) state.ranges.push(range);
    state.next = range.to;
  }

  setPermits({ begun, isUrgent }: PermitPlan): void {
    this.state.begun = begun;
    if (isUrgent) this.#isChanged = true;
  }

  /** Skips messages that were removed before any node had them. Their number is unknown. */
  skipTo(low: Cursor): void {
    this.state.lost++;
    this.state.next = low;
  }

  /**
   * Makes this node the claimer if it has room and has claimed all; otherwise any node may be it.
   */
  setClaimer(hasRoom: boolean, isEnd: boolean): void {
    const { state } = this;
    const { node, hasKeys } = this.#options;
    if (hasOtherClaimer(state, node)) return;
    state.claimer = hasRoom && isEnd && !isFull(state, hasKeys) ? node : "";
  }

  /**
   * Pending messages to move to a page: there are too many, or a page that is due needs space. With
   * keys all stay, since they hold up others.
   */
  get excess(): readonly PendingMessage[] {
    const { pending, pages } = this.state;
    const { hasKeys, time } = this.#options;
    const most = pages.some(({ due }) => due <= time) ? MAX_WAITING - PAGE_SIZE : MAX_WAITING;
    if (hasKeys || pending.length <= most) return [];
    const waiting = pending.filter(({ node, due }) => node === "" && due > time);
    if (waiting.length < PAGE_SIZE) return [];
    return waiting.sort((one, other) => one.due - other.due).slice(-PAGE_SIZE);
  }

  movePage(id: string, pending: readonly PendingMessage[]): void {
    const put = new Set(pending);
    this.state.pending = this.state.pending.filter((entry) => !put.has(entry));
    this.state.pages.push({ id, count: put.size, due: Math.max(...pending.map(({ due }) => due)) });
  }

  /** Updates the heartbeat. Returns whether there is anything to write. */
  finish(heartbeat: number, isRenewal: boolean): boolean {
    const { state } = this;
    const base = this.#base;
    const { node, unrecorded } = this.#options;
    const isHolding = this.#unfinished.length + this.claimed.length + this.claimedPending.length > 0 ||
      state.claimer === node;
    if (isHolding) state.nodes[node] = heartbeat;
    else delete state.nodes[node];
    return this.#isChanged || unrecorded !== undefined || this.acknowledged.length > 0 || this.dissolved.length > 0 ||
      this.claimedPending.length > 0 || state.next !== base.next || state.claimer !== base.claimer ||
      state.pages.length !== base.pages.length || state.incarnation !== base.incarnation ||
      (isHolding && isRenewal) ||
      Object.keys(state.nodes).join() !== Object.keys(base.nodes).join();
  }

  #ownRanges(): Range[] {
    return this.state.ranges.filter(({ node }) => node === this.#options.node);
  }

  #keysOf({ from }: Range): string[] {
    const keys = new Set<string>();
    for (const { range, key } of this.#unfinished) if (range === from && key !== undefined) keys.add(key);
    return [...keys];
  }

  /** The keys of messages before `next` that are not queued in this process. */
  #blockedKeys(): (string | undefined)[] {
    const { pending, ranges } = this.state;
    const others = ranges.filter(({ node }) => node !== this.#options.node);
    return [...pending.map(({ key }) => key), ...others.flatMap(({ keys }) => keys ?? [])];
  }
}

/**
 * Pending messages of no node that no earlier message of their key holds up. With `hasRuns` also
 * those that only such messages hold up: all of them may be claimed together.
 */
export function* claimable({ pending, ranges }: ConsumerState, hasRuns = false): Generator<PendingMessage> {
  const keys = new Set(ranges.flatMap(({ keys }) => keys ?? []));
  for (const entry of pending) {
    const { key } = entry;
    const isFree = entry.node === "" && (key === undefined || !keys.has(key));
    if (key !== undefined && !(isFree && hasRuns)) keys.add(key);
    if (isFree) yield entry;
  }
}

/**
 * Two messages must not be in flight together: one that was in flight during two crashes may cause
 * a third one, which would count for the other message, too.
 */
export function isRisk(crashCount: number, others: number): boolean {
  return Math.min(crashCount, others) >= 1 && Math.max(crashCount, others) >= 2;
}

/** Whether only another node may claim the next messages. */
export function hasOtherClaimer({ claimer }: ConsumerState, node: string): boolean {
  return claimer !== "" && claimer !== node;
}

/** Nothing more of the log may be claimed. */
export function isFull(state: ConsumerState, hasKeys: boolean): boolean {
  const { pending, pages } = state;
  // With keys, pages are redeliveries by operators. One is restored when there is space for it.
  const most = pages.length > 0 ? MAX_WAITING - PAGE_SIZE : MAX_WAITING;
  return spaceIn(state) <= 0 || (hasKeys && pending.length >= most);
}

/** How many more messages the record has space for. */
export function spaceIn({ pending, ranges, pages }: ConsumerState): number {
  const held = ranges.reduce((sum, range) => sum + heldCount(range), 0);
  return MAX_IN_RECORD - pending.length - held - Math.ceil(pages.length * PAGE_COST);
}

function toPending(
  { at, crashCount, key }: Delivery,
  { attempt, due }: Pick<PendingMessage, "attempt" | "due">,
  node = "",
): PendingMessage {
  return { at, attempt, due, crashCount, node, key };
}

function toFirst({ cursor: at, key }: ReadMessage, crashCount: number): PendingMessage {
  return { at, attempt: 1, due: 0, crashCount, node: "", key };
}

export function firstDelivery(message: ReadMessage, range: Cursor, index: number): Delivery {
  const { cursor: at, key } = message;
  return { at, message, key, range, index, attempt: 1, crashCount: 0, outcome: undefined };
}

function byPosition(one: PendingMessage, other: PendingMessage): number {
  return one.at < other.at ? -1 : 1;
}
