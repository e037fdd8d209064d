/** The store of durable topics. Its code is loaded when such a topic is used for the first time. */
import { load } from "../base/async_context.ts";
import type { RecordStore } from "./record_store.ts";
import { jetStreamCapabilities, KV_CAPABILITIES } from "./capabilities.ts";
import { defaultLocation, type StoreLocation } from "./location.ts";
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
} from "./topic_store.ts";
import { CannotOpenError } from "./store_errors.ts";

/**
 * Makes the store of durable topics. Nothing is loaded or opened before it is used.
 *
 * @param location Where it is, or the store itself. If it is undefined, the environment decides, or
 * the store is a file beside the program.
 */
export function openDurableStore(location: StoreLocation | TopicStore | undefined): TopicStore {
  return location && "append" in location ? location : new DurableStore(location);
}

/** What the stores of the framework offer of what a store may offer. */
type LoadedStore = TopicStore & Required<Pick<TopicStore, "open" | "now" | "list" | "openRecords">>;

/** Loads a store in Deno KV or NATS JetStream, and passes all calls on to it. */
class DurableStore implements TopicStore {
  #location: StoreLocation | undefined;
  #store: Promise<LoadedStore> | undefined;
  #loaded: LoadedStore | undefined;
  #capabilities: StoreCapabilities | undefined;

  constructor(location: StoreLocation | undefined) {
    this.#location = location;
  }

  /** The limits of the store. If the environment does not say which one it is, those of Deno KV. */
  get capabilities(): StoreCapabilities {
    return this.#capabilities ??= this.#findCapabilities();
  }

  /**
   * Checks that the store can work. For a file, the check is much quicker than loading the store.
   *
   * @throws {CannotOpenError} If it cannot.
   */
  async open(): Promise<void> {
    const location = this.#locate();
    if (!("path" in location)) return await (await this.#load()).open();
    const { checkFile } = await load(() => import("./kv/open_file.ts"));
    await checkFile(location);
  }

  async bounds(log: LogRef): Promise<LogBounds> {
    return await (await this.#load()).bounds(log);
  }

  async append(log: LogRef, messages: readonly NewMessage[], options?: AppendOptions): Promise<AppendResult> {
    return await (await this.#load()).append(log, messages, options);
  }

  async read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return await (await this.#load()).read(log, after, limits);
  }

  async seek(log: LogRef, time: Date): Promise<LogPosition> {
    return await (await this.#load()).seek(log, time);
  }

  watch(log: LogRef, onChange: () => void): () => void {
    let hasEnded = false;
    let unwatch: (() => void) | undefined;
    this.#load().then((store) => {
      if (!hasEnded) unwatch = store.watch(log, onChange);
    }, () => {
      // The caller also reads, and gets the error there.
    });
    return () => {
      hasEnded = true;
      unwatch?.();
    };
  }

  /**
   * The time in milliseconds since 1970: by the clock of this machine until the store is loaded.
   */
  now(): number {
    return this.#loaded?.now() ?? Date.now();
  }

  async list(): Promise<readonly LogRef[]> {
    return await (await this.#load()).list();
  }

  async openRecords(): Promise<RecordStore> {
    return await (await this.#load()).openRecords();
  }

  async processName(): Promise<string | undefined> {
    return await (await this.#load()).processName?.();
  }

  async hasEnded(processName: string): Promise<boolean | undefined> {
    return await (await this.#load()).hasEnded?.(processName);
  }

  /** Closes the store. If it could not be loaded, there is nothing to close. */
  async close(): Promise<void> {
    const store = await this.#store?.catch(() => undefined);
    await store?.close();
  }

  #load(): Promise<LoadedStore> {
    return this.#store ??= this.#open();
  }

  async #open(): Promise<LoadedStore> {
    const location = this.#locate();
    if ("servers" in location) {
      const { openJetStream } = await load(() => import("./jetstream/open_store.ts"));
      return this.#loaded = openJetStream(location);
    }
    const { openStore } = await load(() => import("./kv/open_store.ts"));
    return this.#loaded = openStore(location);
  }

  #findCapabilities(): StoreCapabilities {
    try {
      const location = this.#locate();
      return "servers" in location ? jetStreamCapabilities(location.replicas) : KV_CAPABILITIES;
    } catch {
      // The first call of the store fails with the reason.
      return KV_CAPABILITIES;
    }
  }

  #locate(): StoreLocation {
    try {
      return this.#location ??= defaultLocation();
    } catch (error) {
      // The mistake is in an environment variable, so the line of the program says nothing.
      throw new CannotOpenError(error instanceof Error ? error.message : String(error));
    }
  }
}
