import type { Dicer } from "@fastify/busboy";
import { HTTPError } from "../../errors.ts";
import { tooLarge, tooManyFields } from "../body_errors.ts";
import type { FormEntry } from "../../schema/form_form.ts";
import type { ResolvedLimits } from "../limits.ts";
import { decodePart } from "../query.ts";
import { UploadedFile } from "./uploaded_file.ts";
import type { UploadStorage } from "./uploads.ts";

/** What the headers of a part of a form say of it (RFC 7578 section 4). */

/** The headers of a part as they were sent: all values of each name in lower case, one character for each byte. */
export type PartHeaders = Readonly<Record<string, readonly string[] | undefined>>;

/** What a part is. */
export interface PartHead {
  /** The name of its field. */
  readonly name: string;
  /** What is said of the file that it is; a part that is none holds text. */
  readonly file: { readonly name: string; readonly type: string } | undefined;
}

/** A parameter of a header: its name, and its value in quotes or without. A quote within is escaped by old clients alone. */
const PARAMETER = /;[ \t]*([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"|([^;"]*))[ \t]*/y;

/** What browsers write in the place of characters that would end a name (HTML, "multipart/form-data encoding algorithm"). */
const ESCAPES: Readonly<Record<string, string>> = { "%0A": "\n", "%0D": "\r", "%22": '"' };

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+/;

/**
 * Reads the headers of a part.
 *
 * @throws {HTTPError} With 400, when they do not say of which field it is.
 */
export function readPartHead(headers: PartHeaders): PartHead {
  const [disposition, ...others] = headers["content-disposition"] ?? [];
  if (disposition === undefined || others.length > 0) throw malformed();
  const parameters = parametersOf(disposition);
  const name = parameters.get("name");
  if (name === undefined) throw malformed();
  const encoded = parameters.get("filename*");
  const fileName = parameters.get("filename") ?? (encoded === undefined ? undefined : decodeExtended(encoded));
  if (fileName === undefined) return { name, file: undefined };
  const [type = "application/octet-stream"] = MEDIA_TYPE.exec(headers["content-type"]?.[0]?.trim() ?? "") ?? [];
  return { name, file: { name: baseName(fileName), type: type.toLowerCase() } };
}

function parametersOf(disposition: string): Map<string, string> {
  const start = /^[ \t]*form-data[ \t]*/i.exec(disposition);
  if (!start) throw malformed();
  const parameters = new Map<string, string>();
  let end = PARAMETER.lastIndex = start[0].length;
  for (let match; (match = PARAMETER.exec(disposition)); end = PARAMETER.lastIndex) {
    const [, key = "", quoted, token = ""] = match;
    // Two of a name are told apart by nobody in the same way.
    if (parameters.has(key.toLowerCase())) throw malformed();
    parameters.set(key.toLowerCase(), decodeName(quoted === undefined ? token.trimEnd() : unquote(quoted)));
  }
  if (!/^[ \t;]*$/.test(disposition.slice(end))) throw malformed();
  return parameters;
}

