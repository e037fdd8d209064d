// The board of an application in tests: as `webfw run --reload` shows it, to this machine.

import type { App } from "../../../mod.ts";
import { client, type ClientEvent } from "../../../src/client/mod.ts";
import type * as api from "../../../src/board/routes.ts";

/** Shows the board at `/_board`, as the command line does. Call it before the first request. */
export function showBoard(app: App<never> | App): string {
  const { showBoard } = Reflect.get(app, Symbol.for("webfw.app")) as { showBoard(): string };
  return showBoard();
}

/** A connection of a client at an address. */
export function connectionFrom(hostname: string): { readonly remoteAddr: Deno.NetAddr } {
  return { remoteAddr: { transport: "tcp", hostname, port: 50_000 } };
}

/** A typed client of the board, on this machine. */
export function boardOf(app: Pick<App, "fetch">, path = "/_board") {
  const fetch = (request: Request) => app.fetch(request, connectionFrom("127.0.0.1"));
  return client<typeof api>(`http://localhost${path}`, { fetch });
}

/** The first event of a stream. */
export async function first<Data>(events: AsyncIterable<ClientEvent<Data>>): Promise<Data> {
  for await (const event of events) if (!event.gap) return event.data;
  throw new Error("The stream ended without an event");
}
