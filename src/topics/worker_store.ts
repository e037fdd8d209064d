import { MEMORY_CAPABILITIES, MemoryStore } from "./memory_store.ts";
import type {
  AppendOptions,
  AppendResult,
  Cursor,
  LogBounds,
  LogPage,
  LogPosition,
  LogRef,
  NewMessage,
  ReadLimits,
  StoreCapabilities,
  TopicStore,
} from "./store.ts";

/** One store for several workers of a process: one of them keeps it, the others ask it over ports. */

/** What a worker asks of the store. */
export type StoreRequest =
  | { readonly ask: "bounds" | "trim"; readonly call: number; readonly log: LogRef }
  | {
    readonly ask: "append";
    readonly call: number;
    readonly log: LogRef;
    readonly messages: readonly NewMessage[];
    readonly session: string;
    readonly sequence: number;
    /** Whether the worker may give up before it has the answer. */
    readonly canGiveUp: boolean;
  }
  | {
    readonly ask: "read";
    readonly call: number;
    readonly log: LogRef;
    readonly after: Cursor;
    readonly limits: ReadLimits;
  }
  | { readonly ask: "seek"; readonly call: number; readonly log: LogRef; readonly time: Date }
  | { readonly ask: "watch" | "unwatch"; readonly log: LogRef }
  | { readonly ask: "join" | "leave" };

/** What the store says to a worker. */
export type StoreAnswer =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly failure: string }
  | { readonly wake: string };

/** A store that other workers use too. It is closed when all of them have left. */
export class HostStore implements TopicStore {
  /** What it can do. */
  readonly capabilities: StoreCapabilities;
  readonly #store: TopicStore;
  readonly #guests: readonly Guest[];

  /**
   * Answers the other workers from now on.
   *
   * @param store Keeps the messages.
   * @param ports One for each of the other workers.
   */
  constructor(store: TopicStore, ports: readonly MessagePort[]) {
    this.capabilities = store.capabilities;
    this.#store = store;
    this.#guests = ports.map((port) => answer(store, port));
  }

  /** Where a log begins and ends. */
  bounds(log: LogRef): Promise<LogBounds> {
    return this.#store.bounds(log);
  }

  /** Appends messages. */
  append(log: LogRef, messages: readonly NewMessage[], options: AppendOptions): Promise<AppendResult> {
    return this.#store.append(log, messages, options);
  }

  /** Reads what comes after a place. */
  read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return this.#store.read(log, after, limits);
  }

  /** The place before the first message of a time. */
  seek(log: LogRef, time: Date): Promise<LogPosition> {
    return this.#store.seek(log, time);
  }

  /** Calls back when the log may have grown, whichever worker appended. */
  watch(log: LogRef, wake: () => void): () => void {
    return this.#store.watch(log, wake);
  }

  /** Removes what the policy does not keep. */
  trim(log: LogRef): Promise<LogBounds> {
    return this.#store.trim(log);
  }

  /**
   * Waits until the other workers have left, then closes the store. Those that were never started
   * are not waited for.
   */
  async close(): Promise<void> {
    await Promise.all(this.#guests.map((guest) => guest.hasJoined ? guest.left : guest.port.close()));
    await this.#store.close();
  }
}

/** Another worker, as the one with the store has it. */
interface Guest {
  readonly port: MessagePort;
  /** Whether it has said that it is there. */
  hasJoined: boolean;
  /** Resolves when it has left. */
  readonly left: Promise<void>;
}

/** Answers one worker until it leaves. */
function answer(store: TopicStore, port: MessagePort): Guest {
  const left = Promise.withResolvers<void>();
  const guest: Guest = { port, hasJoined: false, left: left.promise };
  const watched = new Map<string, () => void>();
  const reply = (answer: StoreAnswer): void => port.postMessage(answer);
  port.onmessage = async ({ data }: MessageEvent<StoreRequest>) => {
    switch (data.ask) {
      case "join":
        guest.hasJoined = true;
        return;
      case "watch":
        watched.set(data.log.name, store.watch(data.log, () => reply({ wake: data.log.name })));
        // Another worker may have appended while the request was on its way.
        return reply({ wake: data.log.name });
      case "unwatch":
        watched.get(data.log.name)?.();
        return void watched.delete(data.log.name);
      case "leave":
        for (const unwatch of watched.values()) unwatch();
        port.close();
        return left.resolve();
    }
    const { call } = data;
    try {
      reply({ call, value: await ask(store, data) });
    } catch (error) {
      reply({ call, failure: error instanceof Error ? error.message : String(error) });
    }
  };
  return guest;
}

/** A signal that nobody aborts: it tells the store that whoever appends may never learn the outcome. */
const UNKNOWN: AbortSignal = new AbortController().signal;

function ask(store: TopicStore, request: Extract<StoreRequest, { call: number }>): Promise<unknown> {
  switch (request.ask) {
    case "append": {
      const { log, messages, session, sequence, canGiveUp } = request;
      return store.append(log, messages, { session, sequence, signal: canGiveUp ? UNKNOWN : undefined });
    }
    case "read":
      return store.read(request.log, request.after, request.limits);
    case "seek":
      return store.seek(request.log, request.time);
    default:
      return store[request.ask](request.log);
  }
}

/** The store in memory of an application that several workers of a process serve. */

/** How the workers of a process share what topics keep in memory: the first of them keeps it, and the others ask it. */
export type WorkerPorts =
  | {
    /** In the first worker: one for each of the others. */
    readonly guests: readonly MessagePort[];
  }
  | {
    /** In the others: the one to the first. */
    readonly host: MessagePort;
  };

/** The store as a worker has it. */
export function openWorkerStore(ports: WorkerPorts): TopicStore {
  return "host" in ports
    ? new RemoteStore(ports.host, MEMORY_CAPABILITIES)
    : new HostStore(new MemoryStore(), ports.guests);
}

/** The store of another worker of the process, which `shared_store.ts` keeps. */

/** A request that is answered, before it has its number. */
type Asked<Request = StoreRequest> = Request extends { readonly call: number } ? Omit<Request, "call"> : never;

/** Asks the worker that keeps the store, and waits for its answers. */
export class RemoteStore implements TopicStore {
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
    { session, sequence, signal }: AppendOptions,
  ): Promise<AppendResult> {
    const canGiveUp = signal !== undefined;
    const appended = this.#ask<AppendResult>({ ask: "append", log, messages, session, sequence, canGiveUp });
    return signal === undefined ? appended : orAborted(appended, signal);
  }

  /** Reads what comes after a place. */
  read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return this.#ask({ ask: "read", log, after, limits });
  }

  /** The place before the first message of a time. */
  seek(log: LogRef, time: Date): Promise<LogPosition> {
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
