// Sends forms over a socket, and counts every byte that the server accepts.

const BOUNDARY = "B";
const HEAD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="zeros"\r\n\r\n`;
const TAIL = `\r\n--${BOUNDARY}--\r\n`;
const CHUNK = new Uint8Array(256 * 1024);

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** How an upload is sent. */
export interface Upload {
  readonly port: number;
  readonly path: string;
  /** The size of its file in bytes. */
  readonly size: number;
  /** Whether the client announces the length. */
  readonly isAnnounced: boolean;
  /** Stops sending after this many bytes of the file, and keeps the request open. */
  readonly stallsAt?: number;
}

/** The outcome of the upload. */
export interface Outcome {
  readonly status: number;
  /** Bytes of the body of the reply. */
  readonly received: number;
  /** Bytes of the file that had left when the reply began. */
  readonly sent: number;
  readonly seconds: number;
}

/** Sends an upload until it is whole or answered. */
export async function send({ port, path, size, isAnnounced, stallsAt = Infinity }: Upload): Promise<Outcome> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const start = performance.now();
  const framing = isAnnounced ? `Content-Length: ${HEAD.length + size + TAIL.length}` : "Transfer-Encoding: chunked";
  const type = `multipart/form-data; boundary=${BOUNDARY}`;
  await write(
    connection,
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`,
  );
  const frame = isAnnounced ? asItIs : framed;
  let sent = 0;
  let sentBefore: number | undefined;
  const reply = read(connection, () => sentBefore = sent);
  const sending = async (): Promise<void> => {
    await write(connection, frame(encoder.encode(HEAD)));
    while (sent < Math.min(size, stallsAt) && sentBefore === undefined) {
      const chunk = CHUNK.subarray(0, Math.min(CHUNK.length, size - sent));
      await write(connection, frame(chunk));
      sent += chunk.length;
    }
    if (sent < size) return;
    await write(connection, frame(encoder.encode(TAIL)));
    if (!isAnnounced) await write(connection, "0\r\n\r\n");
  };
  // A server that has replied may close the connection. The reply matters, not the failed write.
  const sendingEnded = sending().catch(() => {});
  const { status, received } = await reply;
  await sendingEnded;
  return { status, received, sent: sentBefore ?? sent, seconds: (performance.now() - start) / 1_000 };
}

async function read(connection: Deno.Conn, onReply: () => void): Promise<{ status: number; received: number }> {
  const chunk = new Uint8Array(1024 * 1024);
  let head = "";
  while (!head.includes("\r\n\r\n")) {
    const size = await connection.read(chunk);
    onReply();
    if (size === null) throw new Error(`Cannot read the reply: it ended after "${head}"`);
    head += decoder.decode(chunk.subarray(0, size));
  }
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  let received = head.length - head.indexOf("\r\n\r\n") - 4;
  while (received < length) received += await connection.read(chunk) ?? Infinity;
  return { status: Number(head.split(" ")[1]), received };
}

async function write(connection: Deno.Conn, data: string | Uint8Array): Promise<void> {
  let bytes = typeof data === "string" ? encoder.encode(data) : data;
  while (bytes.length > 0) bytes = bytes.subarray(await connection.write(bytes));
}

function asItIs(bytes: Uint8Array): Uint8Array {
  return bytes;
}

function framed(bytes: Uint8Array): Uint8Array {
  const head = encoder.encode(`${bytes.length.toString(16)}\r\n`);
  const whole = new Uint8Array(head.length + bytes.length + 2);
  whole.set(head);
  whole.set(bytes, head.length);
  whole.set([13, 10], head.length + bytes.length);
  return whole;
}
