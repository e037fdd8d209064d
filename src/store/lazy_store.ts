/** The store of durable topics. Its code is loaded when such a topic is used for the first time. */
import { Lazy, load } from "../base/async_context.ts";
import {
  defaultLocation,
  type FileLocation,
  jetStreamCapabilities,
  KV_CAPABILITIES,
  SQL_CAPABILITIES,
  type SqlLocation,
  type StoreLocation,
} from "./location.ts";
import { CannotOpenError, runsInCall, type StoreCapabilities, type TopicStore } from "./topic_store.ts";

/** The methods that each store of the framework has, though a store need not have them. */
type FullStore = TopicStore & Required<Pick<TopicStore, "open" | "now" | "list" | "openRecords">>;

type AppendIn = NonNullable<TopicStore["appendIn"]>;

/**
 * Makes the store of durable topics. Nothing is loaded or opened before a method is called.
 *
 * @param location Where it is, or the store itself. By default the environment decides, or it is a
 * file beside the program.
 */
export function openDurableStore(location: StoreLocation | TopicStore | undefined): TopicStore {
  return location && "append" in location ? location : lazyStore(location ?? findLocation());
}

/**
 * The SQL that makes the tables of a store, for a program of migrations.
 *
 * @throws {TypeError} If the store has no tables.
 */
export async function schemaOf(given: StoreLocation | TopicStore | undefined): Promise<string> {
  const location = given ?? findLocation();
  if (location instanceof CannotOpenError) throw location;
  if ("append" in location || !isSql(location)) {
    const cure = 'give topics as "postgres://…" or { sqlite: "…" }';
    throw new TypeError(`Cannot print the schema: the store of topics is no SQL database, ${cure}`);
  }
  const { schemaText } = await load(() => import("./sql/schema.ts"));
  return "postgres" in location ? schemaText("postgres", location.schema) : schemaText("sqlite");
}

/** If the environment has a malformed one, its error is that of every method. */
function findLocation(): StoreLocation | CannotOpenError {
  try {
    return defaultLocation();
  } catch (error) {
    // The mistake is in an environment variable, so the line of the program says nothing.
    return new CannotOpenError(error instanceof Error ? error.message : String(error));
  }
}

function lazyStore(location: StoreLocation | CannotOpenError): TopicStore {
  let loaded: FullStore | undefined;
  const lazy = new Lazy(async () => loaded = await loadStore(location));
  const store = (): Promise<FullStore> => lazy.use();
  return {
    capabilities: capabilitiesOf(location),
    open: async () => "path" in location ? await checkFile(location) : await (await store()).open(),
    now: () => loaded?.now() ?? Date.now(),
    ...((isSql(location) || location instanceof CannotOpenError) && {
      appendIn: (transaction, log, message, ready) => {
        if (loaded) return loaded.appendIn!(transaction, log, message, ready);
        if (!runsInCall(transaction)) return store().then((store) => store.appendIn!(transaction, log, message, ready));
        throw new TypeError(
          `Cannot publish to the topic "${log.name}" in a transaction of a DatabaseSync: the store is not open yet, start the application before, and declare the topic before that`,
        );
      },
    } satisfies { appendIn: AppendIn }),
    bounds: async (log) => (await store()).bounds(log),
    append: async (log, messages, options) => (await store()).append(log, messages, options),
    read: async (log, after, limits) => (await store()).read(log, after, limits),
    seek: async (log, time) => (await store()).seek(log, time),
    watch: (log, onChange) => {
      const end = new AbortController();
      // The caller also reads, and gets an error there.
      store().then((store) => {
        if (end.signal.aborted) return;
        end.signal.addEventListener("abort", store.watch(log, onChange));
      }, () => {});
      return () => end.abort();
    },
    list: async () => (await store()).list(),
    openRecords: async () => (await store()).openRecords(),
    processName: async () => (await store()).processName?.(),
    hasEnded: async (name) => (await store()).hasEnded?.(name),
    // A store that could not be loaded has nothing to close.
    close: async () => (await lazy.made?.catch(() => undefined))?.close(),
  };
}

function capabilitiesOf(location: StoreLocation | CannotOpenError): StoreCapabilities {
  if ("servers" in location) return jetStreamCapabilities(location.replicas);
  return isSql(location) ? SQL_CAPABILITIES : KV_CAPABILITIES;
}

function isSql(location: StoreLocation | CannotOpenError): location is SqlLocation {
  return "postgres" in location || "sqlite" in location;
}

async function loadStore(location: StoreLocation | CannotOpenError): Promise<FullStore> {
  if (location instanceof CannotOpenError) throw location;
  if ("servers" in location) {
    const { openJetStream } = await load(() => import("./jetstream/jetstream_store.ts"));
    return openJetStream(location);
  }
  if (isSql(location)) {
    const { openSqlStore } = await load(() => import("./sql/sql_store.ts"));
    return openSqlStore(location);
  }
  const { openStore } = await load(() => import("./kv/kv_store.ts"));
  return openStore(location);
}

/** Checks that a file can be opened, which is much quicker than to load the store. */
async function checkFile(location: FileLocation): Promise<void> {
  const { checkFile } = await load(() => import("./kv/open_file.ts"));
  await checkFile(location);
}
