/** Replies that are kept in records, and sent again. */
import { WITHOUT_BODY } from "../http/reply.ts";
import { countBytes } from "../base/json_data.ts";
import type { Records } from "../store/records.ts";

const MAX_BODY = 1024 * 1024;
/** The longest time to read a body before it is sent, in milliseconds: it may never end. */
const MAX_TIME = 30_000;
/** The bytes of a body in one record, before base64. */
const PART_BYTES = 42_000;
/** The largest body that is compressed to fit one record, in bytes. */
const ONE_RECORD_BYTES = 48 * 1024;
/** The most bytes of headers, as JSON, beside a part of the body. */
const MAX_HEADERS = 4_000;

/** Headers that belong to one connection or one client. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  "set-cookie",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "date",
]);

export interface KeptReply {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The first part of the body in base64; null if the body is too large or too slow. */
  readonly body: string | null;
  /** How many further records have the rest. */
  readonly parts: number;
  readonly isDeflated: boolean;
}

type KeptBody = Pick<KeptReply, "body" | "parts" | "isDeflated">;

export interface CapturedReply {
  readonly response: Response;
  readonly reply: Omit<KeptReply, keyof KeptBody>;
  /** Null if it is too large or too slow. */
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/** @param further Headers that replace those of the reply. */
export async function captureReply(response: Response, further: Headers | undefined): Promise<CapturedReply> {
  const all = new Headers(response.headers);
  for (const [name, value] of further ?? []) all.set(name, value);
  const headers = [...all].filter(([name]) => !NOT_KEPT.has(name));
  const isKept = countBytes(JSON.stringify(headers)) <= MAX_HEADERS;
  const reply = { status: response.status, headers: isKept ? headers : [] };
  if (!isKept) return { response, reply, body: null };
  if (!response.body) return { response, reply, body: new Uint8Array() };
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const reader = response.body.getReader();
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, MAX_TIME);
  try {
    for (let size = 0; size <= MAX_BODY;) {
      const reading = reader.read();
      const read = await Promise.race([reading, late.promise]);
      if (!read) return { response: new Response(resumed(chunks, reader, reading), response), reply, body: null };
      if (read.done) {
        const body = joined(chunks, size);
        return { response: new Response(body, response), reply, body };
      }
      chunks.push(read.value);
      size += read.value.length;
    }
  } finally {
    clearTimeout(timer);
  }
  return { response: new Response(resumed(chunks, reader), response), reply, body: null };
}

/**
 * Writes the further parts of a body, before the record of the reply refers to them. Their keys
 * begin with `key`.
 *
 * @returns The first part, and the number of further ones.
 */
export async function keepBody(
  body: Uint8Array<ArrayBuffer> | null,
  records: Records,
  key: readonly string[],
  expiresIn: number,
): Promise<KeptBody> {
  if (body === null) return { body: null, parts: 0, isDeflated: false };
  const mayFit = body.length > PART_BYTES && body.length <= ONE_RECORD_BYTES;
  const deflated = mayFit ? await through(new CompressionStream("deflate-raw"), body) : body;
  const isDeflated = deflated !== body && deflated.length <= PART_BYTES;
  const kept = isDeflated ? deflated : body;
  const parts = Math.max(0, Math.ceil(kept.length / PART_BYTES) - 1);
  await Promise.all(Array.from({ length: parts }, (_, index) => {
    const start = (index + 1) * PART_BYTES;
    return records.set([...key, `${index + 1}`], kept.subarray(start, start + PART_BYTES).toBase64(), { expiresIn });
  }));
  return { body: kept.subarray(0, PART_BYTES).toBase64(), parts, isDeflated };
}

/** Undefined if the body was too large or too slow, or a part has expired. */
export async function repeatReply(
  { status, headers, body, parts, isDeflated }: KeptReply,
  records: Records,
  key: readonly string[],
): Promise<Response | undefined> {
  if (body === null) return undefined;
  const further = await Promise.all(
    Array.from({ length: parts }, (_, index) => records.get<string>([...key, `${index + 1}`])),
  );
  const found = [Uint8Array.fromBase64(body)];
  for (const entry of further) {
    if (!entry) return undefined;
    found.push(Uint8Array.fromBase64(entry.value));
  }
  const kept = joined(found, found.reduce((sum, { length }) => sum + length, 0));
  const bytes = isDeflated ? await through(new DecompressionStream("deflate-raw"), kept) : kept;
  const again = new Headers(headers.map(([name, value]): [string, string] => [name, value]));
  again.set("idempotency-replayed", "true");
  return new Response(WITHOUT_BODY.has(status) ? null : bytes, { status, headers: again });
}

function through(
  transform: CompressionStream | DecompressionStream,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  return new Response(new Blob([bytes]).stream().pipeThrough(transform)).bytes();
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

/** The chunks so far, and the rest. `reading` is a pending read. */
function resumed(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  reading?: ReturnType<typeof reader.read>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const read = [...chunks].values();
  // It may fail before the stream awaits it.
  reading?.catch(() => {});
  return new ReadableStream({
    async pull(controller) {
      const { value: chunk } = read.next();
      if (chunk) return controller.enqueue(chunk);
      const next = reading ?? reader.read();
      reading = undefined;
      const { done, value } = await next;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
