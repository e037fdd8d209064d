/** Topics and records in memory for workers of a process: one has the store, the others call it. */
import type { ListedRecord, RecordKey, RecordStore } from "../record_store.ts";
import { MEMORY_CAPABILITIES, MemoryStore, type MemoryStoreOptions } from "./memory_store.ts";
import {
  type AppendResult,
  type LogRef,
  type NewMessage,
  orAborted,
  type StoreCapabilities,
  type TopicStore,
  Watchers,
} from "../topic_store.ts";

/** @ignore Connects the workers of a process to the store in the first of them. */
export type WorkerPorts =
  | {
    /** The first worker has one for each of the others. */
    readonly guests: readonly MessagePort[];
  }
  | {
    /** The others have one to the first. */
    readonly host: MessagePort;
  };

export function openWorkerStore(ports: WorkerPorts): TopicStore {
  return "host" in ports ? new RemoteStore(ports.host) : new HostStore(ports.guests);
}

/** What the other workers call. The arguments and results can be cloned. */
interface Calls extends Pick<TopicStore, "bounds" | "read" | "seek"> {
  /** @param isAbortable Whether the caller may stop waiting before it has the answer. */
  append(log: LogRef, messages: readonly NewMessage[], isAbortable: boolean): Promise<AppendResult>;
  getRecord: RecordStore["get"];
  setRecord: RecordStore["set"];
  deleteRecord: RecordStore["delete"];
  listRecords(prefix: RecordKey): Promise<ListedRecord<string>[]>;
}

type GuestMessage =
  | { readonly number: number; readonly call: keyof Calls; readonly args: readonly unknown[] }
  | { readonly call: "watch" | "unwatch"; readonly log: LogRef }
  | { readonly call: "join" | "leave" };

type HostMessage =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly failure: string }
  | { readonly changed: string };

export class HostStore extends MemoryStore {
  readonly #guests: readonly Guest[];

  /** Answers the other workers, by one port for each. */
  constructor(ports: readonly MessagePort[], options?: MemoryStoreOptions) {
    super(options);
    this.#guests = ports.map((port) => serveGuest(this, port));
  }

  /** Waits for workers that have joined to leave, and drops all logs. */
  override async close(): Promise<void> {
    await Promise.all(this.#guests.map((guest) => guest.hasJoined ? guest.left : guest.port.close()));
    await super.close();
  }
}

interface Guest {
  readonly port: MessagePort;
  hasJoined: boolean;
  readonly left: Promise<void>;
}

/** Never aborts. It means that the publisher may not learn the outcome. */
const GUEST_SIGNAL: AbortSignal = new AbortController().signal;

function callsOf(store: HostStore): Calls {
  return {
    bounds: (log) => store.bounds(log),
    append: (log, messages, isAbortable) =>
      store.append(log, messages, { signal: isAbortable ? GUEST_SIGNAL : undefined }),
    read: (log, after, limits) => store.read(log, after, limits),
    seek: (log, time) => store.seek(log, time),
    getRecord: async (key) => (await store.openRecords()).get(key),
    setRecord: async (key, value, options) => (await store.openRecords()).set(key, value, options),
    deleteRecord: async (key, options) => (await store.openRecords()).delete(key, options),
    listRecords: async (prefix) => Array.fromAsync((await store.openRecords()).list(prefix)),
  };
}

/** Answers a worker until it leaves. */
function serveGuest(store: HostStore, port: MessagePort): Guest {
  const left = Promise.withResolvers<void>();
  const guest: Guest = { port, hasJoined: false, left: left.promise };
  const watched = new Map<string, () => void>();
  const calls = callsOf(store);
  const send = (message: HostMessage): void => port.postMessage(message);
  port.onmessage = async ({ data }: MessageEvent<GuestMessage>) => {
    // The rate limits of workers use the same port.
    if (!("call" in data)) return;
    switch (data.call) {
      case "join":
        guest.hasJoined = true;
        return;
      case "watch":
        watched.set(data.log.name, store.watch(data.log, () => send({ changed: data.log.name })));
        // Another worker may have appended while this message was on its way.
        return send({ changed: data.log.name });
      case "unwatch":
        watched.get(data.log.name)?.();
        return void watched.delete(data.log.name);
      case "leave":
        for (const unwatch of watched.values()) unwatch();
        port.close();
        return left.resolve();
    }
    const { number, args } = data;
    try {
      const call = calls[data.call] as (...args: readonly unknown[]) => Promise<unknown>;
      send({ number, value: await call(...args) });
    } catch (error) {
      send({ number, failure: error instanceof Error ? error.message : String(error) });
    }
  };
  return guest;
}

export class RemoteStore implements TopicStore {
  readonly capabilities: StoreCapabilities = MEMORY_CAPABILITIES;
  readonly #port: MessagePort;
  readonly #answers = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #watchers = new Watchers();
  #lastNumber = 0;
  #isClosed = false;

