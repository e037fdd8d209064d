/** The store of durable topics, loaded when one of them is used for the first time. */
import { CannotOpenError } from "./topic_errors.ts";
import { KV_CAPABILITIES } from "./kv/capabilities.ts";
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
import { defaultLocation, type KvLocation } from "./location.ts";

/**
 * Makes the store of durable topics. Nothing is loaded or opened before it is used.
 *
 * @param place Where it is, or the store itself; unless given, as the environment says, or beside the program.
 */
export function openDurableStore(place: KvLocation | TopicStore | undefined): TopicStore {
  return place && "append" in place ? place : new DurableStore(place);
}

/** A store in Deno KV, before it is there. */
class DurableStore implements TopicStore {
  /** What it can do. */
  readonly capabilities: StoreCapabilities = KV_CAPABILITIES;
  #location: KvLocation | undefined;
  #store: Promise<Required<TopicStore>> | undefined;
  #loaded: Required<TopicStore> | undefined;

  constructor(location: KvLocation | undefined) {
    this.#location = location;
  }

  /**
   * Finds out whether it can work. Of a file that takes far less than loading what uses it.
   *
   * @throws {CannotOpenError} When it cannot.
   */
  async open(): Promise<void> {
    const location = this.#place();
    if (!("path" in location)) return await (await this.#load()).open();
    const { checkFile } = await import("./kv/open_file.ts");
    await checkFile(location);
  }

  /** Where a log begins and ends. */
  async bounds(log: LogRef): Promise<LogBounds> {
    return await (await this.#load()).bounds(log);
  }

  /** Appends messages. */
  async append(log: LogRef, messages: readonly NewMessage[], options: AppendOptions): Promise<AppendResult> {
    return await (await this.#load()).append(log, messages, options);
  }

  /** Reads what comes after a place. */
  async read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return await (await this.#load()).read(log, after, limits);
  }

  /** The place before the first message of a time. */
  async seek(log: LogRef, time: Date): Promise<LogPosition> {
    return await (await this.#load()).seek(log, time);
  }

  /** Calls back after each append. */
  watch(log: LogRef, wake: () => void): () => void {
    let hasEnded = false;
    let unwatch: (() => void) | undefined;
    this.#load().then((store) => {
      if (!hasEnded) unwatch = store.watch(log, wake);
    }, () => {
      // Whoever watches also reads, and is told.
    });
    return () => {
      hasEnded = true;
      unwatch?.();
    };
  }

  /** Removes what the policy does not keep. */
  async trim(log: LogRef): Promise<LogBounds> {
    return await (await this.#load()).trim(log);
  }

  /** The time in milliseconds since 1970 by the clock of the store, as soon as that is there. */
  now(): number {
    return this.#loaded?.now() ?? Date.now();
  }

  /** All logs. */
  async list(): Promise<readonly LogRef[]> {
    return await (await this.#load()).list();
  }

  /** Ends the connection. Whoever used a store that could not be loaded was told; there is nothing to end. */
  async close(): Promise<void> {
    const store = await this.#store?.catch(() => undefined);
    await store?.close();
  }

  #load(): Promise<Required<TopicStore>> {
    return this.#store ??= this.#open();
  }

  async #open(): Promise<Required<TopicStore>> {
    const location = this.#place();
    const { openStore } = await import("./kv/open_store.ts");
    return this.#loaded = openStore(location);
  }

  #place(): KvLocation {
    try {
      return this.#location ??= defaultLocation();
    } catch (error) {
      // What a variable says is no mistake of the program that uses it.
      throw new CannotOpenError(error instanceof Error ? error.message : String(error));
    }
  }
}
