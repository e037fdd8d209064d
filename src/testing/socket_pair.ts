/** Two WebSockets that are connected in memory. */
import { setImmediate } from "node:timers";

type Data = string | ArrayBuffer;

/** What one end sends to the other. */
type Frame = { readonly data: Data } | { readonly code: number; readonly reason: string };

/** The code of a close without one (RFC 6455, section 7.4.1). */
const NO_CODE = 1005;

const encoder = new TextEncoder();

/**
 * One end of a WebSocket. What it sends arrives in a later turn of the event loop, so that a
 * program that sends without end does not stop all others.
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

  /** Makes a pair that is about to open. */
  static pair(url: string): [client: LocalSocket, server: LocalSocket] {
    const client = new LocalSocket(url, true);
    const server = new LocalSocket(url, false);
    client.#peer = server;
    server.#peer = client;
    return [client, server];
  }

  /** The types of browsers know these states only: a package of npm may refer to those types. */
  get readyState(): 0 | 1 | 2 | 3 {
    return this.#readyState as 0 | 1 | 2 | 3;
  }

  /** The bytes that have not arrived. */
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

  /** Ends both without a closing handshake, as when a connection fails. */
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
    if (data instanceof Blob) throw new TypeError("Cannot send a Blob: give its text or its bytes");
    if (this.#readyState !== WebSocket.OPEN) return;
    const copy = typeof data === "string" ? data : bytesOf(data);
    this.#bufferedAmount += typeof copy === "string" ? encoder.encode(copy).length : copy.byteLength;
    this.#post({ data: copy });
  }

  /** Only a server may close with the codes of the protocol, as on the platform. */
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
    // After a close, the platform still receives.
    if (this.#readyState === WebSocket.CLOSED) return;
    const isBlob = typeof data !== "string" && this.binaryType === "blob";
    this.#fire(new MessageEvent("message", { data: isBlob ? new Blob([data]) : data }));
  }

  /** The other end has got the close, and answers it after what it has sent before. */
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

/** A copy: the sender may go on to use its own. */
function bytesOf(data: ArrayBufferLike | ArrayBufferView): ArrayBuffer {
  const view = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  return new Uint8Array(view).buffer;
}
