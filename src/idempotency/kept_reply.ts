/** Replies as they are kept in records, and sent again. */
import { WITHOUT_BODY } from "../http/reply.ts";
import type { Records } from "../records/records.ts";

/** The largest body that is kept, in bytes. */
const MAX_BODY = 1024 * 1024;
/** How much of a body one record takes, in bytes before base64. */
const PART_BYTES = 40 * 1024;
/** The most characters of headers that are kept beside a part of the body. */
const MAX_HEADERS = 3_000;

/** Headers that belong to one connection or one client. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  "set-cookie",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "date",
]);

/** A reply that is kept. */
export interface KeptReply {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The first part of the body in base64; null if the body is too large to be kept. */
  readonly body: string | null;
  /** How many further records have the rest. */
  readonly parts: number;
}

/** A reply to send, and what is kept of it. */
export interface CapturedReply {
  readonly response: Response;
  readonly reply: Omit<KeptReply, "body" | "parts">;
  /** The body; null if it is too large. */
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/**
 * Reads a reply, up to the largest body that is kept.
 *
 * @param response The reply.
 * @param further Headers that are not on the reply yet.
 */
export async function captureReply(response: Response, further: Headers | undefined): Promise<CapturedReply> {
  const headers = [...response.headers, ...further ?? []].filter(([name]) => !NOT_KEPT.has(name));
  const isKept = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0) <= MAX_HEADERS;
  const reply = { status: response.status, headers: isKept ? headers : [] };
  // Events may never end.
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (!isKept || isStream) return { response, reply, body: null };
  if (!response.body) return { response, reply, body: new Uint8Array() };
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const reader = response.body.getReader();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      const body = joined(chunks, size);
      return { response: new Response(body, response), reply, body };
    }
    chunks.push(value);
    size += value.length;
    if (size > MAX_BODY) return { response: new Response(resumed(chunks, reader), response), reply, body: null };
  }
}

/**
 * Writes the further parts of a body. Nothing refers to them before the record of the reply does.
 *
 * @param records The records.
 * @param key The key of the reply; the parts are below it.
 * @returns The first part, and how many further ones there are.
 */
export async function keepBody(
  body: Uint8Array<ArrayBuffer> | null,
  records: Records,
  key: readonly string[],
  expiresIn: number,
): Promise<Pick<KeptReply, "body" | "parts">> {
  if (body === null) return { body: null, parts: 0 };
  let parts = 0;
  for (let start = PART_BYTES; start < body.length; start += PART_BYTES) {
    const part = body.subarray(start, start + PART_BYTES).toBase64();
    await records.set([...key, `${++parts}`], part, { expiresIn });
  }
  return { body: body.subarray(0, PART_BYTES).toBase64(), parts };
}

/** Makes a kept reply again; undefined if it was too large, or a part is no longer there. */
export async function repeatReply(
  { status, headers, body, parts }: KeptReply,
  records: Records,
  key: readonly string[],
): Promise<Response | undefined> {
  if (body === null) return undefined;
  const found = [Uint8Array.fromBase64(body)];
  for (let part = 1; part <= parts; part++) {
    const entry = await records.get<string>([...key, `${part}`]);
    if (!entry) return undefined;
    found.push(Uint8Array.fromBase64(entry.value));
  }
  const bytes = joined(found, found.reduce((sum, { length }) => sum + length, 0));
  const again = new Headers(headers.map(([name, value]): [string, string] => [name, value]));
  again.set("idempotency-replayed", "true");
  return new Response(WITHOUT_BODY.has(status) ? null : bytes, { status, headers: again });
}

function joined(chunks: readonly Uint8Array<ArrayBuffer>[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let position = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, position);
    position += chunk.length;
  }
  return bytes;
}

/** A stream of what was read, and of the rest. */
function resumed(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const read = [...chunks];
  return new ReadableStream({
    async pull(controller) {
      const chunk = read.shift();
      if (chunk) return controller.enqueue(chunk);
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
