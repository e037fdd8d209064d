/** A pair of WebSockets that are connected in memory. */
import { setImmediate } from "node:timers";
import { giveLocalSocket, takeLocalSocket } from "../http/websocket/handshake.ts";

type Data = string | ArrayBuffer;

type Frame = { readonly data: Data } | { readonly code: number; readonly reason: string };

/** A close without a code: RFC 6455, section 7.4.1. */
const NO_CODE = 1005;

const encoder = new TextEncoder();

/**
 * One end of a WebSocket. A message arrives in a later turn of the event loop, so that a program
 * that sends in a loop does not starve all others.
 */
export class LocalSocket extends EventTarget implements WebSocket {
  readonly CONNECTING = WebSocket.CONNECTING;
  readonly OPEN = WebSocket.OPEN;
  readonly CLOSING = WebSocket.CLOSING;
  readonly CLOSED = WebSocket.CLOSED;
  readonly extensions = "";
  readonly url: string;
  readonly #isClient: boolean;
  protocol = "";
  binaryType: BinaryType = "blob";
  onopen: WebSocket["onopen"] = null;
  onmessage: WebSocket["onmessage"] = null;
  onclose: WebSocket["onclose"] = null;
  onerror: WebSocket["onerror"] = null;
  #readyState: number = WebSocket.CONNECTING;
  #peer: LocalSocket | undefined;
  #sent: Frame[] = [];
  #bufferedAmount = 0;

  private constructor(url: string, isClient: boolean) {
    super();
    this.url = url;
    this.#isClient = isClient;
  }

  /** A pair that is connecting. */
  static pair(url: string): [client: LocalSocket, server: LocalSocket] {
    const client = new LocalSocket(url, true);
    const server = new LocalSocket(url, false);
    client.#peer = server;
    server.#peer = client;
    return [client, server];
  }

  /** A package of npm may load the types of browsers, which allow only these values. */
  get readyState(): 0 | 1 | 2 | 3 {
    return this.#readyState as 0 | 1 | 2 | 3;
  }

  get bufferedAmount(): number {
    return this.#bufferedAmount;
  }

  /** Opens both ends. */
  open(protocol: string): void {
    for (const end of [this.#peer!, this]) {
      if (end.#readyState !== WebSocket.CONNECTING) continue;
      end.protocol = protocol;
      end.#readyState = WebSocket.OPEN;
    }
    for (const end of [this.#peer!, this]) end.#fire(new Event("open"));
  }

  /** Closes both ends without a closing handshake, like a failed connection. */
  break(): void {
    for (const end of [this, this.#peer!]) {
      end.#take();
      end.#end(new CloseEvent("close", { wasClean: false, code: 1006 }));
    }
  }

  send(data: string | ArrayBufferLike | Blob | ArrayBufferView): void {
    if (this.#readyState === WebSocket.CONNECTING) {
      throw new DOMException("The WebSocket is not open yet", "InvalidStateError");
    }
    if (data instanceof Blob) throw new TypeError("Cannot send a Blob: send its text or its bytes");
    if (this.#readyState !== WebSocket.OPEN) return;
    const copy = typeof data === "string" ? data : bytesOf(data);
    this.#bufferedAmount += typeof copy === "string" ? encoder.encode(copy).length : copy.byteLength;
    this.#post({ data: copy });
  }

  /** As on the platform, only a server may close with the codes of the protocol. */
  close(code?: number, reason = ""): void {
    if (this.#isClient && code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) {
      throw new DOMException(`The close code must be 1000, or 3000 to 4999: got ${code}`, "InvalidAccessError");
    }
    if (encoder.encode(reason).length > 123) {
      throw new DOMException("The reason of a close has at most 123 bytes", "SyntaxError");
    }
    if (this.#readyState >= WebSocket.CLOSING) return;
    if (this.#readyState === WebSocket.CONNECTING) return this.break();
    this.#readyState = WebSocket.CLOSING;
    this.#post({ code: code ?? NO_CODE, reason });
  }

  #post(frame: Frame): void {
    if (this.#sent.push(frame) === 1) setImmediate(() => this.#deliver());
  }

  #take(): Frame[] {
    const frames = this.#sent;
    this.#sent = [];
    this.#bufferedAmount = 0;
    return frames;
  }

  #deliver(): void {
    for (const frame of this.#take()) {
      if ("data" in frame) this.#peer!.#receive(frame.data);
      else this.#finish(frame.code, frame.reason);
    }
  }

  #receive(data: Data): void {
    // The platform still receives after `close()`.
    if (this.#readyState === WebSocket.CLOSED) return;
    const isBlob = typeof data !== "string" && this.binaryType === "blob";
    this.#fire(new MessageEvent("message", { data: isBlob ? new Blob([data]) : data }));
  }

  /** The other end answers a close after the messages that it sent before. */
  #finish(code: number, reason: string): void {
    for (const frame of this.#peer!.#take()) if ("data" in frame) this.#receive(frame.data);
    const init = { wasClean: true, code, reason };
    for (const end of [this.#peer!, this]) end.#end(new CloseEvent("close", init));
  }

  #end(event: CloseEvent): void {
    if (this.#readyState === WebSocket.CLOSED) return;
    this.#readyState = WebSocket.CLOSED;
    if (!event.wasClean) this.#fire(new Event("error"));
    this.#fire(event);
  }

  #fire(event: Event): void {
    const handler = this[`on${event.type}` as "onopen"];
    handler?.call(this, event);
    this.dispatchEvent(event);
  }
}

/** A copy, as the sender may change its buffer. */
function bytesOf(data: ArrayBufferLike | ArrayBufferView): ArrayBuffer {
  const view = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  return new Uint8Array(view).buffer;
}

export interface Opening {
  readonly socket: LocalSocket;
  /** Settles when the socket is open or refused. */
  readonly response: Promise<Response>;
}

/** Sends the handshake of a WebSocket: adds its headers to the request. */
export function openSocket(request: Request, send: (request: Request) => Promise<Response>): Opening {
  const { headers } = request;
  headers.set("connection", "upgrade");
  headers.set("upgrade", "websocket");
  headers.set("sec-websocket-version", "13");
  headers.set("sec-websocket-key", crypto.getRandomValues(new Uint8Array(16)).toBase64());
  const [socket, server] = LocalSocket.pair(request.url.replace(/^http/, "ws"));
  giveLocalSocket(request, server);
  const open = async () => {
    try {
      const response = await send(request);
      if (response.status !== 101) socket.break();
      else if (takeLocalSocket(request)) {
        throw new TypeError("Cannot open the WebSocket: only an App of @webfw/core accepts one without a connection");
      } else socket.open(response.headers.get("sec-websocket-protocol") ?? "");
      return response;
    } catch (error) {
      socket.break();
      throw error;
    }
  };
  return { socket, response: open() };
}
