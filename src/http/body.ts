/** Reads the body of a request within the limits, once, and keeps it so that it can be read again in another form. */
import { HTTPError } from "../errors.ts";
import { releaseIdleTimer, withDeadline } from "./deadline.ts";
import type { ResolvedLimits } from "./limits.ts";
import { parseJson } from "./json.ts";
import { mediaTypeOf } from "./media_type.ts";

/** The body of one request. */
export class BodyReader {
  readonly #raw: Request;
  readonly #limits: ResolvedLimits;
  /** A request that came by no socket has a timer of its own, so that nothing outlives it. */
  readonly #isLocal: boolean;
  #text: Promise<string> | undefined;
  #bytes: Promise<Uint8Array<ArrayBuffer>> | undefined;
  #streamed = false;

  constructor(raw: Request, limits: ResolvedLimits, isLocal: boolean) {
    this.#raw = raw;
    this.#limits = limits;
    this.#isLocal = isLocal;
  }

  /** The body as text, decoded as UTF-8. */
  text(): Promise<string> {
    return this.#text ??= this.#bytes?.then((bytes) => new TextDecoder().decode(bytes)) ??
      this.#readText();
  }

  /** The body as bytes. */
  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes ??= this.#text?.then((text) => new TextEncoder().encode(text)) ??
      this.#readBytes(
        this.#isMultipart() ? this.#limits.multipart : this.#limits.body,
      );
  }

  /** The body as what its JSON says. */
  async json(): Promise<unknown> {
    return parseJson(await this.text());
  }

  /** The body as the fields of a form. */
  async formData(): Promise<FormData> {
    const type = mediaTypeOf(this.#raw.headers);
    if (
      type !== "multipart/form-data" &&
      type !== "application/x-www-form-urlencoded"
    ) {
      throw new HTTPError(415, "The body is not a form");
    }
    const bytes = await this.bytes();
    const headers = {
      "content-type": this.#raw.headers.get("content-type") ?? "",
    };
    try {
      return await new Response(bytes, { headers }).formData();
    } catch (cause) {
      throw new HTTPError(400, "The body is not a well-formed form", { cause });
    }
  }

  /** The body as it comes. What was read before in another form starts again; a stream itself can be taken once. */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const kept = this.#bytes ??
      this.#text?.then((text) => new TextEncoder().encode(text));
    if (kept) {
      return new ReadableStream({
        async pull(controller) {
          const bytes = await kept;
          if (bytes.length > 0) controller.enqueue(bytes);
          controller.close();
        },
      });
    }
    const body = this.#take();
    this.#streamed = true;
    return body ??
      new ReadableStream({ start: (controller) => controller.close() });
  }

  #isMultipart(): boolean {
    return mediaTypeOf(this.#raw.headers) === "multipart/form-data";
  }

  /** The body's stream, for the first who asks. */
  #take(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    if (this.#streamed || this.#raw.bodyUsed) {
      throw new TypeError(
        "Cannot read the body of the request: it was taken as a stream before",
      );
    }
    return this.#raw.body;
  }

  #readText(): Promise<string> {
    const length = this.#announcedLength(this.#limits.body);
    if (length === undefined) {
      return this.#readBytes(this.#limits.body).then((bytes) => new TextDecoder().decode(bytes));
    }
    if (this.#take() === null) return Promise.resolve("");
    return this.#inTime(this.#raw.text()).then((text) => {
      // Only a request that was made by hand can say one length and have another.
      if (text.length > this.#limits.body) throw tooLarge(this.#limits.body);
      return text;
    });
  }

  #readBytes(limit: number): Promise<Uint8Array<ArrayBuffer>> {
    this.#announcedLength(limit);
    const body = this.#take();
    return body === null ? Promise.resolve(new Uint8Array()) : this.#inTime(collect(body.getReader(), limit));
  }

  /** The length that the client announced, refused at once where it is over the limit. */
  #announcedLength(limit: number): number | undefined {
    const header = this.#raw.headers.get("content-length");
    if (header === null) return undefined;
    const length = Number(header);
    if (length > limit) throw tooLarge(limit);
    return length;
  }

  #inTime<T>(read: Promise<T>): Promise<T> {
    const wait = withDeadline(read, this.#limits.readTimeout, tooSlow, toRefusal);
    return this.#isLocal ? wait.finally(releaseIdleTimer) : wait;
  }
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > limit) {
      reader.cancel().catch(() => {});
      throw tooLarge(limit);
    }
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

function tooSlow(): HTTPError {
  return new HTTPError(408, "The body did not arrive in time", { headers: { connection: "close" } });
}

function tooLarge(limit: number): HTTPError {
  return new HTTPError(413, `The body is larger than ${limit} bytes`);
}

/** A body that breaks off is the client's fault, or it has gone; either way no fault of the application. */
function toRefusal(cause: unknown): unknown {
  return cause instanceof HTTPError ? cause : new HTTPError(400, "The body was cut short", { cause });
}
