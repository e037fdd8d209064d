/**
 * Messages on their way to a client: lets the sender wait while the client is slow.
 *
 * The platform takes whatever it is given and keeps it in memory. It tells how much that is, but not when it gets less: that has to
 * be looked at again and again, at once while the client reads along, and less and less often where it does not.
 */
import { clearImmediate, setImmediate } from "node:timers";
import type { MessageData } from "./websocket_inbox.ts";

/** What the platform keeps for each message beside its content; measured. */
const OVERHEAD_BYTES = 1024;

/** Senders wait while the platform keeps more than this. */
const HIGH_WATER_BYTES = 128 * 1024;

/** A program that does not wait can have the platform keep this much. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** How often it is looked at without a pause in between. */
const LOOKS_AT_ONCE = 8;
const MAX_PAUSE_MS = 50;

/** That a part of a message was taken cannot be seen: each started part of this size has the whole time to go. */
const PATIENCE_BYTES = 1024 * 1024;

const READY = Promise.resolve();

/** What is sent over one socket. */
export class Outbox {
  readonly #socket: WebSocket;
  readonly #patienceMs: number;
  readonly #onStall: () => void;
  /** How many messages were handed over since the platform last kept none. */
  #count = 0;
  #room: PromiseWithResolvers<void> | undefined;
  #looks = 0;
  #keptBefore = 0;
  #progressAt = 0;
  #immediate: ReturnType<typeof setImmediate> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Takes an open socket.
   *
   * @param socket The socket.
   * @param patienceMs How long a client may take nothing, in milliseconds.
   * @param onStall Called when it took nothing for as long.
   */
  constructor(socket: WebSocket, patienceMs: number, onStall: () => void) {
    this.#socket = socket;
    this.#patienceMs = patienceMs;
    this.#onStall = onStall;
  }

  /** Whether more is kept for the client than can be let pass. */
  get isFull(): boolean {
    const kept = this.#socket.bufferedAmount;
    if (kept === 0) this.#count = 0;
    return kept + this.#count * OVERHEAD_BYTES > MAX_KEPT_BYTES;
  }

  /** Hands a message over. The promise settles when there is room for another. */
  send(message: MessageData): Promise<void> {
    this.#socket.send(message);
    this.#count++;
    const kept = this.#socket.bufferedAmount;
    if (kept + this.#count * OVERHEAD_BYTES <= HIGH_WATER_BYTES) return READY;
    if (!this.#room) {
      this.#room = Promise.withResolvers();
      this.#room.promise.catch(() => {});
      this.#looks = 0;
      this.#keptBefore = kept;
      this.#progressAt = performance.now();
      this.#lookAgain();
    }
    return this.#room.promise;
  }

  /** Those who wait for room wait in vain. */
  end(reason: Error): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
    this.#room?.reject(reason);
    this.#room = undefined;
  }

  #look(): void {
    const kept = this.#socket.bufferedAmount;
    if (kept === 0) {
      this.#count = 0;
      this.#room?.resolve();
      this.#room = undefined;
      return;
    }
    const now = performance.now();
    if (kept < this.#keptBefore) this.#progressAt = now;
    this.#keptBefore = kept;
    if (now - this.#progressAt > this.#patienceMs * Math.ceil(kept / PATIENCE_BYTES)) return this.#onStall();
    this.#lookAgain();
  }

  #lookAgain(): void {
    const look = () => this.#look();
    const pause = 2 ** (this.#looks++ - LOOKS_AT_ONCE);
    if (pause < 1) this.#immediate = setImmediate(look);
    else this.#timer = setTimeout(look, Math.min(pause, MAX_PAUSE_MS));
  }
}
