// A socket whose server restarts, stops and is cut off when its client asks for it.

import type { App } from "@webfw/core";
import * as v from "valibot";

/** What the client asks for. */
export type Ask = "restart" | "darken" | "cut";

/** The numbers of the connections, over all restarts. */
export interface Connections {
  count: number;
}

/** @param act Does what the client asks for. */
export function room(app: App, connections: Connections = { count: 0 }, act: (ask: Ask) => void = () => {}) {
  const schemas = { receive: v.object({ text: v.string() }), send: v.object({ n: v.number() }) };
  return app.websocket("/room", { ...schemas, protocols: ["v1"], origins: ["*"] }, async (socket) => {
    await socket.send({ n: ++connections.count });
    for await (const { text } of socket) {
      const [, code] = /^close (\d+)$/.exec(text) ?? [];
      if (code !== undefined) socket.close(Number(code), "as asked");
      else act(text as Ask);
    }
  });
}

/** The routes, for their types. */
export type Api = { room: ReturnType<typeof room> };
