/**
 * A connection to a database of Deno KV on the network. `npm:@deno/kv` knows the protocol; this
 * module sends its requests, and words errors without tokens and bodies. Source:
 * https://github.com/denoland/denokv/blob/main/proto/kv-connect.md
 */
import type { CannotOpenError } from "../topic_store.ts";
import { cannotOpen } from "../cannot_open.ts";
import { StoreClock } from "../store_connection.ts";
import type { KvEngine, KvEntry, KvKey } from "./engine.ts";
import { INCARNATION_KEY } from "./keys.ts";
import { type NetworkReply, openNpmNetwork, toNpmEngine } from "./npm_client.ts";

const VERSIONS: readonly number[] = [2, 3];
/**
 * The longest lifetime of an access token, in ms. The package knows no dates after the year 9999.
 */
const MAX_LIFETIME = 24 * 3_600_000;

/** How far a `Date` header may be behind, in ms: some servers send one for two seconds. */
const CLOCK_PRECISION = 2_000;

/** The statuses with which a database refuses a token. */
const REFUSALS: readonly number[] = [400, 401, 403];
/** The statuses with which a server that is no database says that it has nothing at the address. */
const ABSENCES: readonly number[] = [404, 405, 410, 501];

const DATABASE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const ABSENCE = "there is no KV Connect at this address, give that of a denokv";
const NO_TLS = "the server does not speak TLS, give its address with http://";
const ONLY_TLS = "the server does not speak HTTP without TLS, give its address with https://";
const TOKEN_CURE = "give the one that it was started with";

interface Metadata {
  readonly version: number;
  readonly databaseId: string;
  readonly endpoints: readonly { readonly url: string; readonly consistency: string }[];
  readonly token: string;
  readonly expiresAt: string;
}

/** A request that fails is not repeated. */
export class NetworkClient implements KvEngine {
  readonly #url: URL;
  readonly #token: string;
  readonly #closing = new AbortController();
  readonly #http: { readonly client?: Deno.HttpClient } = openHttp();
  readonly #clock = new StoreClock(CLOCK_PRECISION);
  #engine: Promise<KvEngine> | undefined;
  #isKnown = false;

  private constructor(url: URL, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /**
   * Connects to a database. The signal closes the connection, also before the first answer.
   *
   * @throws {CannotOpenError} If the database refuses the token, or there is none at the address.
   * @throws {ClientMissingError} If the package cannot be loaded.
   */
  static async open(url: URL, token: string, signal?: AbortSignal): Promise<NetworkClient> {
    signal?.throwIfAborted();
    const client = new NetworkClient(url, token);
    signal?.addEventListener("abort", () => client.close(), { once: true });
    try {
      await client.#use(() => undefined);
    } catch (error) {
      client.close();
      throw error;
    }
    return client;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Messages and ids expire by this time. */
  refreshClock(): Promise<unknown> | undefined {
    return this.#clock.isUncertain ? this.get([INCARNATION_KEY]) : undefined;
  }

  readonly get: KvEngine["get"] = (keys) => this.#use((engine) => engine.get(keys));
  readonly list: KvEngine["list"] = (from, to, limit) => this.#use((engine) => engine.list(from, to, limit));
  readonly read: Required<KvEngine>["read"] = (ranges) => this.#use((engine) => engine.read!(ranges));
  readonly write: KvEngine["write"] = (write) => this.#use((engine) => engine.write(write));

  async *watch(keys: readonly KvKey[]): AsyncGenerator<(KvEntry | undefined)[]> {
    yield* await this.#use((engine) => engine.watch(keys));
  }

  /** The package's `close()` closes nothing, and causes rejections of failed watches. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new Error("The connection was closed"));
    this.#http.client?.close();
  }

  async #use<Result>(action: (engine: KvEngine) => Result | Promise<Result>): Promise<Result> {
    const opening = this.#engine ??= this.#open();
    try {
      return await action(await opening);
    } catch (error) {
      // The access token may have expired, or the database have moved: the next request exchanges
      // the token.
      if (this.#engine === opening) this.#engine = undefined;
      throw error;
    }
  }

  async #open(): Promise<KvEngine> {
    const { href } = this.#url;
    const kv = await openNpmNetwork(href, {
      accessToken: this.#token,
      supportedVersions: VERSIONS,
      maxRetries: 0,
      fetcher: (address, init) => address === href ? this.#exchange(init) : this.#send(address, init),
    });
    return toNpmEngine(kv, () => this.now() + CLOCK_PRECISION);
  }

  /** Called at the start, and before the access token expires. */
  async #exchange(init: RequestInit): Promise<NetworkReply> {
    try {
      new Headers(init.headers);
    } catch {
      throw this.#cannotOpen(`the token cannot be sent, ${TOKEN_CURE}`);
    }
    const begin = performance.now();
    const response = await this.#fetch(this.#url.href, init);
    this.#clock.note(response.headers.get("date"), begin);
    if (REFUSALS.includes(response.status)) throw this.#cannotOpen(`it refuses the token, ${TOKEN_CURE}`);
    if (ABSENCES.includes(response.status)) throw this.#cannotOpen(ABSENCE);
    if (!response.ok) throw statusError(response);
    const text = await response.text();
    try {
      const metadata = this.#toMetadata(JSON.parse(text), response.url);
      this.#isKnown = true;
      return toReply("application/json", { url: response.url, json: () => Promise.resolve(metadata) });
    } catch {
      // The error may have an address or a token. A database that was open before may be behind a
      // proxy, which answers with a page.
      throw this.#isKnown
        ? new Error("The database does not describe itself in a way that can be used")
        : this.#cannotOpen(ABSENCE);
    }
  }

  /** The package would put a wrong description, with its token, into an error. */
  #toMetadata({ version, databaseId, endpoints, token, expiresAt }: Metadata, base: string): Metadata {
    const endpoint = endpoints.find(({ consistency }) => consistency === "strong")!;
    const { origin, pathname } = new URL(endpoint.url, base);
    const url = origin + pathname.replace(/\/+$/, "");
    new Headers({ authorization: `Bearer ${token}` });
    const hasToken = typeof token === "string" && token !== "";
    if (!hasToken || !VERSIONS.includes(version) || !DATABASE_ID.test(databaseId) || !/^https?:/.test(url)) {
      throw new TypeError("The description is wrong");
    }
    // The package renews the access token 5 minutes before its end by this machine's clock, which
    // may be wrong.
    const lifetime = Math.min(Date.parse(expiresAt) - this.now(), MAX_LIFETIME);
    return {
      version,
      databaseId,
      endpoints: [{ url, consistency: "strong" }],
      token,
      expiresAt: new Date(Date.now() + lifetime).toISOString(),
    };
  }

