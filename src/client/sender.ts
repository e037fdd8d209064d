/** Makes and sends the requests of a client. */
import { load } from "./load.ts";
import { addressesBelow, type AddressOf, type Values } from "./address.ts";
import { CallSignal } from "./call_signal.ts";
import type { CallOptions, ClientOptions, HeaderValues } from "./types.ts";
import { checkCall } from "./option_check.ts";
import { problemOf } from "./problem.ts";
import { toJson, toTexts } from "./text.ts";

/** One request of a client. */
export interface Asked {
  readonly method: string;
  /** The path of the route, such as `/books/{id}`. */
  readonly path: string;
  readonly values: Values;
  readonly options: CallOptions;
  /** Headers that nothing replaces. */
  readonly fixed?: HeaderValues | undefined;
}

/**
 * Makes and sends the requests of a client.
 *
 * Events, sockets, forms and lines get what they need as arguments: a module that is loaded later
 * and imports this one makes bundlers split it off, too.
 */
export class Sender {
  /** Writes messages of WebSockets. */
  readonly toJson = toJson;
  /**
   * Makes the address of a request.
   *
   * @throws {TypeError} If an argument cannot stand in it.
   */
  readonly addressOf: AddressOf;
  readonly #options: ClientOptions;

  /**
   * Makes a sender.
   *
   * @param base The address before the paths.
   * @param options The options of the client.
   * @throws {TypeError} If the base is no address.
   */
  constructor(base: string | URL, options: ClientOptions) {
    this.addressOf = addressesBelow(base);
    this.#options = options;
  }

  /**
   * Begins a call. It has to be released.
   *
   * @param options The options of the call.
   * @param action What the call does, for messages.
   * @param others The names of options that not all calls have.
   * @param defaultTimeout The timeout where neither the call nor the client has one.
   * @throws {TypeError} If an option is unknown.
   * @throws {RangeError} If a timeout is not a positive number.
   */
  begin(options: CallOptions, action: string, others: readonly string[], defaultTimeout?: number): CallSignal {
    checkCall(options, others, action);
    const { signal, timeout = this.#options.timeout ?? defaultTimeout } = options;
    return new CallSignal([this.#options.signal, signal], timeout);
  }

  /**
   * The headers of a request.
   *
   * @throws {TypeError} If a value cannot be sent.
   */
  async headersOf({ values, options, fixed }: Asked): Promise<Headers> {
    const headers = new Headers();
    const { headers: general } = this.#options;
    for (
      const set of [typeof general === "function" ? await general() : general, options.headers, values.headers, fixed]
    ) {
      for (const [name, value] of Object.entries(set ?? {})) {
        const texts = toTexts(value, name);
        if (texts.length > 0) headers.set(name, texts.join(", "));
      }
    }
    if (values.cookies) (await load(() => import("./fields.ts"))).addCookies(values.cookies, headers, toTexts);
    return headers;
  }

  /**
   * Sends a request. A stream in its body can be sent only once. Wait for it by `until` of the
   * call: it goes on until its next step when the call is ended.
   *
   * @param asked The request.
   * @param call The call.
   * @param made Its headers, where they were made before.
   * @throws {ProblemError} If the reply is no success.
   * @throws {TypeError} If an argument cannot be sent, or the connection fails.
   */
  async send(asked: Asked, call: CallSignal, made?: Headers): Promise<Response> {
    const { method, path, values } = asked;
    call.isSent = false;
    const headers = made ?? await this.headersOf(asked);
    const body = await contentOf(values, headers);
    const init: RequestInit & { readonly duplex: "half" } = {
      method,
      headers,
      signal: call.isEndable ? call.signal : null,
      body: body ?? null,
      // A body that is a stream needs it.
      duplex: "half",
    };
    const request = new Request(this.addressOf(path, values), init);
    call.signal.throwIfAborted();
    call.isSent = true;
    const response = await (this.#options.fetch ?? fetch)(request);
    if (call.signal.aborted) {
      // Nobody reads a reply that comes after the end.
      response.body?.cancel().catch(() => {});
      throw call.signal.reason;
    }
    if (response.ok) return response;
    throw await problemOf(`${method} ${path}`, response);
  }
}

/**
 * The body of a request. Its type is written into the headers where the platform does not know it.
 */
async function contentOf({ body, form }: Values, headers: Headers): Promise<BodyInit | undefined> {
  if (form !== undefined) {
    // The platform knows the type, and for multipart the boundary in it.
    headers.delete("content-type");
    return (await load(() => import("./fields.ts"))).toForm(form, toTexts);
  }
  const isBytes = [Blob, ReadableStream, ArrayBuffer].some((type) => body instanceof type) || ArrayBuffer.isView(body);
  if (body === undefined || isBytes) return body as BodyInit | undefined;
  if (!headers.has("content-type")) headers.set("content-type", "application/json");
  return toJson(body);
}
