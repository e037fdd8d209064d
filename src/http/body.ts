/** Reads the body of a request within the limits, and keeps it so that it can be read again in another form. */
import { HTTPError } from "../errors.ts";
import { withDeadline, withOwnDeadline } from "./deadline.ts";
import { parseJson } from "./json.ts";
import type { ResolvedLimits } from "./limits.ts";
import { mediaTypeOf } from "./media_type.ts";
import { Replay } from "./replay.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The body of one request. */
export class BodyReader {
  readonly #raw: Request;
  readonly #limits: ResolvedLimits;
  /** A request that came by no socket has a timer of its own, so that nothing outlives it. */
  readonly #isLocal: boolean;
  #bytes: Promise<Bytes> | undefined;
  #jsonText: Promise<string> | undefined;
  #replay: Replay | undefined;

  constructor(raw: Request, limits: ResolvedLimits, isLocal: boolean) {
    this.#raw = raw;
    this.#limits = limits;
    this.#isLocal = isLocal;
  }

  /** The body as bytes. */
  bytes(): Promise<Bytes> {
    return this.#bytes ??= this.#jsonText?.then((text) => new TextEncoder().encode(text)) ?? this.#readBytes();
  }

  /** The body as text, decoded as UTF-8. */
  text(): Promise<string> {
    return this.#jsonText ?? this.bytes().then((bytes) => new TextDecoder().decode(bytes));
  }

  /**
   * The body as text that is to be parsed: a third cheaper than {@linkcode BodyReader.text}, but bytes that are no UTF-8, which
   * no JSON has, cannot be had back.
   */
  jsonText(): Promise<string> {
    return this.#jsonText ??= this.#readText() ?? this.text();
  }

  /** The body as what its JSON says. */
  async json(): Promise<unknown> {
    return parseJson(await this.text());
  }

  /** The body as the fields of a form. */
  async formData(): Promise<FormData> {
    const type = mediaTypeOf(this.#raw.headers);
    if (type !== "multipart/form-data" && type !== "application/x-www-form-urlencoded") {
      throw new HTTPError(415, "The body is not a form");
    }
    const bytes = await this.bytes();
    const headers = { "content-type": this.#raw.headers.get("content-type") ?? "" };
    try {
      return await new Response(bytes, { headers }).formData();
    } catch (cause) {
      throw new HTTPError(400, "The body is not a well-formed form", { cause });
    }
  }

  /** The body as it comes. */
  stream(): ReadableStream<Bytes> {
    const kept = this.#bytes ?? (this.#jsonText && this.bytes());
    return kept ? streamOf(kept) : this.#replayed()?.open() ?? new ReadableStream({ start: (to) => to.close() });
  }

  #limit(): number {
    const isMultipart = mediaTypeOf(this.#raw.headers) === "multipart/form-data";
    return isMultipart ? this.#limits.multipart : this.#limits.body;
  }

  #replayed(): Replay | undefined {
    const body = this.#untouched();
    return this.#replay ??= body ? new Replay(body, this.#limit()) : undefined;
  }

  #untouched(): ReadableStream<Bytes> | null {
    if (this.#replay === undefined && this.#raw.bodyUsed) {
      throw new TypeError("Cannot read the body of the request: it was read through request.raw before");
    }
    return this.#raw.body;
  }

  /**
   * The length that the client announced, which a server holds it to.
   *
   * @throws {HTTPError} With 413, where it is over the limit: nothing of the body is read then.
   */
  #announced(limit: number): number | undefined {
    const header = this.#raw.headers.get("content-length");
    if (header === null) return undefined;
    if (Number(header) > limit) throw tooLarge(limit);
    return Number(header);
  }

  /** The platform's own reading, twice as fast as long as nobody has asked for the body's stream; where that can be. */
  #readText(): Promise<string> | undefined {
    if (this.#bytes !== undefined || this.#replay !== undefined) return undefined;
    const { body: limit } = this.#limits;
    if (this.#announced(limit) === undefined) return undefined;
    const text = this.#inTime(this.#raw.text());
    return this.#isLocal ? text.then((text) => refuseLonger(text, limit)) : text;
  }

  async #readBytes(): Promise<Bytes> {
    const limit = this.#limit();
    this.#announced(limit);
    const replay = this.#replayed();
    return replay ? await this.#inTime(collect(replay.open().getReader(), limit)) : new Uint8Array();
  }

  #inTime<T>(read: Promise<T>): Promise<T> {
    const wait = this.#isLocal ? withOwnDeadline : withDeadline;
    return wait(read, this.#limits.readTimeout, tooSlow, toRefusal);
  }
}

async function collect(reader: ReadableStreamDefaultReader<Bytes>, limit: number): Promise<Bytes> {
  const chunks: Bytes[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(value);
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/** A request that was made by hand can announce one length and have another. */
function refuseLonger(text: string, limit: number): string {
  if (text.length > limit) throw tooLarge(limit);
  return text;
}

function streamOf(kept: Promise<Bytes>): ReadableStream<Bytes> {
  return new ReadableStream({
    async pull(controller) {
      const bytes = await kept;
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}

function tooLarge(limit: number): HTTPError {
  return new HTTPError(413, `The body is larger than ${limit} bytes`);
}

function tooSlow(): HTTPError {
  return new HTTPError(408, "The body did not arrive in time", { headers: { connection: "close" } });
}

/** A body that breaks off is the client's fault, or it has gone; either way no fault of the application. */
function toRefusal(cause: unknown): unknown {
  return cause instanceof HTTPError ? cause : new HTTPError(400, "The body was cut short", { cause });
}
