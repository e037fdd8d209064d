import { Buffer } from "node:buffer";
import { Inbox, type MessageData, WebSocketClosedError } from "./messages.ts";
import { clearImmediate, setImmediate } from "node:timers";

/**
 * Messages on their way to a client: lets the sender wait while the client is slow.
 *
 * The platform takes whatever it is given and keeps it in memory. It tells how much that is, but not when it gets less: that has to
 * be looked at again and again, at once while the client reads along, and less and less often where it does not.
 */

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

/** One WebSocket as the platform has it, bounded both ways: how it opens, what comes and goes, how it ends. */

/** How long a client may take to open the connection, or to answer its close. The platform gives no sign of one that has gone. */
const HANDSHAKE_MS = 5000;

/** How long the close waits for messages that are on their way, both ways. */
const DRAIN_MS = 1000;

/** How often it is looked at whether messages still come, or go. */
const PAUSE_MS = 5;

/** So many looks without a message are the end of what the client has sent: 50 ms, the way of a message from most clients. */
const QUIET_LOOKS = 10;

/** The inbox takes as much as one message of the largest size, and at least this. */
const MIN_CAPACITY = 64 * 1024;

/** What Deno takes at most. */
const MAX_FRAME = 64 * 1024 * 1024;

/** The longest reason that a close frame has room for, in bytes. */
export const MAX_REASON = 123;

/** The connection to one client. */
export class WebSocketLink {
  /** Whether it opens: settles when that is known. */
  readonly opened: Promise<boolean>;
  /** Settles when its end has been handed to the platform, or has come from there. */
  readonly ending: Promise<void>;
  /** Settles when it has ended for the client, too, or when the client had its time. */
  readonly gone: Promise<void>;
  readonly #socket: WebSocket;
  readonly #maxMessage: number;
  readonly #inbox: Inbox;
  readonly #outbox: Outbox;
  readonly #opened = Promise.withResolvers<boolean>();
  readonly #ending = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  /** Made when it is asked for: most handlers do without. */
  #controller: AbortController | undefined;
  #closed: WebSocketClosedError | null = null;
  #timer: ReturnType<typeof setTimeout>;
  #quietLooks = 0;
  /** False once the closing handshake is complete. */
  isBroken = true;

  /**
   * Takes a socket that is about to open.
   *
   * @param socket The socket.
   * @param maxMessage The size of a message that may come, in bytes.
   * @param patienceMs How long the client may take nothing of what is sent, in milliseconds.
   */
  constructor(socket: WebSocket, maxMessage: number, patienceMs: number) {
    this.#socket = socket;
    this.#maxMessage = Math.min(maxMessage, MAX_FRAME);
    this.#inbox = new Inbox(Math.max(this.#maxMessage, MIN_CAPACITY));
    this.#outbox = new Outbox(socket, patienceMs, () => this.close(1008, "Messages are not taken"));
    this.opened = this.#opened.promise;
    this.ending = this.#ending.promise;
    this.gone = this.#gone.promise;
    this.#timer = setTimeout(() => this.#end(1006, ""), HANDSHAKE_MS);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#open();
    socket.onmessage = ({ data }) => this.#take(typeof data === "string" ? data : new Uint8Array(data));
    // The platform tells of some ends twice, and says 0 or what it would have liked to send where the connection broke off.
    socket.onclose = ({ wasClean, code, reason }) => {
      this.isBroken = !wasClean;
      if (wasClean) this.#end(code, reason);
      else this.#end(1006, "");
    };
    socket.onerror = () => this.#end(1006, "");
  }

  /** How it was closed; null while it is open. */
  get closed(): WebSocketClosedError | null {
    return this.#closed;
  }

  /** Is aborted when it is closed. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#closed) this.#controller.abort(this.#closed);
    }
    return this.#controller.signal;
  }

  /** The next message, when it has come; undefined when there will be none. */
  take(): Promise<MessageData | undefined> {
    return this.#inbox.take();
  }

  /** Sends a message. The promise settles when there is room for another, or rejects with how the link was closed. */
  send(message: MessageData): Promise<void> {
    if (!this.#closed && this.#outbox.isFull) this.close(1008, "Messages are not taken");
    return this.#closed ? rejected(this.#closed) : this.#outbox.send(message);
  }

  /** Closes it, unless it is. What waits to be read is dropped; what was sent still goes. */
  close(code: number, reason: string): void {
    if (this.#closed) return;
    const isOpen = this.#socket.readyState === WebSocket.OPEN;
    this.#markClosed(code, reason);
    this.#inbox.clear();
    this.#opened.resolve(false);
    if (!isOpen) return this.#finish();
    this.#drain(() => this.#socket.close(code, shorten(reason)), performance.now() + DRAIN_MS);
  }

  /**
   * Closes when all messages have come and gone: Deno drops a connection that it was told to close at the next message that comes.
   * What was sent, and the close itself, would be lost, and the client not get to know why.
   */
  #drain(close: () => void, deadline: number): void {
    const isDrained = this.#quietLooks++ >= QUIET_LOOKS && this.#socket.bufferedAmount === 0;
    clearTimeout(this.#timer);
    if (isDrained || performance.now() > deadline) {
      this.#timer = setTimeout(() => this.#finish(), HANDSHAKE_MS);
      this.#ending.resolve();
      return close();
    }
    this.#timer = setTimeout(() => this.#drain(close, deadline), PAUSE_MS);
  }

  #open(): void {
    clearTimeout(this.#timer);
    this.#opened.resolve(true);
  }

  #take(message: MessageData): void {
    this.#quietLooks = 0;
    if (this.#closed) return;
    if (isLarger(message, this.#maxMessage)) this.close(1009, `A message may have ${this.#maxMessage} bytes`);
    else if (!this.#inbox.add(message)) this.close(1008, "Messages come faster than they are read");
  }

  /** It has ended for the platform. What came before can still be read. */
  #end(code: number, reason: string): void {
    this.#markClosed(code, reason);
    this.#inbox.end();
    this.#opened.resolve(false);
    this.#finish();
  }

  #markClosed(code: number, reason: string): void {
    if (this.#closed) return;
    this.#closed = new WebSocketClosedError(code, reason);
    this.#outbox.end(this.#closed);
    this.#controller?.abort(this.#closed);
  }

  #finish(): void {
    clearTimeout(this.#timer);
    // Deno's own timers keep the socket for a minute after it broke off; nothing of ours has to stay with it.
    this.#socket.onmessage = this.#socket.onclose = this.#socket.onerror = null;
    this.#socket.onopen = closeLate;
    this.#ending.resolve();
    this.#gone.resolve();
  }
}

/** Closes a socket that opens when nobody waits for it any more. */
function closeLate(this: WebSocket): void {
  this.close(1001);
}

/** A promise that nobody has to look at: a client may go at any time, and a program that does not wait must not end by it. */
function rejected(reason: Error): Promise<never> {
  const promise = Promise.reject(reason);
  promise.catch(() => {});
  return promise;
}

/** Counts bytes only where the number of units leaves it open. */
function isLarger(message: MessageData, size: number): boolean {
  if (typeof message !== "string" || message.length > size) return message.length > size;
  return message.length * 3 > size && Buffer.byteLength(message) > size;
}

function shorten(reason: string): string {
  const { read } = new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON));
  return reason.slice(0, read);
}
