/**
 * A client of databases of Deno KV on the network, which speak KV Connect
 * (https://github.com/denoland/denokv/blob/main/proto/kv-connect.md).
 *
 * The clients that there are do not do: Deno's own takes more than 40 ms for a write of more than 1 KB, since the body waits for the
 * acknowledgement of the head, and what was given up goes on being tried for as long as the process lives; that of npm needs half as
 * long again as the database for a write, and 12 MB.
 */
import { CannotOpenError } from "../topic_errors.ts";
import {
  decodeReadAnswer,
  decodeWatchAnswer,
  decodeWriteAnswer,
  encodeRead,
  encodeWatch,
  encodeWrite,
  type ReadRange,
  toRange,
} from "./connect_messages.ts";
import { CLOCK_PRECISION, DatabaseClock } from "./database_clock.ts";
import type { KvEngine, KvEntry, KvKey, KvWrite } from "./engine.ts";
import { packKey } from "./packed_key.ts";

/** How long before the end of its time an access is exchanged for a new one, in milliseconds. */
const RENEWAL = 5 * 60_000;

/** How a database says that it does not let the token in. */
const REFUSALS: readonly number[] = [400, 401, 403];
/** How a server says that there is nothing of the kind at the address. */
const ABSENCES: readonly number[] = [404, 405, 410, 501];

const ABSENCE = "there is no KV Connect at this address, give that of a denokv";
const NO_TLS = "the server does not speak TLS, give its address with http://";
const ONLY_TLS = "the server does not speak HTTP without TLS, give its address with https://";
const TOKEN_CURE = "give the one that it was started with";

/** What it is asked for. */
type Action = "snapshot_read" | "atomic_write" | "watch";

/** What the database has told of itself in exchange for the token. */
interface Access {
  /** The requests without their bodies: what they have in common is checked once. */
  readonly requests: Readonly<Record<Action, Request>>;
  /** In milliseconds since 1970, by the clock of the database. */
  readonly expiresAt: number;
}

/** The part of a database's description that is used. */
interface Metadata {
  readonly version: number;
  readonly databaseId: string;
  readonly endpoints: readonly { readonly url: string; readonly consistency: string }[];
  readonly token: string;
  readonly expiresAt: string;
}

/** A connection to a database: whatever fails is not tried again. */
export class ConnectClient implements KvEngine {
  readonly #url: URL;
  readonly #token: string;
  readonly #closing = new AbortController();
  readonly #http: { readonly client?: Deno.HttpClient } = openHttp();
  readonly #clock = new DatabaseClock();
  #access: Access | undefined;
  #hasOpened = false;
  /** Is on its way. */
  #renewal: Promise<Access> | undefined;

