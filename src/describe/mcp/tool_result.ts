/** The result of a tool call, from the reply to its request, within limits. */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import { HTTPError, type Issue, type ProblemDetails } from "../../base/errors.ts";
import { withOwnDeadline } from "../../http/deadline.ts";
import { readHttpDate } from "../../http/headers.ts";
import { isJson, mediaTypeOf } from "../../http/json.ts";

/** `open` without a schema; `wrapped`: an object with the property `result`. */
export type OutputForm = "open" | "object" | "wrapped";

/** In bytes, for all replies to one HTTP request: more than an agent can read. */
const MAX_REPLIES = 4 * 1024 * 1024;
/** In bytes, for one failure. */
const MAX_FAILURE = 1024 * 1024;
/** In milliseconds, for the body of a reply. */
const MAX_TIME = 30_000;

const TEXTUAL = /^(?:.+\+(?:json|xml|yaml)|application\/(?:json|jsonl|xml|yaml|javascript|x-ndjson))$/;

/** The remaining bytes. The calls of a batch share them. */
export class ReplyBudget {
  readonly #isBatch: boolean;
  #left = MAX_REPLIES;

  constructor(isBatch: boolean) {
    this.#isBatch = isBatch;
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  /** False if the bytes exceed the limit. */
  use(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** The list of tools has a limit only in a batch. */
  useForList(bytes: number): boolean {
    return !this.#isBatch || this.use(bytes);
  }

  get refusal(): string {
    return this.#isBatch
      ? `The replies of the batch are larger than ${MAX_REPLIES} bytes together, ask for less at once`
      : `The reply is larger than ${MAX_REPLIES} bytes, ask for less`;
  }
}

/**
 * Reads or cancels the body of a reply.
 *
 * @param url By which a client can refer to a file.
 * @throws {HTTPError} If the reply is too large or too slow.
 * @throws {TypeError} If the handler made a `Response` that contradicts the declaration.
 */
export async function toResult(
  response: Response,
  form: OutputForm,
  budget: ReplyBudget,
  url: string,
): Promise<CallToolResult> {
  const type = mediaTypeOf(response.headers);
  const bytes = await read(response, type, budget);
  if (bytes === undefined) return failed(`Status ${response.status}: its text is larger than ${MAX_FAILURE} bytes`);
  if (!response.ok) return failed(failureText(response, type, bytes) + retryText(response.headers));
  if (isJson(response.headers.get("content-type"))) return jsonResult(decode(bytes), form);
  if (bytes.length === 0 && form === "wrapped") return structured({}, "{}");
  if (form !== "open") throw mismatch(type);
  return { content: [bytes.length === 0 ? { type: "text", text: "Done" } : contentBlock(type, bytes, url)] };
}

/** Truncates a long text. */
export function failed(text: string): CallToolResult {
  return { content: [{ type: "text", text: cut(text) }], isError: true };
}

/** A line of text; empty without `Retry-After`. */
export function retryText(headers: Headers): string {
  const value = headers.get("retry-after")?.trim() ?? "";
  // Seconds or a date (RFC 9110, section 10.2.3).
  const date = readHttpDate(value);
  if (date === undefined && !/^\d+$/.test(value)) return "";
  const seconds = date === undefined ? Number(value) : Math.ceil((date - Date.now()) / 1000);
  return `\nRetry after ${Math.max(seconds, 0)} s`;
}

/** Writes the summary, then the issues, then the members of the application. */
export function problemText({ type: _, title, status, detail, instance: __, errors, ...rest }: ProblemDetails): string {
  const lines = [detail === title ? `${status} ${title}` : `${status} ${title}: ${detail}`];
  if (isIssues(errors)) { for (const issue of errors) lines.push(issueText(issue)); }
  else if (errors !== undefined) rest.errors = errors;
  for (const [name, value] of Object.entries(rest)) lines.push(`${name}: ${JSON.stringify(value)}`);
  return lines.join("\n");
}

/** Undefined for a failure that is too large. */
async function read(response: Response, type: string, budget: ReplyBudget): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array();
  const reader = response.body.getReader();
  const tooSlow = () => new HTTPError(500, "The reply does not end in time");
  try {
    if (type === "text/event-stream") {
      throw new HTTPError(500, "The reply is a stream of events, which a tool cannot give");
    }
    const maxSize = response.ok ? Infinity : MAX_FAILURE;
    return await withOwnDeadline(readAll(reader, budget, maxSize), MAX_TIME, tooSlow, (cause) => cause);
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  budget: ReplyBudget,
  maxSize: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return await new Blob(chunks as Uint8Array<ArrayBuffer>[]).bytes();
    size += value.byteLength;
    if (size > maxSize) return undefined;
    if (!budget.use(value.byteLength)) throw new HTTPError(500, budget.refusal);
    chunks.push(value);
  }
}

function jsonResult(text: string, form: OutputForm): CallToolResult {
  const value: unknown = JSON.parse(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (form === "object" && !isObject) throw mismatch("JSON of another kind");
  if (form !== "wrapped" && isObject) return structured(value as Record<string, unknown>, text);
  return structured({ result: value }, `{"result":${text}}`);
}

/** Clients without structured results read the same content as text. */
function structured(structuredContent: Record<string, unknown>, text: string): CallToolResult {
  return { content: [{ type: "text", text }], structuredContent };
}

/** A client refuses a result that does not match the output schema. */
function mismatch(type: string): TypeError {
  const got = type === "" ? "nothing" : type;
  return new TypeError(
    `Cannot return the result of the tool: its route declares a response, the handler replied with ${got}`,
  );
}

function contentBlock(type: string, bytes: Uint8Array, url: string): ContentBlock {
  if (isText(type)) return { type: "text", text: decode(bytes) };
  const data = bytes.toBase64();
  if (type.startsWith("image/")) return { type: "image", data, mimeType: type };
  if (type.startsWith("audio/")) return { type: "audio", data, mimeType: type };
  const mimeType = type === "" ? "application/octet-stream" : type;
  return { type: "resource", resource: { uri: url, mimeType, blob: data } };
}

function failureText(response: Response, type: string, bytes: Uint8Array): string {
  const text = isText(type) ? decode(bytes) : "";
  if (type === "application/problem+json") return problemText(JSON.parse(text));
  const location = response.headers.get("location");
  const status = `${response.status}${location === null ? "" : `, go to ${location}`}`;
  return text === "" ? `Status ${status}` : `Status ${status}: ${text}`;
}

function cut(text: string): string {
  // One UTF-16 code unit is at most three bytes of UTF-8.
  if (text.length * 3 <= MAX_FAILURE) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_FAILURE));
  return text.slice(0, read);
}

function issueText({ in: source, path, message }: Issue): string {
  const place = source === "body" || source === "form" ? [source, ...path] : path;
  return `- ${place.join(".")}: ${message}`;
}

function isIssues(errors: unknown): errors is Issue[] {
  return Array.isArray(errors) &&
    errors.every((error) => Array.isArray(error?.path) && typeof error.message === "string");
}

function isText(type: string): boolean {
  return type.startsWith("text/") || TEXTUAL.test(type);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
