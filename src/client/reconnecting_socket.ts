/** WebSockets that reconnect. Loaded late. */
import type { CallSignal } from "./call_signal.ts";
import type { ProblemError } from "./problem.ts";
import { pause, pauseAfter, retryAfterOf } from "./retry.ts";
import type { Sender } from "./sender.ts";
import type { SocketOptions } from "./types.ts";

/** RFC 6455, section 7.4, and its registry: the network, the server or its handler failed. */
const BROKEN = [1001, 1006, 1011, 1012, 1013, 1014, 1015];
const MAX_SENT = 1_000;
/** A connection of this duration is no failure, even without a message. */
const LONG_MS = 30_000;

export interface AnySocket extends AsyncDisposable, AsyncIterable<unknown> {
  readonly closed: (Error & { readonly code: number }) | null;
  readonly protocol: string;
  send(message: unknown): Promise<void>;
  close(code?: number, reason?: string): Promise<void>;
}

/** A socket that does not reconnect. */
export interface Connection extends AnySocket {
  /** How many messages came. */
  readonly received: number;
  readonly hasUnread: boolean;
  /** Resolves when it is closed. */
  readonly ended: Promise<void>;
}

type Open = (signal: AbortSignal) => Promise<Connection>;
type GiveBack = (sent: readonly unknown[]) => unknown;

/** Rejects if the first connection fails. */
export async function keepOpen(open: Open, sender: Sender, options: SocketOptions): Promise<AnySocket> {
  const { reconnect, signal } = options;
  const call = sender.begin(signal ? { signal } : {}, "", []);
  // Each connection has a timeout, not the socket.
  call.settle();
  call.isStreaming = true;
  const openAgain = () => open(call.signal);
  try {
    return new ReconnectingSocket(
      await openAgain(),
      openAgain,
      call,
      typeof reconnect === "function" ? reconnect : undefined,
    );
  } catch (error) {
    call.release();
    throw error;
  }
}

class ReconnectingSocket implements AnySocket {
  readonly #open: () => Promise<Connection>;
  readonly #call: CallSignal;
  readonly #giveBack: GiveBack | undefined;
  #socket: Connection;
  /** Those with messages to read, and the newest one. */
  #sockets: readonly Connection[];
  /** On this connection, with the number of messages that had come. */
  #sent: { readonly message: unknown; readonly received: number }[] = [];
  #isOver = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(socket: Connection, open: () => Promise<Connection>, call: CallSignal, giveBack: GiveBack | undefined) {
    this.#open = open;
    this.#call = call;
    this.#giveBack = giveBack;
    this.#socket = socket;
    this.#sockets = [socket];
    this.#keepOpen().catch((error) => {
      // A function that fails.
      this.#socket.close();
      this.#failure = error;
    }).finally(() => {
      this.#isOver = true;
      call.release();
      this.#wake?.();
    });
  }

  get closed(): Connection["closed"] {
    return this.#socket.closed;
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  send(message: unknown): Promise<void> {
    const { closed, received } = this.#socket;
    const sent = this.#socket.send(message);
    if (!closed && this.#giveBack) {
      if (this.#sent[0]?.received !== received) this.#sent = [];
      this.#sent.push({ message, received });
      if (this.#sent.length > MAX_SENT) this.#sent.shift();
    }
    return sent;
  }

  close(code?: number, reason?: string): Promise<void> {
    const gone = this.#socket.close(code, reason);
    this.#call.abort(this);
    return gone;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, void> {
    for (;;) {
      const socket = this.#sockets[0]!;
      let failure: unknown;
      try {
        yield* socket;
      } catch (error) {
        if (error !== socket.closed) throw error;
        failure = error;
      }
      while (this.#sockets.at(-1) === socket && !this.#isOver) await new Promise<void>((wake) => this.#wake = wake);
      if (this.#sockets.at(-1) === socket) {
        failure = this.#failure ?? failure;
        if (failure && !this.#call.signal.aborted) throw failure;
        return;
      }
      this.#sockets = this.#sockets.slice(this.#sockets.indexOf(socket) + 1);
    }
  }

  async #keepOpen(): Promise<void> {
    let failures = 0;
    let retryAfter: number | undefined;
    let sent: readonly unknown[] = [];
    const { signal } = this.#call;
    for (;;) {
      const socket = this.#socket;
      const opened = performance.now();
      await socket.ended;
      if (socket.received > 0 || performance.now() - opened >= LONG_MS) failures = 0;
      const here = this.#sent.filter(({ received }) => received === socket.received).map(({ message }) => message);
      sent = [...sent, ...here.filter((message) => !sent.includes(message))];
      for (;; failures++) {
        if (signal.aborted || !BROKEN.includes(socket.closed!.code)) return;
        await pause(pauseAfter(failures, undefined, retryAfter), this.#call).catch(() => {});
        const next = await this.#open().catch((error: Partial<ProblemError>) => {
          const { status = 500, headers } = error;
          retryAfter = headers && retryAfterOf(headers);
          if (status < 500 && ![408, 425, 429].includes(status)) throw error;
        });
        if (!next) continue;
        failures++;
        this.#socket = next;
        this.#sent = [];
        try {
          await this.#giveBack?.(sent);
          sent = [];
        } catch (error) {
          // Else it broke again, and all of them are given back once more.
          if (error !== next.closed) throw error;
        }
        this.#sockets = [...this.#sockets.filter(({ hasUnread }) => hasUnread), next];
        this.#wake?.();
        break;
      }
    }
  }
}
