/** Topics in Deno KV: a file of this machine, or a database that any number of nodes share. */
import {
  cannotOpen,
  clientMissing,
  hostOf,
  isBusyFile,
  missingPermissions,
  packageMissing,
  permissionsReason,
} from "../cannot_open.ts";
import { type DatabaseLocation, KV_CAPABILITIES, type KvLocation } from "../location.ts";
import { StoreConnection, type StoreConnectionOptions } from "../store_connection.ts";
import type { StoreCapabilities, TopicStore } from "../topic_store.ts";
import { Appender } from "./appender.ts";
import { ChangeNotifier } from "./change_notifier.ts";
import { type KvConnection, type KvEngine, toEngine } from "./engine.ts";
import { Incarnations } from "./incarnation.ts";
import { KvRecords } from "./kv_records.ts";
import { INCARNATION_KEY } from "./keys.ts";
import { KvLogReader, toLog } from "./log_reader.ts";
import { NetworkClient } from "./network_client.ts";
import { ClientMissingError, PACKAGE } from "./npm_client.ts";
import { hasOwnClient, IN_MEMORY, openFile, pathOf } from "./open_file.ts";
import { ProcessLock } from "../process_lock.ts";
import { RetentionWorker } from "./retention_worker.ts";

/** How often logs are trimmed, in ms: a lease that is not released is free within 30 s. */
const TRIM_INTERVAL = 5_000;

/**
 * Each is a connection. A database stores those that are under way together, by one write to its
 * disk.
 */
const MAX_WRITES = 256;

export type ConnectionOptions = Omit<StoreConnectionOptions<KvEngine>, "probe" | "isBusy">;

export function toConnection(options: ConnectionOptions): KvConnection {
  return new StoreConnection({ ...options, probe: (engine) => engine.get([INCARNATION_KEY]), isBusy: isBusyFile });
}

export interface KvStoreOptions extends ConnectionOptions {
  /** Opens a second connection for the watch, if the database notifies across processes. */
  readonly openWatching?: ConnectionOptions["open"];
  /** How often writes of other processes are polled, in milliseconds. */
  readonly interval: number;
  /** Replaces the time of the database. */
  readonly now?: () => number;
  readonly processLock?: ProcessLock;
  /** Reads share requests. The engines have `read`. */
  readonly isRemote?: boolean;
}

type Store = Required<Omit<TopicStore, "appendIn">>;

export class KvStore implements Store {
  readonly capabilities: StoreCapabilities = KV_CAPABILITIES;
  /** The time of the database: the clocks of nodes differ. */
  readonly now: Store["now"];
  readonly #connection: KvConnection;
  readonly #watching: KvConnection | undefined;
  readonly #reader: KvLogReader;
  readonly #endReader: KvLogReader;
  readonly #appender: Appender;
  readonly #notifier: ChangeNotifier;
  readonly #retention: RetentionWorker;
  readonly #records: KvRecords;
  readonly #processLock: ProcessLock | undefined;

