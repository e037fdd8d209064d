/** Topics and records in memory for workers of a process: one has the store, the others call it. */
import type {
  DeleteRecordOptions,
  ListedRecord,
  RecordKey,
  RecordStore,
  SetRecordOptions,
  StoredRecord,
} from "../record_store.ts";
import { MEMORY_CAPABILITIES, MemoryStore, type MemoryStoreOptions } from "./memory_store.ts";
import {
  type AppendOptions,
  type AppendResult,
  type Cursor,
  type LogBounds,
  type LogPage,
  type LogPosition,
  type LogRef,
  type NewMessage,
  orAborted,
  type ReadLimits,
  type StoreCapabilities,
  type TopicStore,
  Watchers,
} from "../topic_store.ts";

/** @ignore Connects the workers of a process to the store in the first of them. */
export type WorkerPorts =
  | {
    /** In the first worker: one for each of the others. */
    readonly guests: readonly MessagePort[];
  }
  | {
    /** In the others: the one to the first. */
    readonly host: MessagePort;
  };

export function openWorkerStore(ports: WorkerPorts): TopicStore {
  return "host" in ports ? new RemoteStore(ports.host) : new HostStore(ports.guests);
}

/** Without the number of the call. */
type StoreCall =
  | { readonly call: "bounds"; readonly log: LogRef }
  | {
    readonly call: "append";
    readonly log: LogRef;
    readonly messages: readonly NewMessage[];
    /** Whether the caller may stop waiting before it has the answer. */
    readonly isAbortable: boolean;
  }
  | { readonly call: "read"; readonly log: LogRef; readonly after: Cursor; readonly limits: ReadLimits }
  | { readonly call: "seek"; readonly log: LogRef; readonly time: Date }
  | RecordCall;

type GuestMessage =
  | StoreCall & { readonly number: number }
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

/** Answers a worker until it leaves. */
function serveGuest(store: HostStore, port: MessagePort): Guest {
  const left = Promise.withResolvers<void>();
  const guest: Guest = { port, hasJoined: false, left: left.promise };
  const watched = new Map<string, () => void>();
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
    const { number } = data;
    try {
      send({ number, value: await callStore(store, data) });
    } catch (error) {
      send({ number, failure: error instanceof Error ? error.message : String(error) });
    }
  };
  return guest;
}

/** Never aborts. It means that the publisher may not learn the outcome. */
const GUEST_SIGNAL: AbortSignal = new AbortController().signal;

async function callStore(store: HostStore, call: StoreCall): Promise<unknown> {
  switch (call.call) {
    case "append": {
      const { log, messages, isAbortable } = call;
      return store.append(log, messages, { signal: isAbortable ? GUEST_SIGNAL : undefined });
    }
    case "read":
      return store.read(call.log, call.after, call.limits);
    case "seek":
      return store.seek(call.log, call.time);
    case "record":
      return await callRecords(await store.openRecords(), call);
    case "bounds":
      return store.bounds(call.log);
  }
}

export class RemoteStore implements TopicStore {
  readonly capabilities: StoreCapabilities = MEMORY_CAPABILITIES;
  readonly #port: MessagePort;
  readonly #answers = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #watchers = new Watchers();
  readonly #records = new RemoteRecords((call) => this.#call(call));
  #lastNumber = 0;
  #isClosed = false;

  /** Joins the store at the other end of the port, which it owns from now on. */
  constructor(port: MessagePort) {
    this.#port = port;
    port.onmessage = ({ data }: MessageEvent<HostMessage>) => this.#receive(data);
    this.#send({ call: "join" });
  }

  bounds(log: LogRef): Promise<LogBounds> {
    return this.#call({ call: "bounds", log });
  }

  append(log: LogRef, messages: readonly NewMessage[], { signal }: AppendOptions = {}): Promise<AppendResult> {
    const isAbortable = signal !== undefined;
    const appended = this.#call<AppendResult>({ call: "append", log, messages, isAbortable });
    return signal === undefined ? appended : orAborted(appended, signal);
  }

  read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return this.#call({ call: "read", log, after, limits });
  }

  seek(log: LogRef, time: Date): Promise<LogPosition> {
    return this.#call({ call: "seek", log, time });
  }

  watch(log: LogRef, onChange: () => void): () => void {
    if (!this.#watchers.has(log.name)) this.#send({ call: "watch", log });
    const remove = this.#watchers.add(log.name, onChange);
    return () => {
      const wasWatched = this.#watchers.has(log.name);
      remove();
      if (wasWatched && !this.#watchers.has(log.name) && !this.#isClosed) this.#send({ call: "unwatch", log });
    };
  }

  async openRecords(): Promise<RecordStore> {
    return this.#records;
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

  async #call<Value>(call: StoreCall): Promise<Value> {
    if (this.#isClosed) {
      const what = call.call === "record" ? "the records" : `the topic "${call.log.name}"`;
      throw new Error(`Cannot use ${what}: the store is closed`);
    }
    const number = ++this.#lastNumber;
    const answer = Promise.withResolvers<unknown>();
    this.#answers.set(number, answer);
    this.#send({ ...call, number });
    return await answer.promise as Value;
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

type RecordCall =
  & { readonly call: "record"; readonly key: RecordKey }
  & (
    | { readonly method: "get" | "list" }
    | { readonly method: "set"; readonly value: string; readonly write: SetRecordOptions<number> }
    | { readonly method: "delete"; readonly deletion: DeleteRecordOptions }
  );

async function callRecords(records: RecordStore, call: RecordCall): Promise<unknown> {
  switch (call.method) {
    case "get":
      return await records.get(call.key);
    case "set":
      return await records.set(call.key, call.value, call.write);
    case "delete":
      return await records.delete(call.key, call.deletion);
    case "list":
      return await Array.fromAsync(records.list(call.key));
  }
}

class RemoteRecords implements RecordStore {
  readonly #call: <Value>(call: RecordCall) => Promise<Value>;

  constructor(call: <Value>(call: RecordCall) => Promise<Value>) {
    this.#call = call;
  }

  get(key: RecordKey): Promise<StoredRecord<string> | null> {
    return this.#call({ call: "record", method: "get", key });
  }

  set(key: RecordKey, value: string, write: SetRecordOptions<number>): Promise<string | null> {
    return this.#call({ call: "record", method: "set", key, value, write });
  }

  delete(key: RecordKey, deletion: DeleteRecordOptions): Promise<boolean> {
    return this.#call({ call: "record", method: "delete", key, deletion });
  }

  async *list(prefix: RecordKey): AsyncGenerator<ListedRecord<string>> {
    yield* await this.#call<readonly ListedRecord<string>[]>({ call: "record", method: "list", key: prefix });
  }
}
