/** The other nodes of a consumer: which of them live, and which have ended. */
import type { ProcessStore } from "../../store/record_store.ts";
import { type Clock, elapsedSince, type Moment } from "./clock.ts";

/** Who has not seen the record for this part of a lease counts the leases of the others anew. */
const BLIND_PART = 1 / 2;
/** How often at most: a store may always be slow. */
const MAX_RENEWALS = 3;
/** How often the store is asked whether others have ended, in milliseconds. */
const CHECK_INTERVAL = 1_000;
/** What is between the name of a process and the rest of the name of its node. */
const SEPARATOR = ".";

/** When another node was seen to live. */
interface Sighting {
  readonly heartbeat: number;
  time: number;
  /** How often its lease was counted anew since. */
  renewals: number;
}

/** Makes the name of a node, which begins with that of its process if the store has one. */
export async function newNodeName(store: ProcessStore): Promise<string> {
  const id = crypto.randomUUID();
  let process: string | undefined;
  try {
    process = await store.processName?.();
  } catch {
    // The lease says when it has ended.
  }
  return process === undefined ? id.slice(0, 8) : process + SEPARATOR + id.slice(0, 4);
}

/** What one node knows of the others. Times are in milliseconds on its clock that nobody sets. */
export class Members {
  readonly #store: ProcessStore;
  readonly #lease: number;
  readonly #sightings = new Map<string, Sighting>();
  /** Those whose processes have ended. */
  readonly #ended = new Set<string>();
  /** Those whose processes lived when the store was asked last. */
  readonly #alive = new Set<string>();
  #checkedAt = -Infinity;

  constructor(store: ProcessStore, lease: number) {
    this.#store = store;
    this.#lease = lease;
  }

  /**
   * Takes note of the record.
   *
   * @param nodes The beats of all other nodes that hold something.
   * @param now When it was read.
   * @param before When it was read before.
   */
  observe(nodes: ReadonlyMap<string, number>, now: number, before: number): void {
    // The store was away, or this process stood still: the others may not have been able to renew.
    const wasBlind = now - before > this.#lease * BLIND_PART;
    for (const sighting of wasBlind ? this.#sightings.values() : []) {
      if (sighting.renewals++ < MAX_RENEWALS) sighting.time = now;
    }
    for (const [node, heartbeat] of nodes) {
      if (this.#sightings.get(node)?.heartbeat !== heartbeat) {
        this.#sightings.set(node, { heartbeat, time: now, renewals: 0 });
      }
    }
    for (const node of this.#sightings.keys()) {
      if (nodes.has(node)) continue;
      this.#sightings.delete(node);
      this.#ended.delete(node);
      this.#alive.delete(node);
    }
  }

  /**
   * Asks the store which of them have ended: their leases need not be waited for. It is asked again
   * before a lease that has run out counts as a death.
   */
  async checkProcesses(now: number): Promise<void> {
    if (now < this.nextCheck && !this.#hasSilent(now)) return;
    this.#checkedAt = now;
    for (const node of [...this.#sightings.keys()]) {
      const process = this.#processOf(node);
      if (process === undefined) continue;
      const hasEnded = await this.#store.hasEnded!(process).catch(() => undefined);
      if (hasEnded) this.#ended.add(node);
      if (hasEnded === false) this.#alive.add(node);
      else this.#alive.delete(node);
    }
  }

  /** Whether the lease of one has run out, and the store can be asked for its process. */
  #hasSilent(now: number): boolean {
    for (const [node, { time }] of this.#sightings) {
      if (now - time >= this.#lease && this.#processOf(node) !== undefined) return true;
    }
    return false;
  }

  /** The name of the process of a node, of which the store can be asked. */
  #processOf(node: string): string | undefined {
    const [process, rest] = node.split(SEPARATOR);
    return rest === undefined || !this.#store.hasEnded ? undefined : process;
  }

  /** Whether a node has ended: its process has, or its lease. */
  hasEnded(node: string, now: number): boolean {
    return this.#ended.has(node) || now - (this.#sightings.get(node)?.time ?? now) >= this.#lease;
  }

  /** Whether a node that has ended has died: its process is not known to live. */
  hasCrashed(node: string): boolean {
    return !this.#alive.has(node);
  }

  /** When the store is to be asked next; `Infinity` if there is nobody to ask for. */
  get nextCheck(): number {
    const canAsk = [...this.#sightings.keys()].some((node) => this.#processOf(node) !== undefined);
    return canAsk ? this.#checkedAt + CHECK_INTERVAL : Infinity;
  }

  /** When the next of them ends by its lease, or has ended; `Infinity` if there is none. */
  get nextEnd(): number {
    let next = this.#ended.size > 0 ? -Infinity : Infinity;
    for (const { time } of this.#sightings.values()) next = Math.min(next, time + this.#lease);
    return next;
  }
}

/** The part of the lease after which this node must have renewed it. */
const SAFE_PART = 0.8;
const RENEWAL_PART = 1 / 3;
const READ_PART = 1 / 4;

/** When the lease was renewed, and when it must be renewed again. */
export class NodeLease {
  /** The longest time between two reads of the record, in milliseconds. */
  readonly readInterval: number;
  readonly #ms: number;
  readonly #clock: Clock;
  /** When the last write was sent that went through. */
  #renewed: Moment = { now: -Infinity, wall: -Infinity };
  #cancel: (() => void) | undefined;

  /** @param ms How long a lease is, in milliseconds. */
  constructor(ms: number, clock: Clock) {
    this.readInterval = ms * READ_PART;
    this.#ms = ms;
    this.#clock = clock;
  }

  /** Whether this node can be sure that no other node takes its messages. */
  get isHeld(): boolean {
    return elapsedSince(this.#renewed, this.#clock) < this.#ms * SAFE_PART;
  }

  get isRenewalDue(): boolean {
    return elapsedSince(this.#renewed, this.#clock) >= this.#ms * RENEWAL_PART;
  }

  /** When the next renewal is due, by the clock of the machine. */
  get nextRenewal(): number {
    return this.isHeld ? this.#renewed.now + this.#ms * RENEWAL_PART : -Infinity;
  }

  /**
   * Renews the lease.
   *
   * @param sent When the write was sent: the reply may have taken long.
   */
  renew(sent: Moment): void {
    this.#renewed = sent;
  }

  /** Calls back, again and again, while the lease is not held. */
  watch(onLost: () => void): void {
    const left = this.#ms * SAFE_PART - elapsedSince(this.#renewed, this.#clock);
    const ms = left > 0 ? Math.min(left, this.readInterval) : this.readInterval;
    this.#cancel = this.#clock.after(Math.ceil(ms), () => {
      if (!this.isHeld) onLost();
      this.watch(onLost);
    });
  }

  unwatch(): void {
    this.#cancel?.();
  }
}
