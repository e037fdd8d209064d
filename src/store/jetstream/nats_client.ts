/** A connection to NATS servers, and the used parts of the package `@nats-io/nats-core`. */
import { Lazy, load } from "../../base/async_context.ts";
import type { StoreClock, StoreEngine } from "../store_connection.ts";
import { UnsuitableStoreError } from "../topic_store.ts";

/** In milliseconds. A request is lost with its server. */
const REPLY_TIMEOUT = 2_500;

/** Codes of JetStream's errors. Source: the file `server/errors.json` of the server. */
export const ERROR_CODES = {
  /** Fewer servers are there than a stream needs. */
  noPeers: 10005,
  messageNotFound: 10037,
  notEnabledForAccount: 10039,
  storageExceeded: 10047,
  invalidConfiguration: 10052,
  nameInUse: 10058,
  streamNotFound: 10059,
  wrongLastSequence: 10071,
  /** The same of several servers, which also refuse while another write is in progress. */
  wrongLastSequenceOfSeveral: 10164,
  replicasNotSupported: 10074,
  notEnabled: 10076,
  batchHasDuplicate: 10201,
} as const;

/** Statuses of replies that end a read of several messages. */
const [END_OF_BATCH, NOTHING_FOUND] = [204, 404];

export class JetStreamError extends Error {
  override readonly name = "JetStreamError";
  readonly code: number;
  /** As in HTTP: 400 for a fault of the request. */
  readonly status: number;

  constructor(code: number, status: number, description: string) {
    super(description);
    this.code = code;
    this.status = status;
  }
}

/** Whether a request was refused, so that it had no effect. */
export function isRefused(error: unknown): boolean {
  return error instanceof JetStreamError || error instanceof UnsuitableStoreError;
}

export function isRefusal(error: unknown, reason: keyof typeof ERROR_CODES): boolean {
  return error instanceof JetStreamError && error.code === ERROR_CODES[reason];
}

/** The reply; undefined if the request is refused for a reason. */
export async function unlessRefused<Reply>(
  reply: Promise<Reply>,
  reason: keyof typeof ERROR_CODES,
): Promise<Reply | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (isRefusal(error, reason)) return undefined;
    throw error;
  }
}

export interface Acknowledgement {
  readonly seq: number;
  /** Whether its id was known: then `seq` is that of the first message. */
  readonly duplicate?: boolean;
}

interface Failure {
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description: string };
}

export interface NatsServers {
  readonly name: string;
  readonly prefix: string;
  readonly clock: StoreClock;
}

/** The package reconnects by itself, to whichever server it reaches. */
export class NatsClient implements StoreEngine {
  readonly #nats: NatsPackage;
  readonly #connection: NatsConnection;
  readonly #clock: StoreClock;
  /** The reads in progress, by the last part of the subject of their replies. */
  readonly #reads = new Map<string, (error: Error | null, message: NatsMessage | undefined) => void>();
  /** End the waits for subscriptions to reach the server. */
  readonly #flushes = new Set<(error: Error) => void>();
  readonly #inbox: string;
  readonly #servers: NatsServers;
  #lastRead = 0;
  #timeRequest: string | undefined;
  #closed: Promise<void> | undefined;

  constructor(nats: NatsPackage, connection: NatsConnection, servers: NatsServers) {
    this.#nats = nats;
    this.#servers = servers;
    this.#clock = servers.clock;
    this.#connection = connection;
    this.#inbox = nats.createInbox();
    connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        // Without a permission to subscribe there is no message, and no read ever has an answer.
        if (error) { for (const end of [...this.#reads.values()]) end(this.#explain(error), undefined); }
        else this.#reads.get(message.subject.slice(this.#inbox.length + 1))?.(null, message);
      },
    });
  }

  now(): number {
    return this.#clock.now();
  }

