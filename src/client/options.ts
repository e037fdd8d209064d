/** The options of a client and of its calls. */

/** Headers by their names. One that is undefined is not sent. */
export type HeaderValues = Readonly<Record<string, string | undefined>>;

/**
 * What a call takes besides its arguments.
 *
 * @category Client
 */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. An open stream ends, too. */
  signal?: AbortSignal | undefined;
  /**
   * How long the call may take until its result is there, in milliseconds or as `"30s"`. Streams
   * have begun by then, and are not ended. It replaces the client's. Without either, the platform
   * decides.
   */
  timeout?: number | undefined;
  /** Further headers. They replace those of the client. */
  headers?: HeaderValues | undefined;
}

/**
 * What a call of an idempotent route takes besides its arguments.
 *
 * @category Client
 */
export interface IdempotentOptions extends CallOptions {
  /**
   * Whether the call has a fresh `Idempotency-Key`, and is tried again, up to three times: when the
   * connection fails, and after a reply of 503, or of 409 with `Retry-After`. A reply that asks for
   * more than 30 seconds of patience is thrown, and a `ReadableStream` is sent only once.
   *
   * @default {false}
   */
  idempotent?: boolean | undefined;
}

/**
 * The options of a client.
 *
 * @category Client
 */
export interface ClientOptions {
  /** Headers of each request, or a function that is called for each request and returns them. */
  headers?: HeaderValues | (() => HeaderValues | Promise<HeaderValues>) | undefined;
  /**
   * Sends the requests. By default the platform's own `fetch`. Pages that need their cookies at
   * another origin give `(request) => fetch(request, { credentials: "include" })`.
   */
  fetch?: ((request: Request) => Response | Promise<Response>) | undefined;
  /** Ends all calls, streams and sockets of the client. */
  signal?: AbortSignal | undefined;
  /** How long a call may take, unless it has a timeout of its own. */
  timeout?: number | undefined;
}

/**
 * Refuses unknown options. The names of all are listed, as looking for the nearest would take more
 * of a bundle than a call does.
 *
 * @throws {TypeError} If there is one.
 */
export function checkNames(options: object, known: readonly string[], action: string): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`Cannot ${action}: the option "${unknown}" is unknown, there are ${known.join(", ")}`);
}