/** Browsers write a backslash as it is, so only what could not stand there otherwise is taken for escaped. */
function unquote(text: string): string {
  return text.replace(/\\(["\\])/g, "$1");
}

function decodeName(bytes: string): string {
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
  return text.replace(/%(?:0A|0D|22)/g, (escape) => ESCAPES[escape]!);
}

/** A name in the notation of RFC 8187, which some clients use although forms are not to have it. */
function decodeExtended(value: string): string {
  const [, text] = /^utf-8'[^']*'(.*)$/i.exec(value) ?? [];
  try {
    return decodeURIComponent(text ?? value);
  } catch {
    throw malformed();
  }
}

/** The name without folders, and without characters that are not seen or that turn others around. */
function baseName(name: string): string {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const cleaned = base.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "").trim();
  return cleaned === "." || cleaned === ".." ? "" : cleaned;
}

function malformed(): HTTPError {
  return new HTTPError(400, "The form has a part whose headers are malformed");
}

/** Cuts a multipart body into its parts while it comes in (RFC 2046 section 5.1). */

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
    dicer.on("error", (cause) => this.#fail(malformedForm(cause)));
  }

  async run(): Promise<void> {
    try {
      await this.#readAll();
      if (!this.#isFinished && !this.#failure) this.#dicer.end();
      await this.#end.promise;
      if (this.#headless) this.#fail(malformedForm());
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
    if (this.#headless) this.#fail(malformedForm());
    if (this.#failure) return void part.destroy();
    this.#headless = part;
    part.on("header", (headers) => {
      this.#headless = undefined;
      this.#parts.set(part, this.#take(part, headers as PartHeaders));
    });
  }

  async #take(part: Dicer.PartStream, headers: PartHeaders): Promise<void> {
    try {
      if (isTooLong(headers)) throw malformedForm();
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

function malformedForm(cause?: unknown): HTTPError {
  return new HTTPError(400, "The body is not a well-formed form", cause === undefined ? {} : { cause });
}

/** Reads the fields of a form, within the limits. */

/**
 * Reads an urlencoded form.
 *
 * @param text The body.
 * @param maxFields The number of fields that it may have.
 * @throws {HTTPError} With 400, when an escape is broken; with 413, when there are too many fields.
 */
export function parseUrlencoded(text: string, maxFields: number): FormEntry[] {
  const entries: FormEntry[] = [];
  for (let start = 0; start < text.length;) {
    const next = text.indexOf("&", start);
    const end = next < 0 ? text.length : next;
    if (end > start) entries.push(parsePair(text.slice(start, end)));
    if (entries.length > maxFields) throw tooManyFields(maxFields);
    start = end + 1;
  }
  return entries;
}

function parsePair(pair: string): FormEntry {
  const equals = pair.indexOf("=");
  const end = equals < 0 ? pair.length : equals;
  const [name, value] = [decodePart(pair.slice(0, end)), decodePart(pair.slice(end + 1))];
  if (name === undefined || value === undefined) throw new HTTPError(400, "The form has a broken percent-encoding");
  return [name, value];
}

/**
 * Reads a multipart form. Its files are ready when it returns, its texts are as UTF-8 has them.
 *
 * @param body What comes in.
 * @param boundary What stands between the parts.
 * @param limits What it may hold.
 * @param storage Keeps its files.
 * @throws {HTTPError} With 400, when it is not well formed; with 413, when it, a file, its texts, or the number of its parts is
 * over a limit.
 */
export async function readMultipartForm(
  body: ReadableStream<Uint8Array>,
  boundary: string,
  limits: ResolvedLimits,
  storage: UploadStorage,
): Promise<FormEntry[]> {
  const entries: FormEntry[] = [];
  let parts = 0;
  let texts = 0;

  const receiveText = (name: string): PartReceiver => {
    const place = entries.push([name, ""]) - 1;
    const decoder = new TextDecoder();
    let text = "";
    return {
      write(chunk) {
        texts += chunk.length;
        if (texts > limits.body) throw tooLarge(limits.body, "The texts of the form are");
        text += decoder.decode(chunk, { stream: true });
      },
      finish() {
        entries[place] = [name, text + decoder.decode()];
      },
    };
  };

  const receiveFile = (field: string, { name, type }: NonNullable<PartHead["file"]>): PartReceiver => {
    const place = entries.push([field, ""]) - 1;
    const upload = storage.receive();
    let size = 0;
    return {
      write(chunk) {
        size += chunk.length;
        if (size > limits.file) throw tooLarge(limits.file, "A file is");
        return upload.write(chunk);
      },
      async finish() {
        entries[place] = [field, new UploadedFile(await upload.finish(), name, type)];
      },
    };
  };

  await readMultipart(body, {
    boundary,
    maxSize: limits.multipart,
    open({ name, file }) {
      if (++parts > limits.parts) throw tooManyFields(limits.parts);
      return file ? receiveFile(name, file) : receiveText(name);
    },
  });
  return entries;
}
