/** Cuts a multipart body into its parts while it comes in (RFC 2046 section 5.1). */
import type { Dicer } from "@fastify/busboy";
import { HTTPError } from "../errors.ts";
import { tooLarge } from "./body_refusal.ts";
import { type PartHead, type PartHeaders, readPartHead } from "./part_headers.ts";

/** Takes the content of a part. */
export interface PartReceiver {
  /** Takes the next bytes, which are not its own to keep; nothing more is read until it is done. */
  write(chunk: Uint8Array): void | Promise<void>;
  /** All has been taken. */
  finish(): void | Promise<void>;
}

/** The size of the headers of one part, and their number. */
const MAX_HEADER_SIZE = 8 * 1024;
const MAX_HEADERS = 32;

/** Headers beyond these are cut off without a word, so that more of them are let through than are taken. */
const LIMITS = { maxHeaderPairs: MAX_HEADERS, maxHeaderSize: 2 * MAX_HEADER_SIZE };

/** The parameters of a content type, one after another: a name, and a value that stands in quotes or does not. */
const PARAMETERS = /;[ \t]*([^\s=;"]+)[ \t]*=[ \t]*(?:"([^"]*)"|([^\s;"]+))/g;

/** The boundary that a content type names, of 70 characters at most (RFC 2046 section 5.1.1); undefined where it names none. */
export function boundaryOf(contentType: string): string | undefined {
  for (const [, name, quoted, token] of contentType.matchAll(PARAMETERS)) {
    if (name!.toLowerCase() !== "boundary") continue;
    const boundary = quoted ?? token ?? "";
    return boundary === "" || boundary.length > 70 ? undefined : boundary;
  }
  return undefined;
}

/** How a body is read. */
export interface MultipartOptions {
  /** What stands between the parts. */
  readonly boundary: string;
  /** How many bytes the whole may have. */
  readonly maxSize: number;
  /** Called with each part, in their order. */
  readonly open: (head: PartHead) => PartReceiver;
}

/**
 * Reads a body to its end.
 *
 * @param body What comes in. It is cancelled where the reading fails.
 * @param options How it is read.
 * @throws {HTTPError} With 400, when it is not well formed; with 413, when it is too large. Whatever the body or a receiver throws
 * is thrown, too.
 */
export async function readMultipart(body: ReadableStream<Uint8Array>, options: MultipartOptions): Promise<void> {
  const { Dicer } = await import("@fastify/busboy");
  const dicer = new Dicer({ boundary: options.boundary, ...LIMITS });
  await new MultipartReading(body.getReader(), dicer, options).run();
}

/** One reading of a body. The package tells of parts as it meets them; their contents are then taken beside it. */
class MultipartReading {
  readonly #body: ReadableStreamDefaultReader<Uint8Array>;
  readonly #dicer: Dicer;
  readonly #options: MultipartOptions;
  readonly #parts = new Map<Dicer.PartStream, Promise<void>>();
  readonly #end = Promise.withResolvers<void>();
  /** Whether the last boundary has come, and all parts were taken. */
  #isFinished = false;
  #failure: { readonly reason: unknown } | undefined;
  /** The part that has no headers yet. */
  #headless: Dicer.PartStream | undefined;
  /** Ends the wait for room for more. */
  #goOn = () => {};

  constructor(body: ReadableStreamDefaultReader<Uint8Array>, dicer: Dicer, options: MultipartOptions) {
    this.#body = body;
    this.#dicer = dicer;
    this.#options = options;
    dicer.on("part", (part) => this.#begin(part));
    dicer.on("finish", () => this.#finish());
    dicer.on("error", (cause) => this.#fail(malformed(cause)));
  }

  async run(): Promise<void> {
    try {
      await this.#readAll();
      if (!this.#isFinished && !this.#failure) this.#dicer.end();
      await this.#end.promise;
      if (this.#headless) this.#fail(malformed());
    } catch (error) {
      this.#fail(error);
    }
    await Promise.all(this.#parts.values());
    if (this.#failure) throw this.#failure.reason;
  }

  async #readAll(): Promise<void> {
    const { maxSize } = this.#options;
    for (let size = 0; !this.#failure;) {
      const { done, value } = await this.#body.read();
      if (done) return;
      size += value.length;
      if (size > maxSize) throw tooLarge(maxSize);
      await this.#write(value);
    }
  }

  /** Waits until there is room for more. What follows the last boundary is left alone. */
  #write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#isFinished) return undefined;
    return new Promise((resolve) => {
      this.#goOn = resolve;
      this.#dicer.write(chunk, () => resolve());
    });
  }

  #begin(part: Dicer.PartStream): void {
    // Whoever reads it is told as well; without this, a failure before that would end the program.
    part.on("error", () => {});
    if (this.#headless) this.#fail(malformed());
    if (this.#failure) return void part.destroy();
    this.#headless = part;
    part.on("header", (headers) => {
      this.#headless = undefined;
      this.#parts.set(part, this.#take(part, headers as PartHeaders));
    });
  }

  async #take(part: Dicer.PartStream, headers: PartHeaders): Promise<void> {
    try {
      if (isTooLong(headers)) throw malformed();
      const receiver = this.#options.open(readPartHead(headers));
      for await (const chunk of part) await receiver.write(chunk);
      await receiver.finish();
      this.#parts.delete(part);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The package may not answer the write that held the last boundary, when the part before that was taken later. */
  #finish(): void {
    this.#isFinished = true;
    this.#end.resolve();
    this.#goOn();
  }

  /** Ends all waiting, for the body as for its parts. The first failure is the one that counts. */
  #fail(reason: unknown): void {
    if (this.#failure) return;
    this.#failure = { reason };
    this.#end.resolve();
    this.#goOn();
    this.#body.cancel(reason).catch(() => {});
    for (const part of this.#parts.keys()) part.destroy();
  }
}

function isTooLong(headers: PartHeaders): boolean {
  const lines = Object.entries(headers).flatMap(([name, values = []]) => values.map((value) => name + value));
  return lines.length >= MAX_HEADERS || lines.join("").length > MAX_HEADER_SIZE;
}

function malformed(cause?: unknown): HTTPError {
  return new HTTPError(400, "The body is not a well-formed form", cause === undefined ? {} : { cause });
}