  private constructor(url: URL, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /**
   * Connects to a database.
   *
   * @param url Its address.
   * @param token What it lets in.
   * @param signal Closes it, also while it waits for the first answer.
   * @throws {CannotOpenError} When it does not let this token in, or there is none at the address.
   */
  static async open(url: URL, token: string, signal?: AbortSignal): Promise<ConnectClient> {
    signal?.throwIfAborted();
    const client = new ConnectClient(url, token);
    signal?.addEventListener("abort", () => client.close(), { once: true });
    try {
      await client.#renew();
    } catch (error) {
      client.close();
      throw error;
    }
    return client;
  }

  /** The time of the database in milliseconds since 1970, by what it tells with its answers. */
  now(): number {
    return this.#clock.now();
  }

  /**
   * Asks for the time if it has become uncertain: the ages of messages and ids are counted by it.
   */
  askTime(): Promise<unknown> | undefined {
    return this.#clock.isUncertain ? this.#renew() : undefined;
  }

  /** Reads at most 10 entries at one moment, in the order of their keys. */
  async get(keys: readonly KvKey[]): Promise<(KvEntry | undefined)[]> {
    return (await this.#read(keys.map(toRange))).map(([entry]) => entry);
  }

  /** Reads at most 500 entries at one moment, in order, from a key up to but without another one. */
  async list(from: KvKey, to: KvKey, limit: number): Promise<KvEntry[]> {
    const [entries] = await this.#read([{ from: packKey(from), to: packKey(to), limit }]);
    return entries ?? [];
  }

  /** Writes, and gives the version; undefined where a check does not hold. */
  async write(write: KvWrite): Promise<string | undefined> {
    const body = encodeWrite(write, this.now() + CLOCK_PRECISION);
    const answer = decodeWriteAnswer(await this.#ask("atomic_write", body));
    if (answer === "check failed") return undefined;
    if (answer === "refused") throw this.#moved();
    return answer.version;
  }

  /** Gives at most 10 entries now, and again when they change. It ends when the server does not tell any more. */
  async *watch(keys: readonly KvKey[]): AsyncGenerator<(KvEntry | undefined)[]> {
    const response = await this.#send("watch", encodeWatch(keys));
    const entries = new Array<KvEntry | undefined>(keys.length).fill(undefined);
    // Aborting a request does not surely end the body of its answer.
    const { signal } = this.#closing;
    for await (const message of response.body!.pipeThrough(messages(), { signal })) {
      const told = decodeWatchAnswer(message);
      if (!told) throw this.#moved();
      for (const [index, { hasChanged, entry }] of told.entries()) if (hasChanged) entries[index] = entry;
      yield [...entries];
    }
  }

  /** Gives up what is on its way, which may be written nevertheless. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new Error("The connection was closed"));
    this.#http.client?.close();
  }

  async #read(ranges: readonly ReadRange[]): Promise<KvEntry[][]> {
    const answer = decodeReadAnswer(await this.#ask("snapshot_read", encodeRead(ranges)));
    if (!answer) throw this.#moved();
    return answer;
  }

  async #ask(action: Action, body: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    return await (await this.#send(action, body)).bytes();
  }

  async #send(action: Action, body: Uint8Array<ArrayBuffer>): Promise<Response> {
    const { requests } = this.#valid() ?? await this.#renew();
    const response = await this.#fetch(requests[action], body);
    if (response.ok) return response;
    await response.body?.cancel();
    // Where the access has ended, another one is asked for next time.
    this.#access = undefined;
    throw new Error(`The database answered with the status ${response.status}`);
  }

  #valid(): Access | undefined {
    const access = this.#access;
    return access && access.expiresAt - this.now() > RENEWAL ? access : undefined;
  }

  /** Asks for another access: of those who wait, the first does it for all. */
  #renew(): Promise<Access> {
    return this.#renewal ??= this.#exchange().then((access) => this.#access = access).finally(() => {
      this.#renewal = undefined;
    });
  }

