/** A WebSocket of the platform: the check before its upgrade, bounded queues, and its close. */
import { Buffer } from "node:buffer";
import { clearImmediate, setImmediate } from "node:timers";
import { type MessageData, ReceiveQueue, WebSocketClosedError } from "./messages.ts";
import { MAX_TIMER_MS } from "../../base/options.ts";
import { muteNextWarning } from "../../log/log.ts";
import { nodeTimers } from "../../base/runtime.ts";

/** For opening and for the answer to a close: the platform does not report a lost client. */
const HANDSHAKE_MS = 5000;

/** How long a close waits for messages in transit, in both directions. */
const CLOSE_WAIT_MS = 1000;

const CLOSE_POLL_MS = 5;

/** After this many polls without an incoming message (50 ms), none is in transit. */
const QUIET_POLLS = 10;

/** The receive queue has space for one message of the maximum size, and at least for this. */
const MIN_RECEIVE_BYTES = 64 * 1024;

/** The maximum of Deno. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** What fits into a close frame, in bytes. */
export const MAX_REASON_BYTES = 123;

export class WebSocketTransport {
  readonly #socket: WebSocket;
  readonly #maxMessage: number;
  readonly #pollsToClose: number;
  readonly #received: ReceiveQueue;
  readonly #toSend: SendQueue;
  readonly #opened = Promise.withResolvers<boolean>();
  readonly #closeSent = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  /** Resolves to whether the connection opens. */
  readonly opened: Promise<boolean> = this.#opened.promise;
  /** Settles when the platform has the close frame, or the connection has ended. */
  readonly closeSent: Promise<void> = this.#closeSent.promise;
  /** Settles when the client has ended the connection, or has not answered in time. */
  readonly gone: Promise<void> = this.#gone.promise;
  /** Made on first use: most handlers do not need it. */
  #controller: AbortController | undefined;
  #closed: WebSocketClosedError | null = null;
  #timer: ReturnType<typeof setTimeout>;
  #quietPolls = 0;
  /** False once the closing handshake is complete. */
  isBroken = true;
  /** Whether the platform has neither opened nor closed it in time. */
  isLost = false;

  constructor(socket: WebSocket, maxMessage: number, stallTimeoutMs: number, pollsToClose = QUIET_POLLS) {
    this.#socket = socket;
    this.#pollsToClose = pollsToClose;
    this.#maxMessage = Math.min(maxMessage, MAX_MESSAGE_BYTES);
    this.#received = new ReceiveQueue(Math.max(this.#maxMessage, MIN_RECEIVE_BYTES));
    this.#toSend = new SendQueue(socket, stallTimeoutMs, () => this.close(1008, "Messages are not read"));
    this.#timer = setTimeout(() => this.#end(1006, ""), HANDSHAKE_MS);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#open();
    socket.onmessage = ({ data }) => this.#receive(typeof data === "string" ? data : new Uint8Array(data));
    // Some ends are reported twice. A broken connection has the code 0, or one that was never sent.
    socket.onclose = ({ wasClean, code, reason }) => {
      this.isBroken = !wasClean;
      if (wasClean) this.#end(code, reason);
      else this.#end(1006, "");
    };
    socket.onerror = () => this.#end(1006, "");
  }

