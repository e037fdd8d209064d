/** WebSockets of a test client. Loaded with the first one. */
import {
  compileDecoding,
  type DecodeMessage,
  type EncodeMessage,
  type MessageData,
  ReceiveQueue,
  UnreadableMessage,
  WebSocketClosedError,
} from "../http/websocket/messages.ts";
import { stringify } from "../http/json.ts";
import { toValidator } from "../schema/check.ts";
import { summarizeIssues } from "../schema/issues.ts";
import { type GivenSchema, isSchema, type Mistake, schemaFault } from "../schema/schema.ts";
import type { TestRequestInit } from "./request.ts";
import type { LocalSocket } from "./socket_pair.ts";

/**
 * @ignore The options of a WebSocket. The schemas are those of the client's view.
 */
export interface TestSocketInit<Receive = unknown, Send = never> extends Omit<TestRequestInit, "json" | "body"> {
  /**
   * The schema of JSON from the server. Without one, messages are strings and `Uint8Array`s.
   */
  receive?: GivenSchema<unknown, Receive> | Mistake<"Give one valibot schema, such as v.object({ … })">;
  /** The schema of JSON that the client sends. Without one, it sends strings and bytes. */
  send?: GivenSchema<Send, unknown> | Mistake<"Give one valibot schema, such as v.object({ … })">;
  /** The subprotocols that the client offers. */
  protocols?: readonly string[];
}

/** The limit for unread messages, in bytes. */
const MAX_UNREAD = 16 * 1024 * 1024;

/**
 * An open WebSocket of a test client. `for await` reads the messages of the server until the socket
 * is closed.
 */
export class TestSocket<Receive = string | Uint8Array<ArrayBuffer>, Send = string | Uint8Array>
  implements AsyncIterable<Receive>, AsyncDisposable {
  /** The subprotocol that the server has chosen, or an empty string. */
  readonly protocol: string;
  /** Settles when the socket is closed, with the code and the reason. */
  readonly ended: Promise<WebSocketClosedError>;
  readonly #socket: LocalSocket;
  readonly #codec: Codec;
  readonly #unread = new ReceiveQueue(MAX_UNREAD);
  #closed: WebSocketClosedError | null = null;

  /**
   * Wraps the client's end of an open socket; the test client calls it.
   *
   * @ignore
   */
  constructor(socket: LocalSocket, codec: Codec) {
    this.protocol = socket.protocol;
    this.#socket = socket;
    this.#codec = codec;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (this.#unread.add(typeof data === "string" ? data : new Uint8Array(data))) return;
      socket.close(4008, "Messages come faster than the test reads them");
    };
    this.ended = new Promise((resolve) => {
      socket.onclose = ({ code, reason }) => {
        this.#closed = new WebSocketClosedError(code, reason);
        this.#unread.end();
        resolve(this.#closed);
      };
    });
  }

  /** The close code and reason; null while the socket is open. */
  get closed(): WebSocketClosedError | null {
    return this.#closed;
  }

  /**
   * Sends a message.
   *
   * @param message The message.
   * @throws {TypeError} If the message does not fit the schema, or cannot be sent without one.
   * @throws {WebSocketClosedError} If the socket is closed.
   */
  async send(message: Send): Promise<void> {
    const data = await this.#codec.encode(message);
    if (this.#closed) throw this.#closed;
    this.#socket.send(data);
  }

  /**
   * Waits for the next message.
   *
   * @throws {WebSocketClosedError} If the socket is closed, and no message is left.
   * @throws {TypeError} If the message does not fit the schema.
   */
  async receive(): Promise<Receive> {
    const data = await this.#unread.take();
    if (data === undefined) throw await this.ended;
    return await this.#codec.decode(data) as Receive;
  }

  /**
   * Closes the socket, and waits until the server has closed it, too.
   *
   * @param code The close code: 1000, the default, or 3000 to 4999.
   * @param reason The reason, at most 123 bytes.
   * @throws {DOMException} If the code or the reason is invalid.
   */
  async close(code = 1000, reason = ""): Promise<void> {
    this.#socket.close(code, reason);
    await this.ended;
  }

  /** The messages until the socket is closed. Leaving the loop does not close it. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Receive, void, void> {
    for (let data = await this.#unread.take(); data !== undefined; data = await this.#unread.take()) {
      yield await this.#codec.decode(data) as Receive;
    }
  }

  /** Closes the socket. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

interface Codec {
  readonly decode: DecodeMessage;
  readonly encode: EncodeMessage;
}

/** @throws {TypeError} If one is no schema. */
export function codecOf(path: string, schemas: { readonly receive: unknown; readonly send: unknown }): Codec {
  for (const [option, schema] of Object.entries(schemas)) {
    if (schema === undefined || isSchema(schema)) continue;
    throw new TypeError(`Cannot open the WebSocket ${path}: "${option}" ${schemaFault(schema)}`);
  }
  return { decode: decoder(path, schemas.receive), encode: encoder(path, schemas.send) };
}

function decoder(path: string, schema: unknown): DecodeMessage {
  const decode = compileDecoding(isSchema(schema) ? schema : undefined, path);
  return async (data) => {
    try {
      return await decode(data);
    } catch (error) {
      if (!(error instanceof UnreadableMessage)) throw error;
      throw new TypeError(`Cannot read the message of ${path}: ${error.message}, got ${preview(data)}`);
    }
  };
}

/** Sends the input of the schema: the server transforms it. */
function encoder(path: string, schema: unknown): EncodeMessage {
  if (!isSchema(schema)) {
    return (message) => {
      if (typeof message === "string" || message instanceof Uint8Array) return message as MessageData;
      throw new TypeError(`Cannot send the message to ${path}: without a schema it must be a string or a Uint8Array`);
    };
  }
  const { validate } = toValidator(schema);
  return async (message) => {
    const { issues } = await validate(message);
    if (!issues) return stringify(message);
    const faults = summarizeIssues(issues, "the message");
    throw new TypeError(`Cannot send the message to ${path}: it does not fit the schema, ${faults}`);
  };
}

function preview(data: MessageData): string {
  return typeof data === "string" ? data.slice(0, 500) : `${data.length} bytes`;
}
