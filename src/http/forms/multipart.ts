/** Reads multipart forms (RFC 7578) while they arrive. Loaded with the first one. */
import { Dicer } from "@fastify/busboy";
import { HTTPError } from "../../base/errors.ts";
import type { FormEntry } from "../../schema/form.ts";
import { tooLarge, tooManyFields } from "../body_errors.ts";
import { ByteStore } from "../body_buffer.ts";
import type { ResolvedLimits } from "../limits.ts";
import { decodeUtf8 } from "../json.ts";
import { UploadedFile } from "../files/disk_blob.ts";
import type { UploadStorage } from "./uploads.ts";

/** The limits for the headers of one part, in bytes and in number. */
const MAX_HEADER_SIZE = 8 * 1024;
const MAX_HEADERS = 32;

/** Above our limits: Dicer silently drops headers beyond its own. */
const DICER_LIMITS = { maxHeaderPairs: MAX_HEADERS, maxHeaderSize: 2 * MAX_HEADER_SIZE };

/** A parameter of a content type, quoted or not. */
const TYPE_PARAMETERS = /;[ \t]*([^\s=;"]+)[ \t]*=[ \t]*(?:"([^"]*)"|([^\s;"]+))/g;

/** A parameter of a content disposition, quoted or not. Only old clients escape quotes in it. */
const DISPOSITION_PARAMETER = /;[ \t]*([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"|([^;"]*))[ \t]*/y;

const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+/;

/** How browsers escape characters in names (HTML, multipart/form-data encoding algorithm). */
const ESCAPES: Readonly<Record<string, string>> = { "%0A": "\n", "%0D": "\r", "%22": '"' };

/** The values of each lower-case header name, one character per byte. */
type PartHeaders = Readonly<Record<string, readonly string[] | undefined>>;

export interface PartHead {
  readonly name: string;
  /** Undefined for a text field. */
  readonly file: { readonly name: string; readonly type: string } | undefined;
}

/** The boundary in a content type, of at most 70 characters (RFC 2046, section 5.1.1). */
export function boundaryOf(contentType: string): string | undefined {
  for (const [, name, quoted, token] of contentType.matchAll(TYPE_PARAMETERS)) {
    if (name!.toLowerCase() !== "boundary") continue;
    const boundary = quoted ?? token ?? "";
    return boundary === "" || boundary.length > 70 ? undefined : boundary;
  }
  return undefined;
}

/** Fields in the order of their parts. Cancels the stream on failure, with a 400 or a 413. */
export async function readMultipartForm(
  body: ReadableStream<Uint8Array>,
  boundary: string,
  limits: ResolvedLimits,
  storage: UploadStorage,
): Promise<FormEntry[]> {
  return await new FormReader(body.getReader(), new Dicer({ boundary, ...DICER_LIMITS }), limits, storage).read();
}

/** Dicer emits the parts, whose contents are read concurrently. */
class FormReader {
  readonly #body: ReadableStreamDefaultReader<Uint8Array>;
  readonly #dicer: Dicer;
  readonly #limits: ResolvedLimits;
  readonly #storage: UploadStorage;
  readonly #entries: FormEntry[] = [];
  readonly #parts = new Map<Dicer.PartStream, Promise<void>>();
  readonly #end = Promise.withResolvers<void>();
  #textSize = 0;
  #isFinished = false;
  #failure: { readonly reason: unknown } | undefined;
  #headless: Dicer.PartStream | undefined;
  #stopWaiting = () => {};

  constructor(
    body: ReadableStreamDefaultReader<Uint8Array>,
    dicer: Dicer,
    limits: ResolvedLimits,
    storage: UploadStorage,
  ) {
    this.#body = body;
    this.#dicer = dicer;
    this.#limits = limits;
    this.#storage = storage;
    dicer.on("part", (part) => this.#begin(part));
    dicer.on("finish", () => this.#finish());
    dicer.on("error", (cause) => this.#fail(malformedForm(cause)));
  }

  async read(): Promise<FormEntry[]> {
    try {
      await this.#readBody();
      if (!this.#isFinished && !this.#failure) this.#dicer.end();
      await this.#end.promise;
      if (this.#headless) this.#fail(malformedForm());
    } catch (error) {
      this.#fail(error);
    }
    await Promise.all(this.#parts.values());
    if (this.#failure) throw this.#failure.reason;
    return this.#entries;
  }

  async #readBody(): Promise<void> {
    const { multipart } = this.#limits;
    for (let size = 0; !this.#failure;) {
      const { done, value } = await this.#body.read();
      if (done) return;
      size += value.length;
      if (size > multipart) throw tooLarge(multipart);
      await this.#write(value);
    }
  }

  /** Waits until Dicer accepts more. After a failure it never calls back: its part is destroyed. */
  #write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#isFinished || this.#failure) return undefined;
    return new Promise((resolve) => {
      this.#stopWaiting = resolve;
      this.#dicer.write(chunk, () => resolve());
    });
  }

  #begin(part: Dicer.PartStream): void {
    // Without a listener, a failure before the part is read would end the program.
    part.on("error", () => {});
    if (this.#headless) this.#fail(malformedForm());
    if (this.#failure) return void part.destroy();
    this.#headless = part;
    part.on("header", (headers) => {
      this.#headless = undefined;
      this.#parts.set(part, this.#readPart(part, headers as PartHeaders));
    });
  }

  async #readPart(part: Dicer.PartStream, headers: PartHeaders): Promise<void> {
    try {
      if (isTooLong(headers)) throw malformedForm();
      const { name, file } = readPartHead(headers);
      const index = this.#entries.push([name, ""]) - 1;
      if (this.#entries.length > this.#limits.parts) throw tooManyFields(this.#limits.parts);
      this.#entries[index] = [name, file ? await this.#readFile(part, file) : await this.#readText(part)];
      this.#parts.delete(part);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #readText(part: Dicer.PartStream): Promise<string> {
    const bytes = new ByteStore();
    for await (const chunk of part) {
      this.#textSize += chunk.length;
      if (this.#textSize > this.#limits.body) throw tooLarge(this.#limits.body, "The text fields of the form are");
      bytes.append(chunk);
    }
    const text = decodeUtf8(bytes.whole());
    if (text === undefined) throw new HTTPError(400, "The text fields of the form must be in UTF-8");
    return text;
  }

  async #readFile(part: Dicer.PartStream, { name, type }: NonNullable<PartHead["file"]>): Promise<UploadedFile> {
    const upload = this.#storage.receive();
    let size = 0;
    for await (const chunk of part) {
      size += chunk.length;
      if (size > this.#limits.file) throw tooLarge(this.#limits.file, "A file is");
      await upload.write(chunk);
    }
    return new UploadedFile(await upload.finish(), name, type);
  }

  /** Dicer may not call back for the write with the last boundary, so the wait ends here. */
  #finish(): void {
    this.#isFinished = true;
    this.#end.resolve();
    this.#stopWaiting();
  }

  /** Ends all waits, for the body and its parts. Only the first failure counts. */
  #fail(reason: unknown): void {
    if (this.#failure) return;
    this.#failure = { reason };
    this.#end.resolve();
    this.#stopWaiting();
    this.#body.cancel(reason).catch(() => {});
    for (const part of this.#parts.keys()) part.destroy();
  }
}

/** Throws a 400 if the headers name no field. */
export function readPartHead(headers: PartHeaders): PartHead {
  const [disposition, ...others] = headers["content-disposition"] ?? [];
  if (disposition === undefined || others.length > 0) throw malformedHead();
  const parameters = parametersOf(disposition);
  const name = parameters.get("name");
  if (name === undefined) throw malformedHead();
  const encoded = parameters.get("filename*");
  const fileName = parameters.get("filename") ?? (encoded === undefined ? undefined : decodeExtended(encoded));
  if (fileName === undefined) return { name, file: undefined };
  const [type = "application/octet-stream"] = MEDIA_TYPE.exec(headers["content-type"]?.[0]?.trim() ?? "") ?? [];
  return { name, file: { name: baseName(fileName), type: type.toLowerCase() } };
}

function parametersOf(disposition: string): Map<string, string> {
  const start = /^[ \t]*form-data[ \t]*/i.exec(disposition);
  if (!start) throw malformedHead();
  const parameters = new Map<string, string>();
  let end = DISPOSITION_PARAMETER.lastIndex = start[0].length;
  for (let match; (match = DISPOSITION_PARAMETER.exec(disposition)); end = DISPOSITION_PARAMETER.lastIndex) {
    const [, key = "", quoted, token = ""] = match;
    // Parsers disagree about which of two parameters of one name counts.
    if (parameters.has(key.toLowerCase())) throw malformedHead();
    parameters.set(key.toLowerCase(), decodeName(quoted === undefined ? token.trimEnd() : unquote(quoted)));
  }
  if (!/^[ \t;]*$/.test(disposition.slice(end))) throw malformedHead();
  return parameters;
}

/** Browsers do not escape a backslash, so only `\"` and `\\` count as escaped. */
function unquote(text: string): string {
  return text.replace(/\\(["\\])/g, "$1");
}

function decodeName(bytes: string): string {
  const text = decodeUtf8(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
  if (text === undefined) throw new HTTPError(400, "The names of the form must be in UTF-8");
  return text.replace(/%(?:0A|0D|22)/g, (escape) => ESCAPES[escape]!);
}

/** Decodes a name in the notation of RFC 8187, which RFC 7578 forbids but some clients send. */
function decodeExtended(value: string): string {
  const [, text] = /^utf-8'[^']*'(.*)$/i.exec(value) ?? [];
  try {
    return decodeURIComponent(text ?? value);
  } catch {
    throw malformedHead();
  }
}

/** The file name without folders, control characters and bidirectional marks. */
function baseName(name: string): string {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const cleaned = base.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "").trim();
  return cleaned === "." || cleaned === ".." ? "" : cleaned;
}

function isTooLong(headers: PartHeaders): boolean {
  const lines = Object.entries(headers).flatMap(([name, values = []]) => values.map((value) => name + value));
  return lines.length >= MAX_HEADERS || lines.join("").length > MAX_HEADER_SIZE;
}

function malformedForm(cause?: unknown): HTTPError {
  return new HTTPError(400, "The body is not a well-formed form", cause === undefined ? {} : { cause });
}

function malformedHead(): HTTPError {
  return new HTTPError(400, "The form has a part whose headers are malformed");
}
