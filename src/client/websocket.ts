/** Opens WebSockets. Loaded with the first one. */
import type { Values } from "./arguments.ts";
import type { ProblemError } from "./problem.ts";
import type { RequestParts, Sender } from "./sender.ts";
import { OPENING_MS, REASON_MS, Socket } from "./socket.ts";
import { parseJson } from "./streams.ts";
import type { CallOptions, RawOptions } from "./types.ts";

/** Opens a WebSocket, as `new WebSocket()` does. */
export type OpenSocket = (address: string, headers: Headers) => WebSocket;

/**
 * Connects to a WebSocket route.
 *
 * @throws {ProblemError} If the server refuses it.
 * @throws {WebSocketClosedError} If it fails for a reason that the server does not give.
 * @throws {TypeError} If there is no connection to the server, or headers cannot be sent.
 */
export async function connect(
  sender: Sender,
  openSocket: OpenSocket | undefined,
  path: string,
  values: Values = {},
  options: CallOptions & Partial<RawOptions> = {},
): Promise<Socket> {
  const parts: RequestParts = { method: "GET", path, values, options };
  const call = sender.begin(options, `open the WebSocket ${path}`, ["raw"], OPENING_MS);
  let headers: Headers | undefined;
  let socket: Socket | undefined;
  try {
    headers = await call.until(sender.headersOf(parts));
    const address = sender.addressOf(path, values).replace("http", "ws");
    const platform = (openSocket ?? openPlatformSocket)(address, headers);
    socket = new Socket(platform, call, options.raw ? undefined : { write: sender.toJson, read: parseJson });
    // A close aborts the call.
    await call.until(new Promise((resolve) => platform.addEventListener("open", resolve)));
    call.settle();
    return socket;
  } catch (error) {
    call.release();
    if (socket && error === socket.closed) await throwReason(sender, parts, headers);
    socket?.close();
    throw error;
  }
}

/** Browsers cannot send headers with a WebSocket: they are deleted there. */
function openPlatformSocket(address: string, headers: Headers): WebSocket {
  try {
    // Browsers convert the object to the name of a subprotocol, and throw as it has brackets.
    return new WebSocket(address, { headers: Object.fromEntries(headers) } as unknown as string);
  } catch {
    for (const name of [...headers.keys()]) headers.delete(name);
    return new WebSocket(address);
  }
}

/**
 * Platforms hide why an opening was refused. A server refuses a plain GET of a WebSocket route for
 * the same reasons, and otherwise with 426.
 *
 * @throws {ProblemError} If it is refused for another reason.
 * @throws {TypeError} If there is no connection.
 */
async function throwReason(sender: Sender, parts: RequestParts, headers: Headers | undefined): Promise<void> {
  const call = sender.begin({ ...parts.options, timeout: REASON_MS }, "", ["raw"]);
  try {
    await (await call.until(sender.send(parts, call, headers))).body?.cancel();
  } catch (error) {
    if (!call.signal.aborted && (error as Partial<ProblemError>).status !== 426) throw error;
  } finally {
    call.release();
  }
}