  /** Crons run and records expire by this time. */
  refreshClock(): Promise<unknown> | undefined {
    if (!this.#clock.isUncertain || this.#timeRequest === undefined) return undefined;
    return unlessRefused(this.call(this.#timeRequest), "streamNotFound").then((reply) => {
      if (reply === undefined) this.#timeRequest = undefined;
    });
  }

  /** Whether the package has stopped reconnecting: it does so when it is refused twice in a row. */
  get isClosed(): boolean {
    return this.#connection.isClosed();
  }

  onClosed(callback: () => void): void {
    this.#connection.closed().then(callback);
  }

  headers(): NatsHeaders {
    return this.#nats.headers();
  }

  /**
   * @param method Follows `$JS.API.` in the subject.
   * @throws {JetStreamError} If it is refused.
   * @throws {UnsuitableStoreError} If the client has no permission.
   */
  async call<Reply>(method: string, body: object = {}): Promise<Reply> {
    const begin = performance.now();
    const { data } = await this.#request(`$JS.API.${method}`, JSON.stringify(body));
    const reply = parse<Reply & Failure & { readonly ts?: string }>(data);
    throwFailure(reply);
    if (reply.ts !== undefined) {
      this.#clock.note(reply.ts, begin);
      // It is about a stream, whose name is the last part.
      this.#timeRequest = `STREAM.INFO.${method.slice(method.lastIndexOf(".") + 1)}`;
    }
    return reply;
  }

  publish(subject: string, data: string, headers: NatsHeaders): void {
    this.#connection.publish(subject, data, { headers });
  }

  /**
   * Stores a message, or the batch that it ends. If it throws as `call` does, nothing is stored.
   */
  async store(subject: string, data: string, headers: NatsHeaders): Promise<Acknowledgement> {
    const reply = await this.#request(subject, data, headers);
    const acknowledgement = parse<Acknowledgement & Failure>(reply.data);
    throwFailure(acknowledgement);
    return acknowledgement;
  }

  /** Any replica answers. There are gaps where replies were lost. */
  read(stream: string, query: object): Promise<NatsMessage[]> {
    const { promise, resolve, reject } = Promise.withResolvers<NatsMessage[]>();
    const found: NatsMessage[] = [];
    const number = `${++this.#lastRead}`;
    const end = (error?: Error): void => {
      clearTimeout(timer);
      this.#reads.delete(number);
      if (error) reject(error);
      else resolve(found);
    };
    const timer = setTimeout(() => end(new Error(`No answer within ${REPLY_TIMEOUT} ms`)), REPLY_TIMEOUT);
    this.#reads.set(number, (error, message) => {
      if (error || !message) return end(error ?? undefined);
      const code = message.headers?.code ?? 0;
      if (code === END_OF_BATCH || code === NOTHING_FOUND) end();
      else if (code !== 0) end(new Error(`${code} ${message.headers!.description}`));
      else found.push(message);
    });
    this.#connection.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(query), {
      reply: `${this.#inbox}.${number}`,
    });
    return promise;
  }

  async subscribe(subject: string, onMessage: () => void): Promise<NatsSubscription> {
    const subscription = this.#connection.subscribe(subject, { callback: onMessage });
    // The package does not end this if it stops reconnecting meanwhile.
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`No answer within ${REPLY_TIMEOUT} ms`)), REPLY_TIMEOUT);
    this.#flushes.add(reject);
    const flushed = this.#connection.flush();
    try {
      // From here on, the server knows of it.
      await Promise.race([flushed, late]);
      return subscription;
    } catch (error) {
      flushed.catch(() => {});
      // Otherwise it would be subscribed again with the next connection.
      subscription.unsubscribe();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#flushes.delete(reject);
    }
  }

  async #request(subject: string, data: string, headers?: NatsHeaders): Promise<NatsMessage> {
    const options = { timeout: REPLY_TIMEOUT, ...(headers && { headers }) };
    try {
      return await this.#connection.request(subject, data, options);
    } catch (error) {
      throw this.#explain(error as Error);
    }
  }

  #explain(error: Error): Error {
    const cause = error.cause instanceof Error ? error.cause : error;
    if (cause.name !== "PermissionViolationError") return error;
    const { name, prefix } = this.#servers;
    return new UnsuitableStoreError(
      `Cannot use the store of topics "${name}": the server forbids it (${cause.message}), let its user publish to ` +
        `$JS.API.>, $KV.${prefix}-records.> and ${prefix}.log.>, and subscribe to _INBOX.> and ${prefix}.stored.>`,
    );
  }

  close(): void {
    this.#closed ??= this.#connection.close();
    const error = new Error("The connection was closed");
    // The package ends only requests of its own.
    for (const end of [...this.#reads.values()]) end(error, undefined);
    for (const reject of this.#flushes) reject(error);
  }

  async closed(): Promise<void> {
    this.close();
    await this.#closed;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export function textOf(data: Uint8Array): string {
  return decoder.decode(data);
}

function parse<Value>(data: Uint8Array): Value {
  return JSON.parse(textOf(data)) as Value;
}

function throwFailure({ error }: Failure): void {
  if (error) throw new JetStreamError(error.err_code ?? error.code, error.code, error.description);
}

/** Exact, since internal parts are used. Deno would download a literal with every application. */
export const PACKAGE: string = "npm:@nats-io/nats-core@3.4.0";
/** It has the parts for a connection over a custom socket. */
const MODULE: string = `${PACKAGE}/internal`;

export interface NatsHeaders {
  /** The status of a reply without data; else 0. */
  readonly code: number;
  readonly description: string;
  get(name: string): string;
  has(name: string): boolean;
  set(name: string, value: string): void;
}

export interface NatsMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: NatsHeaders;
}

export interface NatsSubscription {
  unsubscribe(): void;
}

/** The package reconnects it. */
export interface NatsConnection {
  readonly info?: { readonly version: string; readonly cluster?: string; readonly max_payload?: number };
  publish(subject: string, data: Uint8Array | string, options?: { headers?: NatsHeaders; reply?: string }): void;
  request(
    subject: string,
    data: Uint8Array | string,
    options: { timeout: number; headers?: NatsHeaders },
  ): Promise<NatsMessage>;
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription;
  flush(): Promise<void>;
  isClosed(): boolean;
  /** Resolves when the connection is closed, also by the package itself. */
  closed(): Promise<unknown>;
  close(): Promise<void>;
}

export interface NatsPackage {
  readonly NatsConnectionImpl: { connect(options: object): Promise<NatsConnection> };
  setTransportFactory(config: { readonly factory: () => object }): void;
  /** Throws if the options do not fit the server. */
  checkOptions(info: object, options: object): void;
  headers(): NatsHeaders;
  createInbox(): string;
  /** Answers the challenge of a server. The answer throws if the credentials are malformed. */
  credsAuthenticator(credentials: Uint8Array): (nonce: string) => unknown;
}

export class NatsMissingError extends Error {
  override readonly name = "NatsMissingError";
}

/** Throws a {@linkcode NatsMissingError} if the package cannot be loaded. */
export const natsPackage: Lazy<NatsPackage> = new Lazy(async () => {
  try {
    // deno-lint-ignore webfw/import-direction -- see PACKAGE
    return await load(() => import(MODULE));
  } catch (cause) {
    throw new NatsMissingError("The NATS client cannot be loaded", { cause });
  }
});
