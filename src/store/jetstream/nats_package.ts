/** The package `@nats-io/nats-core`, as far as it is used. It is loaded on first use. */
import { load } from "../../base/async_context.ts";
/**
 * The specifier. For a literal in `import()`, Deno would download the package with every
 * application.
 */
export const PACKAGE: string = "npm:@nats-io/nats-core@^3.4.0";
/** The module with the parts that make a connection over a socket of one's own. */
const MODULE: string = `${PACKAGE}/internal`;

/** The headers of a message. */
export interface NatsHeaders {
  /** The status of a reply without data; 0 for none. */
  readonly code: number;
  /** The text of the status. */
  readonly description: string;
  get(name: string): string;
  has(name: string): boolean;
  set(name: string, value: string): void;
}

/** A message that was received. */
export interface NatsMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: NatsHeaders;
}

/** A subscription of messages. */
export interface NatsSubscription {
  unsubscribe(): void;
}

/** A connection, which the package keeps up. */
export interface NatsConnection {
  /** What the server said of itself. */
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

/** How a connection is opened. Times are in milliseconds. */
interface ConnectOptions {
  readonly servers: readonly string[];
  readonly name: string;
  readonly timeout: number;
  readonly pingInterval: number;
  readonly maxPingOut: number;
  readonly maxReconnectAttempts: number;
  readonly reconnectTimeWait: number;
  readonly reconnectJitter: number;
  readonly ignoreClusterUpdates: boolean;
  readonly token?: string;
  readonly user?: string;
  readonly pass?: string;
  readonly authenticator?: unknown;
  readonly tls?: { readonly ca?: string } | null;
}

/** The part of the package that is used. */
export interface NatsPackage {
  readonly NatsConnectionImpl: { connect(options: ConnectOptions): Promise<NatsConnection> };
  /** Sets what makes the sockets of all connections. */
  setTransportFactory(config: { readonly factory: () => object }): void;
  /** Throws if the server has not what the options ask for. */
  checkOptions(info: object, options: object): void;
  headers(): NatsHeaders;
  createInbox(): string;
  /**
   * Makes what answers the challenge of a server; that throws where the credentials are malformed.
   */
  credsAuthenticator(credentials: Uint8Array): (nonce: string) => unknown;
}

/** The package could not be loaded. */
export class NatsMissingError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "NatsMissingError";
}

let loaded: Promise<NatsPackage> | undefined;

/**
 * Loads the package, once.
 *
 * @throws {NatsMissingError} If it cannot be loaded.
 */
export function loadNats(): Promise<NatsPackage> {
  return loaded ??= loadPackage();
}

async function loadPackage(): Promise<NatsPackage> {
  try {
    // deno-lint-ignore webfw/import-direction -- see PACKAGE
    return await load(() => import(MODULE));
  } catch (cause) {
    loaded = undefined;
    throw new NatsMissingError("The NATS client cannot be loaded", { cause });
  }
}