  /** Joins the store at the other end of the port, which it owns from now on. */
  constructor(port: MessagePort) {
    this.#port = port;
    port.onmessage = ({ data }: MessageEvent<HostMessage>) => this.#receive(data);
    this.#send({ call: "join" });
  }

  readonly bounds: TopicStore["bounds"] = (log) => this.#call("bounds", log);
  readonly read: TopicStore["read"] = (log, after, limits) => this.#call("read", log, after, limits);
  readonly seek: TopicStore["seek"] = (log, time) => this.#call("seek", log, time);

  readonly append: TopicStore["append"] = (log, messages, { signal } = {}) => {
    const appended = this.#call("append", log, messages, signal !== undefined);
    return signal === undefined ? appended : orAborted(appended, signal);
  };

  watch(log: LogRef, onChange: () => void): () => void {
    if (!this.#watchers.has(log.name)) this.#send({ call: "watch", log });
    const remove = this.#watchers.add(log.name, onChange);
    return () => {
      const wasWatched = this.#watchers.has(log.name);
      remove();
      if (wasWatched && !this.#watchers.has(log.name) && !this.#isClosed) this.#send({ call: "unwatch", log });
    };
  }

  readonly #records: RecordStore = {
    get: (key) => this.#call("getRecord", key),
    set: (key, value, options) => this.#call("setRecord", key, value, options),
    delete: (key, options) => this.#call("deleteRecord", key, options),
    list: (prefix) => this.#list(prefix),
  };

  async openRecords(): Promise<RecordStore> {
    return this.#records;
  }

  async *#list(prefix: RecordKey): AsyncGenerator<ListedRecord<string>> {
    yield* await this.#call("listRecords", prefix);
  }

  /** Leaves the store to the other workers. Calls without an answer reject. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watchers.clear();
    this.#send({ call: "leave" });
    this.#port.close();
    for (const { reject } of this.#answers.values()) reject(new Error("Cannot wait for the store: it was closed"));
    this.#answers.clear();
  }

  async #call<Name extends keyof Calls>(
    call: Name,
    ...args: Parameters<Calls[Name]>
  ): Promise<Awaited<ReturnType<Calls[Name]>>> {
    if (this.#isClosed) {
      const [subject] = args;
      const what = "name" in subject ? `the topic "${subject.name}"` : "the records";
      throw new Error(`Cannot use ${what}: the store is closed`);
    }
    const number = ++this.#lastNumber;
    const answer = Promise.withResolvers<unknown>();
    this.#answers.set(number, answer);
    this.#send({ number, call, args });
    return await answer.promise as Awaited<ReturnType<Calls[Name]>>;
  }

  #send(message: GuestMessage): void {
    this.#port.postMessage(message);
  }

  #receive(message: HostMessage): void {
    if ("counted" in message) return;
    if ("changed" in message) return this.#watchers.call(message.changed);
    const answer = this.#answers.get(message.number);
    this.#answers.delete(message.number);
    if ("failure" in message) answer?.reject(new Error(message.failure));
    else answer?.resolve(message.value);
  }
}
