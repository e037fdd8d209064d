/** Who has a board open, on any node. */
import { Router } from "@webfw/core";
import * as v from "valibot";
import { board } from "./cards.ts";
import { state } from "./state.ts";
import { user } from "./sign_in.ts";

export const presence = new Router({ prefix: "/boards/{boardId}", state, deps: { board, user } });

export const watchPresence = presence.websocket("/online", {
  send: v.array(v.string()),
}, async function watchPresence(socket, { board, user }) {
  const { records } = socket.request.app;
  const prefix = ["online", `${board.id}`];
  const key = [...prefix, crypto.randomUUID()];
  // If this node is killed, nobody renews the record, and it expires.
  const renew = () => records.set(key, user.name, { expiresIn: "30s" }).catch(() => null);
  await renew();
  const timer = setInterval(renew, 10_000);
  try {
    const online = new Map<string, string>();
    for await (const { key: [, , id], record } of records.watch<string>(prefix, { signal: socket.signal })) {
      if (record) online.set(id!, record.value);
      else online.delete(id!);
      await socket.send([...new Set(online.values())].sort());
    }
  } finally {
    clearInterval(timer);
    await records.delete(key);
  }
});
