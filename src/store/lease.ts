/**
 * A lease: one process holds what several share, as long as it renews it in time. Each process
 * measures by its own monotonic clock, so clocks of machines are never compared.
 */
import { type Clock, elapsedSince, type Moment, momentOf, SYSTEM_CLOCK } from "../base/clock.ts";

/** The part of a lease after which its holder renews it. */
const RENEWAL_PART = 1 / 3;
/** The part after which its holder must have renewed it: others take over at the end. */
const SAFE_PART = 0.8;
/** The part after which others read it again. */
const POLL_PART = 1 / 4;

/** A record, or a key of a database. */
export interface LeaseSlot<Value> {
  /** Writes if the version is the expected one, null for none. The result is the new version. */
  write(value: Value, expect: string | null): Promise<string | null>;
  delete(expect: string): Promise<boolean>;
}

/** When this process has renewed a lease, and when it must renew it again. */
export class LeaseTimer {
  readonly #ms: number;
  readonly #clock: Clock;
  #renewed: Moment = { now: -Infinity, wall: -Infinity };
  #cancel: (() => void) | undefined;

  constructor(ms: number, clock: Clock) {
    this.#ms = ms;
    this.#clock = clock;
  }

  get renewInterval(): number {
    return this.#ms * RENEWAL_PART;
  }

  get pollInterval(): number {
    return this.#ms * POLL_PART;
  }

  /** No other process can have taken over. */
  get isHeld(): boolean {
    return elapsedSince(this.#renewed, this.#clock) < this.#ms * SAFE_PART;
  }

  get isRenewalDue(): boolean {
    return elapsedSince(this.#renewed, this.#clock) >= this.renewInterval;
  }

  /** When the next renewal is due, by the monotonic clock. */
  get nextRenewal(): number {
    return this.isHeld ? this.#renewed.now + this.renewInterval : -Infinity;
  }

  /** @param sent When the write was sent: the reply may have taken long. */
  renewedAt(sent: Moment): void {
    this.#renewed = sent;
  }

  /** Calls back, again and again, while the lease is not held. */
  watch(onLost: () => void): void {
    const left = this.#ms * SAFE_PART - elapsedSince(this.#renewed, this.#clock);
    const ms = left > 0 ? Math.min(left, this.pollInterval) : this.pollInterval;
    this.#cancel = this.#clock.after(Math.ceil(ms), () => {
      if (!this.isHeld) onLost();
      this.watch(onLost);
    });
  }

  unwatch(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}

/** A lease that one process holds at a time. */
export class Lease<Value> extends LeaseTimer {
  readonly #slot: LeaseSlot<Value>;
  readonly #ms: number;
  readonly #clock: Clock;
  #version: string | null = null;
  /** The version of another holder, and when it was first read. */
  #seen: { readonly version: string; readonly since: number } | undefined;

  constructor(slot: LeaseSlot<Value>, ms: number, clock: Clock = SYSTEM_CLOCK) {
    super(ms, clock);
    this.#slot = slot;
    this.#ms = ms;
    this.#clock = clock;
  }

  /** Null if this process does not hold the lease. */
  get version(): string | null {
    return this.#version;
  }

  /** Claims or renews the lease. False, and it is not held, if the version is another one. */
  async write(value: Value, expect: string | null = this.#version): Promise<boolean> {
    const sent = momentOf(this.#clock);
    this.#version = await this.#slot.write(value, expect);
    this.#seen = undefined;
    if (this.#version !== null) this.renewedAt(sent);
    return this.#version !== null;
  }

  /** False if another process has changed it. */
  async release(): Promise<boolean> {
    const version = this.#version;
    this.#version = null;
    return version === null || await this.#slot.delete(version);
  }

  /** Whether a version has not changed for the length of the lease. */
  hasExpired(version: string): boolean {
    const now = this.#clock.now();
    if (this.#seen?.version !== version) this.#seen = { version, since: now };
    return now - this.#seen.since >= this.#ms;
  }
}
