/** Makes and sends the requests of a client. */
import { toTexts } from "../base/address.ts";
import { addressesBelow, type AddressOf, toJson, type Values } from "./arguments.ts";
import { CallSignal } from "./call_signal.ts";
import { problemOf } from "./problem.ts";
import type { CallOptions, ClientOptions, HeaderValues } from "./types.ts";

export interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly values: Values;
  readonly options: CallOptions;
  /** Take precedence over all others. */
  readonly fixed?: HeaderValues | undefined;
}

/**
 * Makes and sends requests.
 *
 * Modules that are loaded late get the sender as an argument: if they imported this module,
 * bundlers would split it off, too.
 */
export class Sender {
  /** For late modules. */
  readonly toJson = toJson;
  readonly load: Load = (start) => load(start);
  readonly addressOf: AddressOf;
  readonly #options: ClientOptions;

  constructor(base: string | URL, options: ClientOptions) {
    this.addressOf = addressesBelow(base);
    this.#options = options;
  }

  /**
   * Begins a call, which the caller must release.
   *
   * @param action For messages.
   * @param others The names of further options.
   * @throws {TypeError} If an option is unknown.
   * @throws {RangeError} If a timeout is not a positive number.
   */
  begin(options: CallOptions, action: string, others: readonly string[], defaultTimeout?: number): CallSignal {
    checkCall(options, action, others);
    const { signal, timeout = this.#options.timeout ?? defaultTimeout } = options;
    return new CallSignal([this.#options.signal, signal], timeout);
  }

  async headersOf({ values, options, fixed }: RequestParts): Promise<Headers> {
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
   * May continue after an abort: await it by `call.until`.
   *
   * @param made The headers, if they were made before.
   * @throws {ProblemError} If the reply is no success.
   * @throws {TypeError} If an argument cannot be sent, or the connection fails.
   */
  async send(parts: RequestParts, call: CallSignal, made?: Headers): Promise<Response> {
    const { method, path, values } = parts;
    call.isSent = false;
    const headers = made ?? await this.headersOf(parts);
    const request = new Request(this.addressOf(path, values), {
      method,
      body: await contentOf(values, headers),
      headers,
      signal: call.isEndable ? call.signal : null,
      // Required for a stream.
      duplex: "half",
    } as RequestInit);
    call.signal.throwIfAborted();
    call.isSent = true;
    const response = await (this.#options.fetch ?? fetch)(request);
    if (call.signal.aborted) {
      // The caller has gone.
      response.body?.cancel().catch(() => {});
      throw call.signal.reason;
    }
    if (response.ok) return response;
    throw await problemOf(`${method} ${path}`, response);
  }
}

/** Adds the content type, unless the platform does. */
async function contentOf({ body, form }: Values, headers: Headers): Promise<BodyInit | undefined> {
  if (form !== undefined) {
    // The platform adds the type, with the boundary of multipart.
    headers.delete("content-type");
    return (await load(() => import("./fields.ts"))).toForm(form, toTexts);
  }
  const isBytes = [Blob, ReadableStream, ArrayBuffer].some((type) => body instanceof type) || ArrayBuffer.isView(body);
  if (body === undefined || isBytes) return body as BodyInit | undefined;
  if (!headers.has("content-type")) headers.set("content-type", "application/json");
  return toJson(body);
}

/**
 * Lists all names in the message: a search for the nearest one would take a fourth of the bundle.
 *
 * @param others The names of options besides those of all calls.
 */
export function checkCall(options: object, action: string, others: readonly string[]): void {
  const known = ["signal", "timeout", "headers", ...others];
  for (const [name, value] of Object.entries(options)) {
    if (!known.includes(name)) {
      throw new TypeError(`Cannot ${action}: the option "${name}" is unknown, there are ${known.join(", ")}`);
    }
    if (/timeout$/i.test(name) && value !== undefined && !(value > 0)) {
      throw new RangeError(`Cannot ${action}: ${name} must be milliseconds above 0, got ${value}`);
    }
  }
}

type Load = <Module>(start: () => Promise<Module>) => Promise<Module>;

/** Loads a late module. In a server, `src/base/async_context.ts` does it. */
export const load: Load = (start) =>
  (globalThis as { readonly [key: symbol]: Load | undefined })[Symbol.for("webfw.load")]?.(start) ?? start();
