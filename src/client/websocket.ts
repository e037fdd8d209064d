/** Opens WebSockets. Loaded with the first one. */
import type { Values } from "./address.ts";
import type { ProblemError } from "./problem.ts";
import type { Asked, Sender } from "./sender.ts";
import { type OpenSocket, Socket } from "./socket.ts";
import type { CallOptions, RawOptions } from "./types.ts";

/** How long an opening may take, unless the program says so, in milliseconds. */
const OPENING_MS = 30_000;

/** How long the reason of a refusal is asked for, in milliseconds. */
const ASKING_MS = 5_000;

/**
 * Connects to a WebSocket route.
 *
 * @throws {ProblemError} If the server refuses it.
 * @throws {WebSocketClosedError} If it fails, and the server does not say why.
 * @throws {TypeError} If there is no connection to the server, or headers cannot be sent.
 */
export async function connect(
  sender: Sender,
  openSocket: OpenSocket | undefined,
  path: string,
  values: Values = {},
  options: CallOptions & Partial<RawOptions> = {},
): Promise<Socket> {
  const asked: Asked = { method: "GET", path, values, options };
  const call = sender.begin(options, `open the WebSocket ${path}`, ["raw"], OPENING_MS);
  let headers: Headers | undefined;
  let socket: Socket | undefined;
  try {
    headers = await call.until(sender.headersOf(asked));
    const address = sender.addressOf(path, values).replace("http", "ws");
    const platform = (openSocket ?? openPlatformSocket)(address, headers);
    socket = new Socket(platform, call, options.raw ? undefined : sender.toJson);
    // When it is closed, that ends the call.
    await call.until(new Promise((resolve) => platform.addEventListener("open", resolve)));
    call.settle();
    return socket;
  } catch (error) {
    call.release();
    if (socket && error === socket.closed) await askWhy(sender, asked, headers);
    socket?.close();
    throw error;
  }
}

/**
 * Opens a WebSocket of the platform. Browsers send no headers with it: they are removed there.
 */
function openPlatformSocket(address: string, headers: Headers): WebSocket {
  try {
    // Browsers take an object for the name of a protocol, which cannot have brackets.
    return new WebSocket(address, { headers: Object.fromEntries(headers) } as unknown as string);
  } catch {
    for (const name of [...headers.keys()]) headers.delete(name);
    return new WebSocket(address);
  }
}

/**
 * Asks why an opening was refused: platforms do not tell. A server refuses a plain request to a
 * WebSocket route for the same reasons, and then with 426.
 *
 * @throws {ProblemError} If it is refused for another reason.
 * @throws {TypeError} If there is no connection.
 */
async function askWhy(sender: Sender, asked: Asked, headers: Headers | undefined): Promise<void> {
  const call = sender.begin({ ...asked.options, timeout: ASKING_MS }, "", ["raw"]);
  try {
    await (await call.until(sender.send(asked, call, headers))).body?.cancel();
  } catch (error) {
    if (!call.signal.aborted && (error as Partial<ProblemError>).status !== 426) throw error;
  } finally {
    call.release();
  }
}