  async #exchange(): Promise<Access> {
    const begin = performance.now();
    const response = await this.#fetch(this.#toExchange(), JSON.stringify({ supportedVersions: [2, 3] }));
    // Whoever asked for it may have wanted the time.
    this.#clock.note(response.headers.get("date"), begin);
    if (!response.ok) {
      await response.body?.cancel();
      // Trying again would change nothing.
      if (REFUSALS.includes(response.status)) throw this.#cannotOpen(`it refuses the token, ${TOKEN_CURE}`);
      if (ABSENCES.includes(response.status)) throw this.#cannotOpen(ABSENCE);
      throw new Error(`The database answered with the status ${response.status}`);
    }
    const metadata = await response.text();
    try {
      const access = toAccess(JSON.parse(metadata), response.url);
      this.#hasOpened = true;
      return access;
    } catch {
      // What was wrong may hold an address or a token. Later it may be the page of a proxy.
      throw this.#hasOpened
        ? new Error("The database does not describe itself in a way that can be used")
        : this.#cannotOpen(ABSENCE);
    }
  }

  #toExchange(): Request {
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": "application/json" };
    try {
      return new Request(this.#url, { method: "POST", headers });
    } catch {
      throw this.#cannotOpen(`the token cannot be sent, ${TOKEN_CURE}`);
    }
  }

  #cannotOpen(reason: string): CannotOpenError {
    const { origin, pathname } = this.#url;
    return new CannotOpenError(`Cannot open the store of topics "${origin}${pathname}": ${reason}`);
  }

  async #fetch(request: Request, body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
    const begin = performance.now();
    try {
      const response = await fetch(request, { ...this.#http, body, signal: this.#closing.signal });
      if (this.#clock.isDue) this.#clock.note(response.headers.get("date"), begin);
      return response;
    } catch (error) {
      if (!hasReason(error)) throw error;
      const { message } = error.cause;
      // What TLS makes of an answer that is plain text.
      if (message.includes("InvalidContentType")) throw this.#cannotOpen(NO_TLS);
      // And HTTP of the alert by which TLS refuses it.
      if (message.endsWith("invalid HTTP version parsed")) throw this.#cannotOpen(ONLY_TLS);
      throw new Error(withoutAddress(message));
    }
  }

  #moved(): Error {
    this.#access = undefined;
    return new Error("The database is served elsewhere");
  }
}

/**
 * Makes a client for `fetch` that shares no connection with others: a connection that is dead goes
 * with it.
 *
 * It does not speak HTTP/2, which Deno's `fetch` prefers over TLS: a body of more than about 1 KB
 * then waits for a delayed acknowledgement of its head, for 40 ms.
 */
function openHttp(): { client?: Deno.HttpClient } {
  try {
    return { client: Deno.createHttpClient({ http2: false }) };
  } catch {
    // Where a platform has no such clients, the one that all of the process share does.
    return {};
  }
}

/**
 * How a database that describes itself so is asked.
 *
 * @param metadata The description.
 * @param base Where it came from: a redirection may have led to another address.
 */
function toAccess({ version, databaseId, endpoints, token, expiresAt }: Metadata, base: string): Access {
  const endpoint = endpoints.find(({ consistency }) => consistency === "strong")!;
  const address = new URL(endpoint.url, base).href.replace(/\/$/, "");
  const init = {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/x-protobuf",
      "x-denokv-version": `${version}`,
      "x-denokv-database-id": databaseId,
    },
  };
  return {
    requests: {
      snapshot_read: new Request(`${address}/snapshot_read`, init),
      atomic_write: new Request(`${address}/atomic_write`, init),
      watch: new Request(`${address}/watch`, init),
    },
    expiresAt: Date.parse(expiresAt),
  };
}

/** Whether it is the "fetch failed" of a request that got no answer, whose cause tells why: no such name, nobody listens, no trust. */
function hasReason(error: unknown): error is TypeError & { readonly cause: Error } {
  return error instanceof TypeError && error.cause instanceof Error;
}

/** What went wrong, without the address, whose query may be a secret: it ends before the first "): ", having no spaces. */
function withoutAddress(message: string): string {
  const end = message.indexOf("): ");
  return end < 0 ? "error sending request" : `error sending request: ${message.slice(end + 3)}`;
}

/** Cuts what a watch tells into messages: each comes after its length, of 4 bytes in little-endian order; one of none keeps it up. */
function messages(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array> {
  let waiting = new Uint8Array();
  return new TransformStream({
    transform: (chunk, controller) => {
      const bytes = new Uint8Array(waiting.length + chunk.length);
      bytes.set(waiting);
      bytes.set(chunk, waiting.length);
      waiting = bytes;
      while (waiting.length >= 4) {
        const end = 4 + new DataView(waiting.buffer, waiting.byteOffset).getUint32(0, true);
        if (waiting.length < end) break;
        if (end > 4) controller.enqueue(waiting.subarray(4, end));
        waiting = waiting.subarray(end);
      }
    },
  });
}