  get closed(): WebSocketClosedError | null {
    return this.#closed;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#closed) this.#controller.abort(this.#closed);
    }
    return this.#controller.signal;
  }

  receive(): Promise<MessageData | undefined> {
    return this.#received.take();
  }

  /** Resolves when there is space for another message, rejects when closed. */
  send(message: MessageData): Promise<void> {
    if (!this.#closed && this.#toSend.isFull) this.close(1008, "Messages are not read");
    return this.#closed ? rejected(this.#closed) : this.#toSend.send(message);
  }

  /** Drops unread messages, but still delivers sent ones. */
  close(code: number, reason: string): void {
    if (this.#closed) return;
    const isOpen = this.#socket.readyState === WebSocket.OPEN;
    this.#markClosed(code, reason);
    this.#received.clear();
    this.#opened.resolve(false);
    if (!isOpen) return this.#finish();
    this.#whenIdle(() => this.#socket.close(code, shorten(reason)), performance.now() + CLOSE_WAIT_MS);
  }

  /**
   * Calls `close` when no message is in transit: after a close, Deno drops the connection at the
   * next incoming message, and outgoing messages and the close frame would be lost.
   */
  #whenIdle(close: () => void, deadline: number): void {
    const isIdle = this.#quietPolls++ >= this.#pollsToClose && this.#socket.bufferedAmount === 0;
    clearTimeout(this.#timer);
    if (isIdle || performance.now() > deadline) {
      this.#timer = setTimeout(() => this.#finish(), HANDSHAKE_MS);
      this.#closeSent.resolve();
      return close();
    }
    this.#timer = setTimeout(() => this.#whenIdle(close, deadline), CLOSE_POLL_MS);
  }

  #open(): void {
    clearTimeout(this.#timer);
    this.#opened.resolve(true);
  }

  #receive(message: MessageData): void {
    this.#quietPolls = 0;
    if (this.#closed) return;
    if (isLarger(message, this.#maxMessage)) this.close(1009, `A message may have ${this.#maxMessage} bytes`);
    else if (!this.#received.add(message)) this.close(1008, "Messages come faster than they are read");
  }

  /** The platform's side has ended. Earlier messages can still be read. */
  #end(code: number, reason: string): void {
    this.#markClosed(code, reason);
    this.#received.end();
    this.#opened.resolve(false);
    this.#finish();
  }

  #markClosed(code: number, reason: string): void {
    if (this.#closed) return;
    this.#closed = new WebSocketClosedError(code, reason);
    this.#toSend.end(this.#closed);
    this.#controller?.abort(this.#closed);
  }

  #finish(): void {
    clearTimeout(this.#timer);
    this.isLost = this.#socket.readyState === WebSocket.CONNECTING;
    // Deno keeps a broken socket for a minute. Without these handlers it keeps nothing else.
    this.#socket.onmessage = this.#socket.onclose = this.#socket.onerror = null;
    this.#socket.onopen = closing(this.#closed!);
    this.#closeSent.resolve();
    this.#gone.resolve();
  }
}

/** The platform's memory per message without its content, in bytes; measured. */
const OVERHEAD_BYTES = 1024;

/** Senders wait while the platform buffers more than this. */
const HIGH_WATER_BYTES = 128 * 1024;

/** The maximum for a program that does not await its sends. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

/** This many polls are immediate. The pause then doubles up to the maximum. */
const POLLS_AT_ONCE = 8;
const MAX_POLL_PAUSE_MS = 50;

/** Each started part of this size has the whole timeout: progress in a message is invisible. */
const STALL_PART_BYTES = 1024 * 1024;

const READY = Promise.resolve();

/**
 * Makes senders wait while the client is slow. The platform buffers all messages and counts their
 * bytes, but has no event for a change of the count, so this polls: immediately while the client
 * reads, and less often while it does not.
 */
export class SendQueue {
  readonly #socket: WebSocket;
  readonly #stallTimeoutMs: number;
  readonly #onStall: () => void;
  /** Messages since the platform last buffered none. */
  #count = 0;
  #hasSpace: PromiseWithResolvers<void> | undefined;
  #polls = 0;
  #bufferedBefore = 0;
  #progressAt = 0;
  #immediate: ReturnType<typeof setImmediate> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `onStall` is called when the client has read nothing for the timeout. */
  constructor(socket: WebSocket, stallTimeoutMs: number, onStall: () => void) {
    this.#socket = socket;
    this.#stallTimeoutMs = stallTimeoutMs;
    this.#onStall = onStall;
  }

  get isFull(): boolean {
    const buffered = this.#socket.bufferedAmount;
    if (buffered === 0) this.#count = 0;
    return buffered + this.#count * OVERHEAD_BYTES > MAX_BUFFERED_BYTES;
  }

  /** Resolves when there is space for another message. */
  send(message: MessageData): Promise<void> {
    this.#socket.send(message);
    this.#count++;
    const buffered = this.#socket.bufferedAmount;
    // While it is closing, the platform drops messages. A handler that sends in a loop would never
    // let the event `close` come, which needs a turn of the event loop.
    const isOpen = this.#socket.readyState === WebSocket.OPEN;
    if (isOpen && buffered + this.#count * OVERHEAD_BYTES <= HIGH_WATER_BYTES) return READY;
    if (!this.#hasSpace) {
      this.#hasSpace = Promise.withResolvers();
      this.#hasSpace.promise.catch(() => {});
      if (!isOpen) {
        // The event does not come while the client takes no close frame.
        this.#timer = setTimeout(this.#onStall, Math.min(this.#stallTimeoutMs, MAX_TIMER_MS));
        return this.#hasSpace.promise;
      }
      this.#polls = 0;
      this.#bufferedBefore = buffered;
      this.#progressAt = performance.now();
      this.#schedulePoll();
    }
    return this.#hasSpace.promise;
  }

  end(reason: Error): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
    this.#hasSpace?.reject(reason);
    this.#hasSpace = undefined;
  }

  #poll(): void {
    const buffered = this.#socket.bufferedAmount;
    if (buffered === 0) {
      this.#count = 0;
      this.#hasSpace?.resolve();
      this.#hasSpace = undefined;
      return;
    }
    const now = performance.now();
    if (buffered < this.#bufferedBefore) this.#progressAt = now;
    this.#bufferedBefore = buffered;
    const timeout = this.#stallTimeoutMs * Math.ceil(buffered / STALL_PART_BYTES);
    if (now - this.#progressAt > timeout) return this.#onStall();
    this.#schedulePoll();
  }

  #schedulePoll(): void {
    const poll = () => this.#poll();
    const pause = 2 ** (this.#polls++ - POLLS_AT_ONCE);
    if (pause < 1) this.#immediate = setImmediate(poll);
    else this.#timer = setTimeout(poll, Math.min(pause, MAX_POLL_PAUSE_MS));
  }
}

/** Closes a socket that opens after its transport was closed. 1006 cannot be sent. */
function closing({ code, reason }: WebSocketClosedError): (this: WebSocket) => void {
  return function () {
    this.close(code === 1006 ? 1001 : code, shorten(reason));
  };
}

/** May stay unhandled: a program that does not await a send must not end by it. */
function rejected(reason: Error): Promise<never> {
  const promise = Promise.reject(reason);
  promise.catch(() => {});
  return promise;
}

/** Counts the bytes of a string only if its length is not conclusive. */
function isLarger(message: MessageData, size: number): boolean {
  if (typeof message !== "string" || message.length > size) return message.length > size;
  return message.length * 3 > size && Buffer.byteLength(message) > size;
}

function shorten(reason: string): string {
  const { read } = new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON_BYTES));
  return reason.slice(0, read);
}

/** Up to this many unopened sockets, an upgrade does not pause. */
const FREE_SOCKETS = 16;

const MAX_PAUSE_MS = 16;

/** Deno reads the connections between turns, and may abort a `signal` one turn later. */
const TURNS = 2;

let isMuted = false;

/**
 * The pause before an upgrade, in milliseconds. A client that resets its connection while the 101
 * is written costs a descriptor. Most do so at once, so a pause lets them reset before. It is
 * random, because clients could aim at the end of a constant one.
 */
export function pauseBeforeUpgrade(unopened: number, random: number): number {
  const excess = unopened - FREE_SOCKETS;
  return excess <= 0 ? 0 : Math.ceil(random * Math.min(excess, MAX_PAUSE_MS));
}

/**
 * Whether the client has disconnected since its handshake. Deno 2.9 would upgrade the connection
 * anyway: the socket would never open, and keep its descriptor until the process ends. Upgrade
 * before the next turn of the event loop.
 */
export async function hasGone(raw: Request, unopened: number, pause = sleep): Promise<boolean> {
  const ms = pauseBeforeUpgrade(unopened, Math.random());
  if (ms > 0) await pause(ms);
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise((resolve) => nodeTimers().setImmediate(resolve));
  }
  // Deno warns once that the signal also aborts after replies. The application did not use it.
  isMuted ||= muteNextWarning("Deno.serve: request.signal");
  // The first read asks the platform, which answers in the next microtask.
  const { signal } = raw;
  await undefined;
  return signal.aborted;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
