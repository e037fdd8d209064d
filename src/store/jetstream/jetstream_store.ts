/** Topics in NATS JetStream: one server, or several that each store all messages. */
import { cannotOpen, hostOf, missingPermissions, packageMissing, permissionsReason } from "../cannot_open.ts";
import { jetStreamCapabilities, type JetStreamLocation } from "../location.ts";
import type { CannotOpenError, StoreCapabilities, TopicStore } from "../topic_store.ts";
import { StoreClock, StoreConnection } from "../store_connection.ts";
import { JetStreamRecords } from "./jetstream_records.ts";
import { LogStreams } from "./log_streams.ts";
import {
  isRefusal,
  NatsClient,
  type NatsConnection,
  NatsMissingError,
  type NatsPackage,
  natsPackage,
  PACKAGE,
} from "./nats_client.ts";
import { NatsTransport, UnsuitableServerError } from "./nats_transport.ts";
import { StreamAppender } from "./stream_appender.ts";
import { StreamReader, StreamWatcher } from "./stream_reader.ts";

/** Requests have timeouts of their own, after which the connection is still good. */
const NO_TIMEOUT = 2 ** 31 - 1;

export interface JetStreamStoreOptions {
  readonly name: string;
  readonly prefix: string;
  readonly replicas: number;
  readonly open: () => Promise<NatsClient>;
}

type Store = Required<Omit<TopicStore, "appendIn">>;

export class JetStreamStore implements TopicStore {
  readonly capabilities: StoreCapabilities;
  readonly now: Store["now"];
  readonly #connection: StoreConnection<NatsClient>;
  #client: Promise<NatsClient> | undefined;
  readonly #closing = new AbortController();
  readonly #streams: LogStreams;
  readonly #appender: StreamAppender;
  readonly #reader: StreamReader;
  readonly #watcher: StreamWatcher;
  readonly #records: JetStreamRecords;

  constructor({ name, prefix, replicas, open }: JetStreamStoreOptions) {
    this.capabilities = jetStreamCapabilities(replicas);
    const connection = this.#connection = new StoreConnection<NatsClient>({
      name,
      open: () => this.#client = this.#open(open),
      probe: (client) => client.call("INFO"),
      requestTimeout: NO_TIMEOUT,
    });
    const { signal } = this.#closing;
    this.now = () => connection.now();
    this.#streams = new LogStreams(connection, { prefix, replicas });
    this.#appender = new StreamAppender(this.#streams);
    this.#reader = new StreamReader(this.#streams, signal);
    this.#watcher = new StreamWatcher(this.#streams, signal);
    this.#records = new JetStreamRecords(connection, { prefix, replicas });
  }

  readonly open: Store["open"] = () => this.#connection.open();
  readonly bounds: Store["bounds"] = (log) => this.#reader.bounds(log);
  readonly append: Store["append"] = (log, messages, options) => this.#appender.append(log, messages, options);
  readonly read: Store["read"] = (log, after, limits) => this.#reader.read(log, after, limits);
  readonly seek: Store["seek"] = (log, time) => this.#reader.seek(log, time);
  readonly watch: Store["watch"] = (log, onChange) => this.#watcher.watch(log, onChange);
  readonly list: Store["list"] = () => this.#streams.list();
  readonly openRecords: Store["openRecords"] = async () => this.#records;

  async #open(open: () => Promise<NatsClient>): Promise<NatsClient> {
    const client = await open();
    client.onClosed(() => {
      if (!this.#closing.signal.aborted) this.#connection.reopen();
    });
    return client;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#watcher.close(), this.#connection.close()]);
    const client = await this.#client?.catch(() => undefined);
    await client?.closed();
  }
}

/** The time to connect to one server, in milliseconds. */
const CONNECT_TIMEOUT = 2_000;
/** In milliseconds. After two pings without an answer, the connection is closed. */
const PING_INTERVAL = 2_000;
/** Between two attempts to connect again, in milliseconds. */
const RECONNECT_PAUSE = 100;
/** The first version that reads several messages in one request, and expires single ones. */
const OLDEST_VERSION: readonly [major: number, minor: number] = [2, 11];

/** The least `max_payload` of a server: the largest data, and headers with an id and a type. */
const LEAST_PAYLOAD = 72 * 1024;