  async #send(address: string, init: RequestInit): Promise<NetworkReply> {
    const begin = performance.now();
    const response = await this.#fetch(address, init);
    if (this.#clock.isDue) this.#clock.note(response.headers.get("date"), begin);
    // The package would put the body into the message of an error.
    if (!response.ok) throw statusError(response);
    if (!address.endsWith("/watch")) {
      return toReply("application/x-protobuf", { arrayBuffer: () => response.arrayBuffer() });
    }
    // Aborting a request does not reliably end the body of its response.
    const { signal } = this.#closing;
    return toReply("application/octet-stream", { body: response.body!.pipeThrough(failingAtEnd(), { signal }) });
  }

  /** The response has a body only if its status is that of a success. */
  async #fetch(address: string, init: RequestInit): Promise<Response> {
    try {
      const response = await fetch(address, { ...init, ...this.#http, signal: this.#closing.signal });
      if (!response.ok) await response.body?.cancel();
      return response;
    } catch (error) {
      if (!isFetchFailure(error)) throw error;
      const { message } = error.cause;
      // The error of TLS for an answer in plain text.
      if (message.includes("InvalidContentType")) throw this.#cannotOpen(NO_TLS);
      // The error of HTTP for the alert by which TLS refuses plain text.
      if (message.endsWith("invalid HTTP version parsed")) throw this.#cannotOpen(ONLY_TLS);
      throw new Error(withoutAddress(message));
    }
  }

  #cannotOpen(reason: string): CannotOpenError {
    const { origin, pathname } = this.#url;
    return cannotOpen(origin + pathname, reason);
  }
}

/**
 * A client for `fetch` that shares no connection with others: a dead connection is closed with it.
 *
 * It speaks HTTP/1.1. Over TLS, Deno's `fetch` prefers HTTP/2, where a body above about 1 KB waits
 * 40 ms for a delayed acknowledgement of its headers.
 */
function openHttp(): { client?: Deno.HttpClient } {
  try {
    return { client: Deno.createHttpClient({ http2: false }) };
  } catch {
    // Some platforms have one client for all.
    return {};
  }
}

/** The package refuses other content types, such as those with a charset. */
function toReply(contentType: string, parts: Partial<NetworkReply>): NetworkReply {
  return { status: 200, url: "", headers: { get: () => contentType }, ...parts };
}

/** Fails at the end: there the package would wait for up to a minute, and watch again. */
function failingAtEnd(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  return new TransformStream({
    flush: () => {
      throw new Error("The database has ended the watch");
    },
  });
}

function statusError({ status }: Response): Error {
  return new Error(`The database answered with the status ${status}`);
}

/** The cause is the reason: DNS, connection or certificate. */
function isFetchFailure(error: unknown): error is TypeError & { readonly cause: Error } {
  return error instanceof TypeError && error.cause instanceof Error;
}

/** The query of the address may be a secret. It ends at the first "): ". */
function withoutAddress(message: string): string {
  const end = message.indexOf("): ");
  return end < 0 ? "error sending request" : `error sending request: ${message.slice(end + 3)}`;
}
