/** A connection to NATS servers: requests to JetStream, and messages that the servers send. */
import type { StoreEngine } from "../store_connection.ts";
import { ServerClock } from "./server_clock.ts";
import type { NatsConnection, NatsHeaders, NatsMessage, NatsPackage, NatsSubscription } from "./nats_package.ts";

/** How long a reply is waited for, in milliseconds. Requests are lost with a server. */
const REPLY_TIMEOUT = 2_500;

/** Codes of JetStream's errors. Source: the file `server/errors.json` of the server. */
export const ERROR_CODES = {
  messageNotFound: 10037,
  storageExceeded: 10047,
  nameInUse: 10058,
  streamNotFound: 10059,
  wrongLastSequence: 10071,
  /** The same of several servers, which also refuse while another write is on its way. */
  wrongLastSequenceOfSeveral: 10164,
  replicasNotSupported: 10074,
  batchHasDuplicate: 10201,
} as const;

/** Statuses of replies that end a read of several messages. */
const [END_OF_BATCH, NOTHING_FOUND] = [204, 404];

/** JetStream has refused a request. */
export class JetStreamError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "JetStreamError";
  /** One of {@linkcode ERROR_CODES}, or another one. */
  readonly code: number;

  /**
   * Makes the error of a reply.
   *
   * @param code The code of JetStream.
   * @param description What the server says.
   */
  constructor(code: number, description: string) {
    super(description);
    this.code = code;
  }
}

/** Whether JetStream has refused a request for a reason. */
export function isRefusal(error: unknown, reason: keyof typeof ERROR_CODES): boolean {
  return error instanceof JetStreamError && error.code === ERROR_CODES[reason];
}

/** What JetStream says of a message that it has taken. */
export interface Acknowledgement {
  /** Its sequence number in the stream. */
  readonly seq: number;
  /** Whether its id was known: then the number is that of the first one. */
  readonly duplicate?: boolean;
}

interface Failure {
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description: string };
}

/** A connection. The package connects again by itself, to whichever server it reaches. */
export class NatsClient implements StoreEngine {
  readonly #nats: NatsPackage;
  readonly #connection: NatsConnection;
  readonly #clock = new ServerClock();
  /** Reads of several messages in progress, by the last part of the subject of their replies. */
  readonly #reads = new Map<string, (error: Error | null, message: NatsMessage) => void>();
  readonly #inbox: string;
  #lastRead = 0;
  #closed: Promise<void> | undefined;

  /** Takes over an open connection. */
  constructor(nats: NatsPackage, connection: NatsConnection) {
    this.#nats = nats;
    this.#connection = connection;
    this.#inbox = nats.createInbox();
    connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => this.#reads.get(message.subject.slice(this.#inbox.length + 1))?.(error, message),
    });
  }

  /** The time of the servers in milliseconds since 1970. */
  now(): number {
    return this.#clock.now();
  }

  /** Whether the package has given up: it does so when it is refused twice in a row. */
  get isClosed(): boolean {
    return this.#connection.isClosed();
  }

  /** Calls back when the connection is closed. */
  onClosed(callback: () => void): void {
    this.#connection.closed().then(callback);
  }

  /** Empty headers. */
  headers(): NatsHeaders {
    return this.#nats.headers();
  }

  /**
   * Calls JetStream.
   *
   * @param method What comes after `$JS.API.` in the subject.
   * @param body The request.
   * @throws {JetStreamError} If it is refused.
   */
  async call<Reply>(method: string, body: object = {}): Promise<Reply> {
    const begin = performance.now();
    const { data } = await this.#connection.request(`$JS.API.${method}`, JSON.stringify(body), {
      timeout: REPLY_TIMEOUT,
    });
    const reply = parse<Reply & Failure & { readonly ts?: string }>(data);
    throwFailure(reply);
    if (reply.ts !== undefined) this.#clock.note(reply.ts, begin);
    return reply;
  }

  /** Sends a message that needs no answer. */
  publish(subject: string, data: string, headers: NatsHeaders): void {
    this.#connection.publish(subject, data, { headers });
  }

  /**
   * Has a stream store a message, or the batch that this message ends.
   *
   * @throws {JetStreamError} If it is refused: then it is not stored.
   */
  async store(subject: string, data: string, headers: NatsHeaders): Promise<Acknowledgement> {
    const reply = await this.#connection.request(subject, data, { headers, timeout: REPLY_TIMEOUT });
    const acknowledgement = parse<Acknowledgement & Failure>(reply.data);
    throwFailure(acknowledgement);
    return acknowledgement;
  }

  /**
   * Reads several messages of a stream in one request, from whichever server has them. The list may
   * have holes where replies were lost.
   */
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
      const code = message.headers?.code ?? 0;
      if (error) end(error);
      else if (code === END_OF_BATCH || code === NOTHING_FOUND) end();
      else if (code !== 0) end(new Error(`${code} ${message.headers!.description}`));
      else found.push(message);
    });
    this.#connection.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(query), {
      reply: `${this.#inbox}.${number}`,
    });
    return promise;
  }

  /** Calls back for each message of a subject. */
  async subscribe(subject: string, onMessage: () => void): Promise<NatsSubscription> {
    const subscription = this.#connection.subscribe(subject, { callback: onMessage });
    // From here on, the server knows of it.
    await this.#connection.flush();
    return subscription;
  }

  /** Ends the connection; requests in progress fail. */
  close(): void {
    this.#closed ??= this.#connection.close();
  }

  /** Resolves when the connection is closed. */
  async closed(): Promise<void> {
    this.close();
    await this.#closed;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of a message. */
export function textOf(data: Uint8Array): string {
  return decoder.decode(data);
}

function parse<Value>(data: Uint8Array): Value {
  return JSON.parse(textOf(data)) as Value;
}

function throwFailure({ error }: Failure): void {
  if (error) throw new JetStreamError(error.err_code ?? error.code, error.description);
}