export function openJetStream(location: JetStreamLocation): JetStreamStore {
  const name = location.servers.map(({ host }) => host).join(",");
  const { prefix, replicas } = location;
  const clock = new StoreClock();
  return new JetStreamStore({ name, prefix, replicas, open: () => openClient(location, name, clock) });
}

async function openClient(location: JetStreamLocation, name: string, clock: StoreClock): Promise<NatsClient> {
  const missing = await missingPermissions(location.servers.map((url) => ({ name: "net", host: hostOf(url) })));
  if (missing.length > 0) throw cannotOpen(name, permissionsReason(missing));
  const nats = await natsPackage.use().catch((error) => {
    throw error instanceof NatsMissingError ? packageMissing(name, "the client of NATS", error, PACKAGE) : error;
  });
  checkCredentials(nats, location, name);
  let connection: NatsConnection;
  try {
    connection = await connect(nats, location);
  } catch (error) {
    throw toFinal(error, name) ?? error;
  }
  const client = new NatsClient(nats, connection, { name, prefix: location.prefix, clock });
  try {
    await check(client, connection, location, name);
    return client;
  } catch (error) {
    await client.closed();
    throw error;
  }
}

/** An error while the package connects would look like an outage. */
function checkCredentials(nats: NatsPackage, { credentials }: JetStreamLocation, name: string): void {
  if (credentials === undefined) return;
  try {
    nats.credsAuthenticator(encode(credentials))("nonce");
  } catch {
    throw cannotOpen(name, "the credentials cannot be read, give the text of a file of credentials that nsc has made");
  }
}

async function connect(nats: NatsPackage, location: JetStreamLocation): Promise<NatsConnection> {
  const { servers, token, user, password, credentials, tls } = location;
  const isSecure = tls !== undefined || servers.some(({ protocol }) => protocol === "tls:");
  nats.setTransportFactory({ factory: () => new NatsTransport(nats) });
  return await nats.NatsConnectionImpl.connect({
    servers: servers.map(({ host }) => host),
    name: "webfw",
    timeout: CONNECT_TIMEOUT,
    pingInterval: PING_INTERVAL,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_PAUSE,
    reconnectJitter: RECONNECT_PAUSE,
    // The program may have no permission for other servers.
    ignoreClusterUpdates: true,
    ...(token !== undefined && { token }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: password }),
    ...(credentials !== undefined && { authenticator: nats.credsAuthenticator(encode(credentials)) }),
    ...(isSecure && { tls: tls ?? {} }),
  });
}

async function check(client: NatsClient, { info }: NatsConnection, location: JetStreamLocation, name: string) {
  const version = info?.version ?? "";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor < OLDEST_VERSION[1])) {
    throw cannotOpen(name, `the server has version ${version}, use ${OLDEST_VERSION.join(".")} or later`);
  }
  if (location.replicas > 1 && info?.cluster === undefined) {
    throw cannotOpen(name, `the server is in no cluster, so there are no replicas, give topics with replicas: 1`);
  }
  const payload = info?.max_payload ?? LEAST_PAYLOAD;
  if (payload < LEAST_PAYLOAD) {
    throw cannotOpen(name, `the server takes only ${payload} bytes at once, set its max_payload to 1MB`);
  }
  try {
    await client.call("INFO");
  } catch (error) {
    throw toFinal(error, name) ?? error;
  }
}

/** The error of servers that refuse the client, or have no JetStream; undefined for an outage. */
function toFinal(error: unknown, name: string): CannotOpenError | undefined {
  if (!(error instanceof Error)) return undefined;
  for (const each of [error, error.cause]) {
    if (each instanceof UnsuitableServerError) return cannotOpen(name, each.message);
    const kind = each instanceof Error ? each.name : "";
    if (kind === "AuthorizationError" || kind === "UserAuthenticationExpiredError") {
      return cannotOpen(
        name,
        "the server refuses the client, give topics with its token, user and password, or credentials",
      );
    }
    if (kind === "NoResponders" || isRefusal(each, "notEnabled") || isRefusal(each, "notEnabledForAccount")) {
      return cannotOpen(
        name,
        "the server has no JetStream, start it with -js or a jetstream block in its configuration",
      );
    }
  }
  return undefined;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