  constructor({ openWatching, interval, now, processLock, isRemote, ...options }: KvStoreOptions) {
    const connection = this.#connection = toConnection({ ...options, ...(isRemote && { maxWrites: MAX_WRITES }) });
    const watching = this.#watching = openWatching &&
      toConnection({ ...options, open: openWatching, isLogged: false });
    const time = this.now = now ?? (() => connection.now());
    const incarnations = new Incarnations(connection, () => this.#notifier.reset(), isRemote);
    const newReader = () => new KvLogReader(incarnations, time);
    this.#reader = newReader();
    this.#endReader = newReader();
    this.#appender = new Appender(incarnations, time);
    this.#notifier = new ChangeNotifier(incarnations, watching, interval);
    this.#retention = new RetentionWorker(incarnations, newReader(), TRIM_INTERVAL, time);
    this.#records = new KvRecords(incarnations, time);
    this.#processLock = processLock;
  }

  readonly open: Store["open"] = () => this.#connection.open();
  readonly bounds: Store["bounds"] = (log) => this.#reader.bounds(log);
  readonly seek: Store["seek"] = (log, time) => this.#reader.seek(log, time);
  readonly trim: Store["trim"] = (log) => this.#retention.trim(log);
  readonly openRecords: Store["openRecords"] = async () => this.#records;
  readonly processName: Store["processName"] = async () => await this.#processLock?.name();
  readonly hasEnded: Store["hasEnded"] = async (name) => await this.#processLock?.hasEnded(name);
  readonly list: Store["list"] = async () => (await Array.fromAsync(this.#reader.policies())).flat().map(toLog);

  readonly append: Store["append"] = async (log, messages, options) => {
    const result = await this.#appender.append(log, messages, options);
    this.#retention.start();
    this.#notifier.notify(log.name, result);
    return result;
  };

  readonly read: Store["read"] = (log, after, limits) => {
    return (limits.isLive ? this.#endReader : this.#reader).read(log, after, limits);
  };

  readonly watch: Store["watch"] = ({ name }, onChange) => {
    // The publishers may have ended, and no other process may trim.
    this.#retention.start();
    return this.#notifier.watch(name, onChange);
  };

  async close(): Promise<void> {
    await Promise.all([this.#notifier.close(), this.#retention.close(), this.#processLock?.close()]);
    // Tries once to release the lease. If that fails, others wait until it expires.
    await Promise.all([this.#retention.release(), this.#connection.close(), this.#watching?.close()]);
    await this.#notifier.ended();
  }
}

const TOKEN = "DENO_KV_ACCESS_TOKEN";

/** How often a file is polled, in milliseconds. */
const FILE_INTERVAL = 50;
/** How often a database is polled that is watched as well, in milliseconds. */
const WATCHED_INTERVAL = 1_000;
/** The longest delay of a timer, 25 days. */
const LONGEST = 2 ** 31 - 1;

/** The store opens nothing before its first use. `now` replaces the time of the database. */
export function openStore(location: KvLocation, now?: () => number): KvStore {
  const time = now && { now };
  if ("path" in location) {
    const path = pathOf(location);
    // A database in memory would be empty when it is opened again.
    const ofFile = path === IN_MEMORY ? { requestTimeout: LONGEST } : { processLock: new ProcessLock(path) };
    return new KvStore({ name: path, interval: FILE_INTERVAL, ...time, open: () => openFile(location), ...ofFile });
  }
  const isAttached = "isAttached" in location;
  const open = isAttached ? openAttached : (signal: AbortSignal) => openDatabase(location, signal);
  const name = isAttached ? "Deno Deploy" : nameOf(location.url);
  return new KvStore({ name, interval: WATCHED_INTERVAL, ...time, open, openWatching: open, isRemote: !isAttached });
}

async function openDatabase({ url, token }: DatabaseLocation, signal: AbortSignal): Promise<KvEngine> {
  const name = nameOf(url);
  const missing = await missingPermissions([
    { name: "net", host: hostOf(url) },
    ...(token === undefined ? [{ name: "env", variable: TOKEN } as const] : []),
  ]);
  if (missing.length > 0) throw cannotOpen(name, permissionsReason(missing));
  const given = token ?? Deno.env.get(TOKEN);
  if (!given) throw cannotOpen(name, `it has no token, set ${TOKEN} or give topics as { url, token }`);
  try {
    return await NetworkClient.open(url, given, signal);
  } catch (error) {
    throw error instanceof ClientMissingError ? packageMissing(name, "npm's KV client", error, PACKAGE) : error;
  }
}

async function openAttached(): Promise<KvEngine> {
  if (!hasOwnClient()) throw clientMissing("Deno Deploy");
  return toEngine(await Deno.openKv());
}

/** The address without a user, a password or a query, which may be secrets. */
function nameOf({ origin, pathname }: URL): string {
  return origin + pathname;
}
