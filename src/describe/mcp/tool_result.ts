import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import { HTTPError, type Issue, type ProblemDetails } from "../../errors.ts";
import { withOwnDeadline } from "../../http/deadline.ts";
import { isJson, mediaTypeOf } from "../../http/json.ts";
import type { ReplyBudget } from "./reply_budget.ts";

/** Tells an agent why a call failed. */

/** What an agent is told of one failure, in bytes. */
export const MAX_FAILURE: number = 1024 * 1024;

/** The result of a call that failed. Its text is cut where it is too long. */
export function failed(text: string): CallToolResult {
  return { content: [{ type: "text", text: cut(text) }], isError: true };
}

function cut(text: string): string {
  // A character has three bytes at most.
  if (text.length * 3 <= MAX_FAILURE) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_FAILURE));
  return text.slice(0, read);
}

/**
 * A problem in words: what it is, then each fault of the arguments, then what else the application tells of it.
 *
 * @param problem The body of an error reply.
 */
export function problemText({ type: _, title, status, detail, instance: __, errors, ...rest }: ProblemDetails): string {
  const lines = [detail === title ? `${status} ${title}` : `${status} ${title}: ${detail}`];
  if (isIssues(errors)) { for (const issue of errors) lines.push(issueText(issue)); }
  else if (errors !== undefined) rest.errors = errors;
  for (const [name, value] of Object.entries(rest)) lines.push(`${name}: ${JSON.stringify(value)}`);
  return lines.join("\n");
}

/** A fault by the name of the argument that has it. */
function issueText({ in: source, path, message }: Issue): string {
  const place = source === "body" || source === "form" ? [source, ...path] : path;
  return `- ${place.join(".")}: ${message}`;
}

function isIssues(errors: unknown): errors is Issue[] {
  return Array.isArray(errors) &&
    errors.every((error) => Array.isArray(error?.path) && typeof error.message === "string");
}

/** Makes the result of a tool of the reply to its request. */

/** What a tool declares of its results: nothing, that they are objects, or that the `result` of an object holds them. */
export type OutputForm = "open" | "object" | "wrapped";

/** How long a reply may take once it has begun, in milliseconds. */
const MAX_TIME = 30_000;

/** Media types that are text, those of `text/…` aside. */
const TEXTUAL = /^(?:.+\+(?:json|xml|yaml)|application\/(?:json|jsonl|xml|yaml|javascript|x-ndjson))$/;

/**
 * Makes the result of a call.
 *
 * @param response The reply; its body is read, or cancelled.
 * @param form What the tool declares of its results.
 * @param budget Bounds the reply, which may have no end at all.
 * @param url Where the reply came from, by which a client can refer to a file.
 * @throws {HTTPError} When the reply is too large, or never ends.
 * @throws {TypeError} When it is not what the tool declares. Only a handler that makes its own `Response` comes to that.
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
  if (!response.ok) return failed(failureText(response, type, bytes));
  if (isJson(response.headers.get("content-type"))) return jsonResult(decode(bytes), form);
  if (bytes.length === 0 && form === "wrapped") return structured({}, "{}");
  if (form !== "open") throw misfit(type);
  return { content: [bytes.length === 0 ? { type: "text", text: "Done" } : blockOf(type, bytes, url)] };
}

function jsonResult(text: string, form: OutputForm): CallToolResult {
  const value: unknown = JSON.parse(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (form === "object" && !isObject) throw misfit("JSON of another kind");
  if (form !== "wrapped" && isObject) return structured(value as Record<string, unknown>, text);
  return structured({ result: value }, `{"result":${text}}`);
}

/** Clients that know of no structured results read the text, which says the same. */
function structured(structuredContent: Record<string, unknown>, text: string): CallToolResult {
  return { content: [{ type: "text", text }], structuredContent };
}

/** A client that was told of a schema refuses a result without it. */
function misfit(type: string): TypeError {
  const got = type === "" ? "nothing" : type;
  return new TypeError(
    `Cannot give the result of the tool: its route declares a response, the handler replied with ${got}`,
  );
}

function failureText(response: Response, type: string, bytes: Uint8Array): string {
  const text = isText(type) ? decode(bytes) : "";
  if (type === "application/problem+json") return problemText(JSON.parse(text));
  const location = response.headers.get("location");
  const status = `${response.status}${location === null ? "" : `, go to ${location}`}`;
  return text === "" ? `Status ${status}` : `Status ${status}: ${text}`;
}

function blockOf(type: string, bytes: Uint8Array, url: string): ContentBlock {
  if (isText(type)) return { type: "text", text: decode(bytes) };
  const data = bytes.toBase64();
  if (type.startsWith("image/")) return { type: "image", data, mimeType: type };
  if (type.startsWith("audio/")) return { type: "audio", data, mimeType: type };
  const mimeType = type === "" ? "application/octet-stream" : type;
  return { type: "resource", resource: { uri: url, mimeType, blob: data } };
}

function isText(type: string): boolean {
  return type.startsWith("text/") || TEXTUAL.test(type);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The body; undefined where it is that of a failure and too large. */
async function read(response: Response, type: string, budget: ReplyBudget): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array();
  const reader = response.body.getReader();
  const tooSlow = () => new HTTPError(500, "The reply does not end in time");
  try {
    if (type === "text/event-stream") {
      throw new HTTPError(500, "The reply is a stream of events, which a tool cannot give");
    }
    const most = response.ok ? Infinity : MAX_FAILURE;
    return await withOwnDeadline(collect(reader, budget, most), MAX_TIME, tooSlow, (cause) => cause);
  } finally {
    // Nobody reads on, and a stream has to be told.
    await reader.cancel().catch(() => {});
  }
}

async function collect(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  budget: ReplyBudget,
  most: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return await new Blob(chunks as Uint8Array<ArrayBuffer>[]).bytes();
    size += value.byteLength;
    if (size > most) return undefined;
    if (!budget.take(value.byteLength)) throw new HTTPError(500, budget.refusal);
    chunks.push(value);
  }
}
