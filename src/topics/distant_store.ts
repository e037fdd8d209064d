/** The store of another worker of the process, which `shared_store.ts` keeps. */
import type { StoreAnswer, StoreRequest } from "./shared_store.ts";
import type {
  AppendOptions,
  AppendResult,
  Cursor,
  LogBounds,
  LogPage,
  LogPlace,
  LogRef,
  NewMessage,
  ReadLimits,
  StoreCapabilities,
  TopicStore,
} from "./store.ts";

/** A request that is answered, before it has its number. */
type Asked<Request = StoreRequest> = Request extends { readonly call: number } ? Omit<Request, "call"> : never;

/** Asks the worker that keeps the store, and waits for its answers. */
export class DistantStore implements TopicStore {
  /** What it can do. */
  readonly capabilities: StoreCapabilities;
  readonly #port: MessagePort;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  /** By the name of the log. */
  readonly #watchers = new Map<string, Set<() => void>>();
  #lastCall = 0;
  #isClosed = false;

  /**
   * Uses the store at the other end of a port.
   *
   * @param port The port; it is closed with the store.
   * @param capabilities What the store can do.
   */
  constructor(port: MessagePort, capabilities: StoreCapabilities) {
    this.capabilities = capabilities;
    this.#port = port;
    port.onmessage = ({ data }: MessageEvent<StoreAnswer>) => this.#take(data);
    this.#send({ ask: "join" });
  }

  /** Where a log begins and ends. */
  bounds(log: LogRef): Promise<LogBounds> {
    return this.#ask({ ask: "bounds", log });
  }

  /** Appends messages. */
  append(
    log: LogRef,
    messages: readonly NewMessage[],
    { series, first, signal }: AppendOptions,
  ): Promise<AppendResult> {
    const canGiveUp = signal !== undefined;
    const appended = this.#ask<AppendResult>({ ask: "append", log, messages, series, first, canGiveUp });
    return signal === undefined ? appended : orAborted(appended, signal);
  }

  /** Reads what comes after a place. */
  read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return this.#ask({ ask: "read", log, after, limits });
  }

  /** The place before the first message of a time. */
  seek(log: LogRef, time: Date): Promise<LogPlace> {
    return this.#ask({ ask: "seek", log, time });
  }

  /** Calls back when the log may have grown, whichever worker appended. */
  watch(log: LogRef, wake: () => void): () => void {
    const watchers = this.#watchers.get(log.name) ?? new Set();
    if (watchers.size === 0) this.#send({ ask: "watch", log });
    this.#watchers.set(log.name, watchers.add(wake));
    return () => {
      if (!watchers.delete(wake) || watchers.size > 0) return;
      this.#watchers.delete(log.name);
      if (!this.#isClosed) this.#send({ ask: "unwatch", log });
    };
  }

  /** Removes what the policy does not keep. */
  trim(log: LogRef): Promise<LogBounds> {
    return this.#ask({ ask: "trim", log });
  }

  /** Leaves the store to the others. What was asked and not answered fails. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watchers.clear();
    this.#send({ ask: "leave" });
    this.#port.close();
    for (const { reject } of this.#calls.values()) reject(new Error("Cannot wait for the store: it was closed"));
    this.#calls.clear();
  }

  async #ask<Value>(request: Asked): Promise<Value> {
    if (this.#isClosed) throw new Error(`Cannot use the topic "${request.log.name}": its store is closed`);
    const call = ++this.#lastCall;
    const answer = Promise.withResolvers<unknown>();
    this.#calls.set(call, answer);
    this.#send({ ...request, call } as StoreRequest);
    return await answer.promise as Value;
  }

  #send(request: StoreRequest): void {
    this.#port.postMessage(request);
  }

  #take(answer: StoreAnswer): void {
    if ("wake" in answer) return this.#watchers.get(answer.wake)?.forEach((wake) => wake());
    const call = this.#calls.get(answer.call);
    this.#calls.delete(answer.call);
    if ("failure" in answer) call?.reject(new Error(answer.failure));
    else call?.resolve(answer.value);
  }
}

/** Waits no longer than the signal allows. */
async function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    signal.throwIfAborted();
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
    promise.catch(() => {});
  }
}
