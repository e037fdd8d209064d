/** The lease of this node: while it holds, the other nodes leave this node its messages. */
import { type Clock, elapsedSince, type Moment } from "./clock.ts";

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
