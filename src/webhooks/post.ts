/** Posts to a URL, over a connection to an address that was checked before. */
import { nodeDns, nodeHttp, nodeStream } from "../base/runtime.ts";
import { hostOf, isPublic, privateHost } from "./target.ts";

/** For the whole request: resolving, connecting, and the answer. In milliseconds. */
const TIMEOUT = 10_000;
/** For the connection to an address, while there is another one. */
const CONNECT_TIMEOUT = 2_000;
const MAX_ADDRESSES = 4;
/** In bytes. */
const MAX_ANSWER = 64 * 1024;
const MAX_HEADERS = 16 * 1024;

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly allowPrivate: boolean;
  /** By default the resolver of the system. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly timeout?: number;
}

export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

/**
 * Redirects are not followed, and the proxies of environment variables not used. At most 64 KiB of
 * the answer are read; then the connection is closed.
 *
 * The name is resolved once, and the connection is to a checked address: otherwise a name that
 * resolves differently a moment later would reach what the check refuses. `fetch` cannot do this:
 * `NO_PROXY` turns off the `proxy` of `Deno.createHttpClient` that fixes an address. `node:https`
 * can, but needs the permission `--allow-sys`, and does not read `DENO_CERT`.
 *
 * @throws {Error} If there is no answer within 10 seconds, or no public address.
 */
export async function post(url: URL, options: PostOptions): Promise<Answer> {
  const { timeout = TIMEOUT } = options;
  const late = new Error(`It has not answered within ${timeout / 1000} seconds`);
  using limit = new Limit(options.signal, timeout, late);
  return await postTo(url, { ...options, signal: limit.signal });
}

/**
 * Aborts after a time, unless it is disposed of before: `AbortSignal.timeout` would leave a timer.
 */
class Limit implements Disposable {
  readonly signal: AbortSignal;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(outer: AbortSignal, timeout: number, reason: Error) {
    const controller = new AbortController();
    this.#timer = setTimeout(() => controller.abort(reason), timeout);
    this.signal = AbortSignal.any([outer, controller.signal]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

async function postTo(url: URL, options: PostOptions): Promise<Answer> {
  const { allowPrivate, signal, resolve = resolveHost } = options;
  const host = hostOf(url);
  const found = await orAbort(resolve(host), signal);
  const addresses = allowPrivate ? found : found.filter(isPublic);
  if (addresses.length === 0) {
    throw new Error(found.length === 0 ? `${host} has no address` : `Cannot connect: ${privateHost(host)}`);
  }
  const connection = await connect(url, addresses.slice(0, MAX_ADDRESSES), signal);
  try {
    return await exchange(url, connection, options);
  } finally {
    close(connection);
  }
}

/** All addresses of a host, in the order of the system. An address is its own. */
async function resolveHost(host: string): Promise<readonly string[]> {
  const found = await nodeDns().lookup(host, { all: true });
  return found.map(({ address }) => address);
}

/** The first connection that opens. */
async function connect(url: URL, addresses: readonly string[], signal: AbortSignal): Promise<Deno.Conn> {
  const isSecure = url.protocol === "https:";
  const port = url.port === "" ? (isSecure ? 443 : 80) : Number(url.port);
  let failure: unknown;
  for (const [index, hostname] of addresses.entries()) {
    const isLast = index === addresses.length - 1;
    // The whole request has a limit, too.
    using limit = new Limit(signal, isLast ? TIMEOUT : CONNECT_TIMEOUT, new Error(`${hostname} does not answer`));
    try {
      const connection = await open({ hostname, port }, limit.signal);
      return isSecure ? await encrypt(connection, hostOf(url), limit.signal) : connection;
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

async function open(address: { hostname: string; port: number }, signal: AbortSignal): Promise<Deno.TcpConn> {
  const connecting = Deno.connect({ ...address, transport: "tcp" });
  return await orAbort(connecting, signal, close);
}

/** `host` is the name in the certificate. */
async function encrypt(connection: Deno.TcpConn, host: string, signal: AbortSignal): Promise<Deno.Conn> {
  const onAbort = () => close(connection);
  signal.addEventListener("abort", onAbort);
  try {
    const secure = await Deno.startTls(connection, { hostname: host, alpnProtocols: ["http/1.1"] });
    await orAbort(
      secure.handshake().then(() => secure, (error) => {
        close(secure);
        throw error;
      }),
      signal,
      () => close(secure),
    );
    return secure;
  } catch (error) {
    close(connection);
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** One request by the HTTP client of Node.js, over a connection of Deno. */
async function exchange(url: URL, connection: Deno.Conn, { headers, body, signal }: PostOptions): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const socket = nodeStream().Duplex.fromWeb(
    // The types of Node.js have their own streams.
    connection as unknown as Parameters<typeof import("node:stream").Duplex.fromWeb>[0],
  );
  let abort = () => reject(signal.reason);
  const onAbort = () => abort();
  if (signal.aborted) abort();
  signal.addEventListener("abort", onAbort);
  socket.on("error", reject);
  const sent = nodeHttp().request({
    method: "POST",
    host: hostOf(url),
    path: url.pathname + url.search,
    headers: { host: url.host, connection: "close", "user-agent": "webfw", ...headers },
    setHost: false,
    maxHeaderSize: MAX_HEADERS,
    createConnection: () => socket,
  });
  sent.on("error", reject);
  sent.on("upgrade", () => reject(new Error("It switches to another protocol")));
  sent.on("response", (response) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    const end = () => resolve({ status: response.statusCode!, body: joined(chunks) });
    response.on("data", (chunk: Uint8Array) => {
      const rest = chunk.subarray(0, MAX_ANSWER - bytes);
      if (rest.length > 0) chunks.push(rest);
      bytes += rest.length;
      if (bytes === MAX_ANSWER) end();
    });
    response.on("end", end);
    // The status counts, even if the body is cut off.
    response.on("error", end);
    response.on("close", end);
    abort = end;
  });
  sent.end(body);
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket.destroy();
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function close(resource: { close(): void }): void {
  try {
    resource.close();
  } catch {
    // It is closed already.
  }
}

/** Rejects when the signal is aborted. What the promise gives later is dropped. */
async function orAbort<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
  drop: (value: Value) => void = () => {},
): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([promise, aborted]);
  } catch (error) {
    promise.then(drop, () => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
