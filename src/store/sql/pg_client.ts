/** The used parts of the package `pg`, and one connection by it. */
import { Lazy, load } from "../../base/async_context.ts";
import type { Row } from "./engine.ts";

/** Exact, since internal parts are used. Deno would download a literal with every application. */
export const PACKAGE: string = "npm:pg@8.23.1";

interface PgQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  /** The connection keeps a statement with a name, and its plan. */
  readonly name?: string;
}

export interface PgResult {
  readonly rows: readonly Row[];
  /** Such as `COMMIT`. */
  readonly command: string;
}

export interface PgClient {
  binary: boolean;
  readonly connectionParameters: { options: string | undefined; replication: string | undefined };
  /** Its stream is another one after the handshake of TLS. */
  readonly connection: { readonly stream: { destroy(): void } };
  connect(): Promise<unknown>;
  query(query: PgQuery | string): Promise<PgResult>;
  /** Never resolves beside a server that does not answer. */
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "notification", listener: (notification: { readonly payload?: string }) => void): unknown;
  /** Follows each end of the connection. */
  on(event: "end", listener: () => void): unknown;
}

interface PgPackage {
  readonly Client: new (config: object) => PgClient;
}

export class PgMissingError extends Error {
  override readonly name = "PgMissingError";
}

/** Throws a {@linkcode PgMissingError} if the package cannot be loaded. */
export const pgPackage: Lazy<PgPackage> = new Lazy(async () => {
  try {
    // deno-lint-ignore webfw/import-direction -- see PACKAGE
    return await load(() => import(PACKAGE));
  } catch (cause) {
    throw new PgMissingError("The client of PostgreSQL cannot be loaded", { cause });
  }
});

export interface PgConfig {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Called if the server requires a password. */
  readonly password: () => Promise<string>;
  readonly ssl: false | { readonly rejectUnauthorized: boolean; readonly ca?: string };
  /** Parameters of the session. A pooler refuses them: there the database's own apply. */
  readonly settings: Readonly<Record<string, string>> | undefined;
}

/** In milliseconds. */
const CONNECT_TIMEOUT = 2_500;
/** How long a connection has for its goodbye, in milliseconds. */
const END_TIMEOUT = 500;

/** One connection. Its owner must end it, also after errors. */
export class PgConnection {
  readonly #client: PgClient;
  readonly #ended = Promise.withResolvers<void>();
  #isEnded = false;
  #isNamed: boolean;
  #names = new Map<string, string>();

  private constructor(client: PgClient, isNamed: boolean) {
    this.#client = client;
    this.#isNamed = isNamed;
    // Without a listener, the loss of the connection would end the process.
    client.on("error", () => {});
    client.on("end", () => {
      this.#isEnded = true;
      this.#ended.resolve();
    });
  }

  /** The signal abandons it. */
  static async open({ Client }: PgPackage, config: PgConfig, signal: AbortSignal): Promise<PgConnection> {
    signal.throwIfAborted();
    const { settings, ...server } = config;
    const client = new Client({
      ...server,
      application_name: `webfw ${Deno.pid}`,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      // The package looks for what is not given in the environment, for which the program may have
      // no permission.
      client_encoding: "utf8",
      sslnegotiation: "postgres",
      options: settings ? toOptions(settings) : " ",
      binary: true,
      replication: "none",
    });
    client.binary = false;
    client.connectionParameters.replication = undefined;
    if (!settings) client.connectionParameters.options = undefined;
    const connection = new PgConnection(client, settings !== undefined);
    const abandon = () => connection.destroy();
    signal.addEventListener("abort", abandon);
    try {
      await client.connect();
      signal.throwIfAborted();
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      signal.removeEventListener("abort", abandon);
    }
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Resolves when the connection has ended, for whichever reason. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  onNotification(listener: (payload: string) => void): void {
    this.#client.on("notification", ({ payload }) => listener(payload ?? ""));
  }

  query(text: string, values: readonly unknown[] = []): Promise<PgResult> {
    if (values.length === 0) return this.#client.query(text);
    return this.#client.query(this.#isNamed ? { text, values, name: this.#nameOf(text) } : { text, values });
  }

  /** Says goodbye to the server, and ends the connection soon, also without an answer. */
  end(): void {
    if (this.#isEnded) return;
    const timer = setTimeout(() => this.destroy(), END_TIMEOUT);
    this.#ended.promise.then(() => clearTimeout(timer));
    this.#client.end().catch(() => {});
  }

  /** Ends the connection at once. The server may still carry out a request. */
  destroy(): void {
    this.#client.connection.stream.destroy();
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) this.#names.set(text, name = `webfw${this.#names.size + 1}`);
    return name;
  }
}

function toOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`).join(" ");
}
